// The safetensors format: eight bytes of header length (little-endian), a JSON header that gives
// each tensor's dtype, shape and place, and the tensors' bytes, row-major, one after the other.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "tendon/status.h"
#include "tensor/tensor_file.h"

namespace tendon::tensor {

/// Reads a file without copying: the tensors share its mapping (copy-on-write: writing to a tensor
/// changes only this process's view). A tensor whose bytes are not aligned for its dtype is copied.
/// Errors: NotFound; DataLoss (truncated, or not safetensors: the message says where);
/// Unimplemented (a dtype without an equivalent here).
Result<TensorFile> read_safetensors(const std::string& path);

/// Reads from memory that `owner` keeps alive.
Result<TensorFile> parse_safetensors(std::span<std::byte> bytes,
                                     const std::shared_ptr<void>& owner);

/// Writes the tensors, in any strides, in the given order sorted by alignment; keys of `metadata`
/// become the header's "__metadata__".
/// Errors: InvalidArgument (a name given twice or reserved, a dtype the format lacks, text that is
/// not UTF-8); NotFound, ResourceExhausted (the file cannot be written).
Status write_safetensors(const std::string& path, const std::vector<NamedView>& tensors,
                         const std::map<std::string, std::string>& metadata = {});

}  // namespace tendon::tensor
