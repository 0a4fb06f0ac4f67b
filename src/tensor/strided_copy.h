// Copies between strided and row-major memory.
#pragma once

#include "tendon/tensor.h"

namespace tendon::tensor {

/// Writes the elements of `source` in row-major order to `destination`, which holds source.bytes()
/// bytes and does not overlap the source. Strides may be zero or negative.
void copy_to_contiguous(const TensorView& source, void* destination);

}  // namespace tendon::tensor
