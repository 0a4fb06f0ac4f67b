#include "tensor/safetensors_header.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

namespace tendon::tensor {

namespace {

struct DTypeName {
  DType dtype;
  std::string_view name;
};
constexpr DTypeName kDTypeNames[] = {
    {DType::kBool, "BOOL"},   {DType::kUInt8, "U8"},      {DType::kInt8, "I8"},
    {DType::kInt16, "I16"},   {DType::kInt32, "I32"},     {DType::kInt64, "I64"},
    {DType::kUInt16, "U16"},  {DType::kUInt32, "U32"},    {DType::kUInt64, "U64"},
    {DType::kFloat16, "F16"}, {DType::kBFloat16, "BF16"}, {DType::kFloat32, "F32"},
    {DType::kFloat64, "F64"}, {DType::kComplex64, "C64"},
};

// Follows the header's fixed nesting event by event, so that no tree is built from hostile text and
// repeated keys are seen (a tree would keep only the last).
class HeaderReader : public nlohmann::json::json_sax_t {
 public:
  SafetensorsHeader header;
  std::string error;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_float(double, const std::string& text) override {
    return unexpected("the number " + text);
  }
  bool number_integer(std::int64_t value) override {
    return unexpected(fmt::format("the negative number {}", value));
  }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ == Place::kShape) {
      if (value > static_cast<std::uint64_t>(INT64_MAX)) {
        return fail(fmt::format("tensor '{}' has a size of {}", entry_.name, value));
      }
      entry_.shape.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (place_ == Place::kOffsets && offsets_ < 2) {
      (offsets_ == 0 ? entry_.begin : entry_.end) = value;
      ++offsets_;
      return true;
    }
    return unexpected(fmt::format("the number {}", value));
  }

  bool string(std::string& value) override {
    if (place_ == Place::kMetadata) {
      header.metadata[key_] = std::move(value);
      return true;
    }
    if (place_ == Place::kTensor && key_ == "dtype") {
      entry_.dtype = std::move(value);
      return true;
    }
    return unexpected("a string");
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kStart) {
      place_ = Place::kHeader;
    } else if (place_ == Place::kHeader && key_ == "__metadata__") {
      place_ = Place::kMetadata;
      keys_.clear();
    } else if (place_ == Place::kHeader) {
      place_ = Place::kTensor;
      entry_ = {.name = key_};
      offsets_ = 0;
      keys_.clear();
    } else {
      return unexpected("an object");
    }
    return true;
  }

  bool key(std::string& value) override {
    std::set<std::string>& seen = place_ == Place::kHeader ? names_ : keys_;
    if (!seen.insert(value).second) return fail(fmt::format("the key '{}' comes twice", value));
    if (place_ == Place::kTensor && value != "dtype" && value != "shape" &&
        value != "data_offsets") {
      return fail(fmt::format("tensor '{}' has the unknown key '{}'", entry_.name, value));
    }
    key_ = std::move(value);
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) {
      if (keys_.size() != 3) {
        return fail(
            fmt::format("tensor '{}' lacks one of dtype, shape, data_offsets", entry_.name));
      }
      header.entries.push_back(std::move(entry_));
    }
    place_ = place_ == Place::kHeader ? Place::kEnd : Place::kHeader;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::kTensor && key_ == "shape") {
      place_ = Place::kShape;
    } else if (place_ == Place::kTensor && key_ == "data_offsets") {
      place_ = Place::kOffsets;
    } else {
      return unexpected("an array");
    }
    return true;
  }

  bool end_array() override {
    if (place_ == Place::kOffsets && offsets_ != 2) {
      return fail(fmt::format("data_offsets of tensor '{}' must be two numbers", entry_.name));
    }
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    return fail(fmt::format("not valid JSON at byte {} of the header", position));
  }

 private:
  enum class Place { kStart, kHeader, kMetadata, kTensor, kShape, kOffsets, kEnd };

  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }
  bool unexpected(const std::string& what) {
    switch (place_) {
      case Place::kStart:
        return fail("expected an object, not " + what);
      case Place::kMetadata:
        return fail(fmt::format("__metadata__ '{}' must be a string, not {}", key_, what));
      case Place::kHeader:
        return fail(fmt::format("'{}' must be an object, not {}", key_, what));
      default:
        return fail(fmt::format("unexpected {} in '{}' of tensor '{}'", what, key_, entry_.name));
    }
  }

  Place place_ = Place::kStart;
  std::string key_;
  std::set<std::string> names_;  // keys of the header
  std::set<std::string> keys_;   // keys of the object in it that is being read
  SafetensorsEntry entry_;
  int offsets_ = 0;
};

}  // namespace

std::optional<DType> dtype_from_safetensors(std::string_view name) {
  for (const DTypeName& entry : kDTypeNames) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

std::optional<std::string_view> dtype_to_safetensors(DType dtype) {
  for (const DTypeName& entry : kDTypeNames) {
    if (entry.dtype == dtype) return entry.name;
  }
  return std::nullopt;
}

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json) {
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) {
    return Status(StatusCode::kDataLoss, reader.error);
  }
  return std::move(reader.header);
}

Result<std::string> print_safetensors_header(const SafetensorsHeader& header) {
  auto json = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) json["__metadata__"] = header.metadata;
  for (const SafetensorsEntry& entry : header.entries) {
    json[entry.name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  try {
    return json.dump();
  } catch (const nlohmann::json::type_error&) {
    return Status(StatusCode::kInvalidArgument,
                  "names and metadata of a safetensors file must be UTF-8");
  }
}

}  // namespace tendon::tensor
