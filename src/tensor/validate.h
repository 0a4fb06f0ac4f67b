// Checks of sizes and contents that come from outside.
#pragma once

#include <optional>

#include "tendon/tensor.h"

namespace tendon::tensor {

/// Bytes of a dense tensor; nothing if a size is negative or the bytes do not fit.
std::optional<std::int64_t> byte_count(DType dtype, std::span<const std::int64_t> sizes);

/// A bool must be the byte 0 or 1; any other is undefined behaviour once read as bool. Tensors of
/// other dtypes pass. Errors: DataLoss.
Status check_bools(const TensorView& dense);

}  // namespace tendon::tensor
