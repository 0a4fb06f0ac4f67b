// From the JSON of an ExportedProgram to a typed program.
#pragma once

#include <span>
#include <string>

#include "archive/exported_program.h"
#include "tendon/status.h"

namespace tendon::archive {

/// The JSON of a program of 22 000 nodes has 16 MB; parsed, a byte takes up to ten.
inline constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{1} << 29;

/// Everything but weights and sample inputs.
Result<Program> import_program(std::span<const std::byte> json);

/// Where a config file (weights or constants) says that tensors are: FQN, file, and how to view it.
struct PayloadEntry {
  std::string name;  // FQN
  std::string file;
  bool is_parameter = false;
  bool use_pickle = false;
  bool has_tensor = false;
  DType dtype = DType::kFloat32;
  Sizes sizes, strides;
  std::int64_t storage_offset = 0;
};
Result<std::vector<PayloadEntry>> import_payload_config(std::span<const std::byte> json);

}  // namespace tendon::archive
