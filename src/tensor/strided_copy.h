// Copies between strided and row-major memory.
#pragma once

#include "tendon/tensor.h"

namespace tendon::tensor {

/// Writes the elements of `source` in row-major order to `destination`, which holds source.bytes()
/// bytes and does not overlap the source. Strides may be zero or negative.
void copy_to_contiguous(const TensorView& source, void* destination);

/// The view itself where it is row-major, otherwise a row-major copy; either way valid only as long
/// as the view's memory. Errors: ResourceExhausted.
Result<Tensor> as_contiguous(const TensorView& view);

}  // namespace tendon::tensor
