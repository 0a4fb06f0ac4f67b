// The JSON header of a safetensors file, as plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tendon/dtype.h"
#include "tendon/status.h"
#include "tendon/tensor.h"

namespace tendon::tensor {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // the format's name: "F32"
  Sizes shape;
  std::uint64_t begin = 0;  // in bytes from the end of the header
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of the text
  std::map<std::string, std::string> metadata;
};

/// The format's names of dtypes; nothing where one side lacks the other's type.
std::optional<DType> dtype_from_safetensors(std::string_view name);
std::optional<std::string_view> dtype_to_safetensors(DType dtype);

/// Accepts exactly the format's grammar: no unknown, missing or repeated keys, no other nesting.
/// Says nothing about whether offsets and shapes make sense. Errors: DataLoss.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json);

/// Errors: InvalidArgument (text that is not UTF-8).
Result<std::string> print_safetensors_header(const SafetensorsHeader& header);

}  // namespace tendon::tensor
