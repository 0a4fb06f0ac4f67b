// What the command line checks about one option's text, beyond what its type says.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <initializer_list>
#include <string>
#include <type_traits>

namespace tendon::tools {

/// All of the text is one decimal number of this range. CLI11's own conversions take -1 as a large
/// unsigned number, cut off what is too large, and let NaN through.
template <typename Number>
CLI::Validator number_in(Number lower, Number upper) {
  const auto check = [lower, upper](const std::string& text) -> std::string {
    Number number{};
    const char* end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, number);
    if (failure == std::errc() && rest == end && number >= lower && number <= upper) return {};
    return fmt::format("'{}' is not {} from {} to {}", text,
                       std::is_integral_v<Number> ? "a whole number" : "a number", lower, upper);
  };
  return CLI::Validator(check, fmt::format("{} to {}", lower, upper));
}

/// An empty text is most often an unset variable of a script, and must not mean "not given".
CLI::Validator not_empty();

/// Refuses to write the results of `option` over a file that the same command reads. Throws
/// CLI::ValidationError, as validators do.
void refuse_overwriting(const std::string& option, const std::string& written,
                        std::initializer_list<std::string> read);

}  // namespace tendon::tools
