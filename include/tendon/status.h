// Errors are values: every call that can fail returns a Status or a Result.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tendon {

enum class StatusCode {
  kOk = 0,
  kInvalidArgument,     // the caller passed something that no state of the program would accept
  kFailedPrecondition,  // the call is right but comes at the wrong time (an input is not set, ...)
  kOutOfRange,          // an index in the data lies outside its axis
  kNotFound,            // a file, an entry of an archive, a name
  kDataLoss,            // a file is truncated or contradicts itself
  kUnimplemented,       // the program needs something that this build cannot do
  kResourceExhausted,   // memory
  kAborted,             // an assertion of the program itself failed
  kInternal,            // a defect of Tendon
};

/// The code's name as written above, without the k: "InvalidArgument".
std::string_view status_code_name(StatusCode code);

/// Success, or a code with a message that says what was wrong, where, and what was expected.
/// A value: copy it, compare it, keep it. Thread rules are those of std::string.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  /// "OK", or "InvalidArgument: input 0 ...".
  std::string to_string() const;

  /// The same error with "context: " put before its message; success stays success.
  Status with_context(std::string_view context) const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

/// A T, or the Status that says why there is none. Reading value() of a failed Result is a
/// programming error (asserted in debug builds).
template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;` is the point
  Result(T value) : content_(std::in_place_index<1>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Status error) : content_(std::in_place_index<0>, std::move(error)) {
    assert(!std::get<0>(content_).ok());
  }

  bool ok() const { return content_.index() == 1; }
  explicit operator bool() const { return ok(); }
  Status status() const { return ok() ? Status() : std::get<0>(content_); }

  T& value() & { return checked(); }
  const T& value() const& { return const_cast<Result*>(this)->checked(); }
  T&& value() && { return std::move(checked()); }
  T& operator*() & { return checked(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &value(); }

 private:
  T& checked() {
    assert(ok());
    return std::get<1>(content_);
  }
  std::variant<Status, T> content_;
};

}  // namespace tendon
