// Fourier transforms: products with matrices of sines and cosines.
#pragma once

#include <optional>

#include "aten/toolbox.h"

namespace tendon::aten {

/// Real and imaginary parts, of the same shape and of float32 or float64; no imaginary part: zero.
struct ComplexParts {
  Tensor real;
  std::optional<Tensor> imaginary;
};
ComplexParts parts_of(Builder& b, const Tensor& x);
Tensor joined(Builder& b, const ComplexParts& parts);

enum class Direction : std::uint8_t { kForward, kBackward };

/// Transforms one axis to `kept` frequencies from 0 on (all: the axis' size); without a factor.
ComplexParts transform(Builder& b, const ComplexParts& x, int axis, Direction direction,
                       const Size& kept);
/// A real signal of `length` from its frequencies 0 to length / 2 along one axis; the others follow
/// by symmetry.
Tensor transform_to_real(Builder& b, const ComplexParts& x, int axis, Direction direction,
                         const Size& length);
/// By one over `count` to the power of `exponent`.
ComplexParts scaled_down(Builder& b, const ComplexParts& x, const Size& count, double exponent);

}  // namespace tendon::aten
