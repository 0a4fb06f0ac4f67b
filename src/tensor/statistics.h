// What a tensor holds, at a glance.
#pragma once

#include <cstdint>

#include "tendon/tensor.h"

namespace tendon::tensor {

/// Over the elements that are not NaN; all zero where there are none. Complex elements count with
/// their absolute value.
struct Statistics {
  double min = 0;
  double max = 0;
  double mean = 0;
  std::int64_t nan_count = 0;
};

/// Any strides. Errors: ResourceExhausted.
Result<Statistics> statistics(const TensorView& view);

/// The first elements in row-major order, as text: "[0.5, -1, 2, ...]". Errors: ResourceExhausted.
Result<std::string> preview(const TensorView& view, std::int64_t count);

}  // namespace tendon::tensor
