// NumPy's formats: NPY, one array with a header; NPZ, a zip archive of NPY entries.
#pragma once

#include <span>
#include <string>

#include "tendon/status.h"
#include "tensor/tensor_file.h"

namespace tendon::tensor {

/// Reads one array of NPY format 1, 2 or 3 (little-endian, C or Fortran order; Fortran order comes
/// out as strides). The elements are copied.
/// Errors: DataLoss (truncated or not NPY), Unimplemented (another dtype, big-endian).
Result<Tensor> parse_npy(std::span<const std::byte> bytes);

/// Reads every entry of an NPZ file, stored or deflated; entry "x.npy" becomes tensor "x".
/// Errors: NotFound, DataLoss, Unimplemented, ResourceExhausted.
Result<TensorFile> read_npz(const std::string& path);
/// Reads from memory.
Result<TensorFile> parse_npz(std::span<const std::byte> bytes);

enum class NpzCompression { kStored, kDeflated };

/// Writes the tensors, in any strides, in row-major order.
/// Errors: InvalidArgument (a name given twice, a dtype NumPy lacks); NotFound, ResourceExhausted.
Status write_npz(const std::string& path, const std::vector<NamedView>& tensors,
                 NpzCompression compression = NpzCompression::kStored);

}  // namespace tendon::tensor
