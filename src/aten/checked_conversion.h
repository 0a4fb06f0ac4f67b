// Numbers that PyTorch refuses to convert: those beyond the range of the type they are stored in.
#pragma once

#include "aten/builder.h"

namespace tendon::aten {

/// Refuses a number that overflows `dtype`, with PyTorch's words: at once where it is known, else
/// when it is. Infinities and NaN fit floating types, negative numbers wrap in unsigned ones.
void require_fits(Builder& b, const Scalar& value, DType dtype);
/// The same for the number in a tensor with one element.
void require_fits(Builder& b, const Tensor& value, DType dtype);

}  // namespace tendon::aten
