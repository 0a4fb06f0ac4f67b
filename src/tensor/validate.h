// Checks of the contents of tensors that come from outside.
#pragma once

#include "tendon/tensor.h"

namespace tendon::tensor {

/// A bool must be the byte 0 or 1; any other is undefined behaviour once read as bool. Tensors of
/// other dtypes pass. Errors: DataLoss.
Status check_bools(const TensorView& dense);

}  // namespace tendon::tensor
