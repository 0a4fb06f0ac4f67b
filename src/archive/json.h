// The JSON library, in the form this folder uses it: failures are exceptions of one type, caught
// where a file is read.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tendon/status.h"

namespace tendon::archive {
/// The file contradicts the format (DataLoss), or asks for what this build does not read
/// (Unimplemented); the message says where and what was expected.
struct FormatError : std::runtime_error {
  explicit FormatError(const std::string& message, StatusCode why = StatusCode::kDataLoss)
      : std::runtime_error(message), code(why) {}
  explicit FormatError(const Status& status) : FormatError(status.message(), status.code()) {}
  Status status() const { return Status(code, what()); }
  StatusCode code;
};
}  // namespace tendon::archive

// A value of another kind than the code asks for is a broken file, not a defect.
#define RAPIDJSON_ASSERT(condition)   \
  ((condition) ? static_cast<void>(0) \
               : throw ::tendon::archive::FormatError("unexpected kind of JSON value"))
#define RAPIDJSON_NOEXCEPT_ASSERT(condition) static_cast<void>(0)
#define RAPIDJSON_HAS_STDSTRING 1
#include <rapidjson/document.h>

namespace tendon::archive {

using Json = rapidjson::Value;

/// Reads `text`, which may hold NaN and Infinity; throws FormatError. Nesting takes no stack.
void parse_json(rapidjson::Document& document, std::string_view text);

/// Member `name` of an object; throws FormatError if there is none.
inline const Json& member(const Json& object, const char* name) {
  if (!object.IsObject()) throw FormatError(std::string("expected an object with '") + name + "'");
  const auto it = object.FindMember(name);
  if (it == object.MemberEnd()) throw FormatError(std::string("'") + name + "' is missing");
  return it->value;
}
/// Member `name`, or null if it is missing or null.
inline const Json* optional_member(const Json& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  const auto it = object.FindMember(name);
  return it == object.MemberEnd() || it->value.IsNull() ? nullptr : &it->value;
}
inline std::string text_of(const Json& value) {
  if (!value.IsString()) throw FormatError("expected text");
  return std::string(value.GetString(), value.GetStringLength());
}

/// A number, or "NaN", "Infinity", "-Infinity" as text.
double number_of(const Json& value);
std::int64_t integer_of(const Json& value);
bool boolean_of(const Json& value);

/// Runs `body`; a FormatError that it throws says where it was, with the text that `where` gives.
template <typename Where, typename Body>
void in_context(Where where, Body body) try {
  body();
} catch (const FormatError& error) {
  throw FormatError(error.status().with_context(where()));
}

}  // namespace tendon::archive
