#include "validators.h"

#include <filesystem>

namespace tendon::tools {

CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        return text.empty() ? "the text is empty, expected a name" : "";
      },
      "");
}

void refuse_overwriting(const std::string& option, const std::string& written,
                        std::initializer_list<std::string> read) {
  for (const std::string& path : read) {
    // Files that do not exist are no error here: whoever reads them says so.
    std::error_code ignored;
    if (!std::filesystem::equivalent(written, path, ignored)) continue;
    throw CLI::ValidationError(
        option, fmt::format("'{}' is read by this command, and would be overwritten", written));
  }
}

}  // namespace tendon::tools
