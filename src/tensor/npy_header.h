// The header of an NPY array: the literal of a Python dictionary, as plain data.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tendon/dtype.h"
#include "tendon/status.h"
#include "tendon/tensor.h"

namespace tendon::tensor {

struct NpyHeader {
  DType dtype = DType::kFloat32;
  bool fortran_order = false;
  Sizes shape;
};

/// The header of `bytes` and where its elements begin.
struct NpyLayout {
  NpyHeader header;
  std::size_t data_offset = 0;
};

/// Errors: DataLoss (not NPY, truncated, malformed), Unimplemented (dtype, byte order).
Result<NpyLayout> parse_npy_header(std::span<const std::byte> bytes);

/// A version 1 header (version 2 if it is long), padded so that the elements are 64-byte aligned.
/// Errors: InvalidArgument (a dtype NumPy lacks).
Result<std::string> print_npy_header(const NpyHeader& header);

}  // namespace tendon::tensor
