// Random contents that depend only on a seed and on each element's index, so that they are the same
// for any number of threads and in any order.
#pragma once

#include <cstdint>

#include "tendon/tensor.h"

namespace tendon::tensor {

/// Fills a row-major tensor of a floating or complex dtype (each part by itself) with N(0, 1) times
/// `scale`. Tensors with different `stream` have independent contents.
/// Errors: InvalidArgument (another dtype, strides).
Status fill_normal(const TensorView& view, std::uint64_t seed, std::uint64_t stream,
                   double scale = 1.0);

/// Fills a row-major tensor of an integer dtype or bool with integers of [low, high), which must
/// not be empty and fit the dtype. Errors: InvalidArgument.
Status fill_integers(const TensorView& view, std::uint64_t seed, std::uint64_t stream,
                     std::int64_t low, std::int64_t high);

}  // namespace tendon::tensor
