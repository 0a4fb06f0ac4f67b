#include "archive/json.h"

#include <rapidjson/encodedstream.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <charconv>
#include <limits>

namespace tendon::archive {

namespace {

using rapidjson::SizeType;

/// Builds the document, but reads numbers itself: RapidJSON's own conversion to the nearest double
/// shifts by negative amounts for some texts.
class Builder {
 public:
  explicit Builder(rapidjson::Document& document) : document_(document) {}

  bool Null() { return document_.Null(); }
  bool Bool(bool value) { return document_.Bool(value); }
  bool Int(int value) { return document_.Int(value); }
  bool Uint(unsigned value) { return document_.Uint(value); }
  bool Int64(std::int64_t value) { return document_.Int64(value); }
  bool Uint64(std::uint64_t value) { return document_.Uint64(value); }
  bool Double(double value) { return document_.Double(value); }
  bool String(const char* text, SizeType length, bool copy) {
    return document_.String(text, length, copy);
  }
  bool StartObject() { return document_.StartObject(); }
  bool Key(const char* text, SizeType length, bool copy) {
    return document_.Key(text, length, copy);
  }
  bool EndObject(SizeType members) { return document_.EndObject(members); }
  bool StartArray() { return document_.StartArray(); }
  bool EndArray(SizeType elements) { return document_.EndArray(elements); }

  /// Also the words NaN, Infinity and -Infinity.
  bool RawNumber(const char* text, SizeType length, bool /*copy*/) {
    const char* const end = text + length;
    const auto whole = [&](auto& value) {
      const auto [stop, status] = std::from_chars(text, end, value);
      return status == std::errc() && stop == end;
    };
    std::int64_t integer = 0;
    if (whole(integer)) return document_.Int64(integer);
    std::uint64_t large = 0;
    if (whole(large)) return document_.Uint64(large);
    double real = 0;
    const auto [stop, status] = std::from_chars(text, end, real);
    if (status == std::errc() && stop == end) return document_.Double(real);
    // Out of range: too small for a double, or an error.
    const std::string_view number(text, length);
    const bool small = number.find("e-") != number.npos || number.find("E-") != number.npos;
    return status == std::errc::result_out_of_range && small && document_.Double(0.0);
  }

 private:
  rapidjson::Document& document_;
};

/// What Document::Populate asks for: sends the text's events to the document.
class Source {
 public:
  explicit Source(std::string_view text) : text_(text) {}

  bool operator()(rapidjson::Document& document) {
    constexpr unsigned kFlags = rapidjson::kParseNanAndInfFlag | rapidjson::kParseIterativeFlag |
                                rapidjson::kParseNumbersAsStringsFlag;
    rapidjson::MemoryStream memory(text_.data(), text_.size());
    rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(memory);
    Builder builder(document);
    rapidjson::Reader reader;
    result_ = reader.Parse<kFlags>(stream, builder);
    return !result_.IsError();
  }
  const rapidjson::ParseResult& result() const { return result_; }

 private:
  std::string_view text_;
  rapidjson::ParseResult result_;
};

}  // namespace

void parse_json(rapidjson::Document& document, std::string_view text) {
  Source source(text);
  document.Populate(source);
  if (source.result().IsError()) {
    throw FormatError(std::string("not JSON: ") +
                      rapidjson::GetParseError_En(source.result().Code()) + " (byte " +
                      std::to_string(source.result().Offset()) + ")");
  }
}

double number_of(const Json& value) {
  if (value.IsString()) {
    const std::string text = text_of(value);
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    throw FormatError("expected a number, got '" + text + "'");
  }
  if (!value.IsNumber()) throw FormatError("expected a number");
  return value.GetDouble();
}

std::int64_t integer_of(const Json& value) {
  if (!value.IsInt64()) throw FormatError("expected an integer");
  return value.GetInt64();
}

bool boolean_of(const Json& value) {
  if (!value.IsBool()) throw FormatError("expected true or false");
  return value.GetBool();
}

}  // namespace tendon::archive
