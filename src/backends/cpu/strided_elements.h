// Moving elements between strided and dense memory, for operands that a library cannot take as they
// are.
#pragma once

#include "backends/cpu/node_body.h"

namespace tendon::backends::cpu {

/// A dense row-major copy of the value whose first element is at `from`.
void pack_dense(const BoundLocation& location, const std::byte* from, std::byte* to, int threads);

/// Converts a dense row-major product (of product_type) to the location's dtype and strides.
void store_product(const BoundLocation& location, std::byte* to, const std::byte* product,
                   DType product_dtype, int threads);

}  // namespace tendon::backends::cpu
