// The counterpart of tensor::copy_to_contiguous.
#pragma once

#include "tendon/tensor.h"

namespace tendon::tensor {

/// Writes row-major elements to strided memory. They must not overlap.
void copy_from_contiguous(const void* source, const TensorView& destination);

}  // namespace tendon::tensor
