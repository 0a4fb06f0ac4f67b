// Whether a tensor is what was expected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tendon/tensor.h"

namespace tendon::tensor {

struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

/// What a right computation in this dtype may differ by: zero for integers and bools, more the
/// fewer digits a type has.
Tolerance default_tolerance(DType dtype);

struct Comparison {
  std::int64_t elements = 0;
  std::int64_t mismatches = 0;
  /// Over all pairs that are not both NaN; infinite where one is NaN or infinite and the other not.
  double max_absolute_error = 0;
  /// |got - expected| / |expected|, over pairs whose expected value is not zero.
  double max_relative_error = 0;
  /// Index of the first mismatch in row-major order, and the two values there.
  std::optional<Sizes> first_mismatch;
  std::string got, expected;
  /// Of both tensors as flat vectors, over pairs of finite numbers; 1 where both are zero, 0 where
  /// only one is.
  double cosine_similarity = 1;

  bool ok() const { return mismatches == 0; }
};

/// Compares as torch.isclose with equal_nan does: a pair agrees if equal, if both are NaN, or if
/// |got - expected| is finite and at most absolute + relative * |expected|. Integers and bools must
/// be equal whatever the tolerance. Any strides.
/// Errors: InvalidArgument (another dtype or other sizes), ResourceExhausted.
Result<Comparison> compare(const TensorView& got, const TensorView& expected, Tolerance tolerance);

}  // namespace tendon::tensor
