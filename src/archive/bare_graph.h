// Weights for graphs that come without any.
#pragma once

#include <cstdint>

#include "archive/exported_program.h"
#include "tendon/status.h"

namespace tendon::archive {

/// Gives every parameter, buffer and constant of the program a tensor, and the program a
/// `draw_weights` that fills them from the seed: matrices N(0, 1/fan_in), scales near one,
/// variances positive, integers 0. Independent of order and thread count. Until it is called, large
/// tensors take addresses but no memory. Errors: DataLoss (a weight without metadata or with
/// impossible sizes), ResourceExhausted (more than `max_bytes` together).
Status allocate_weights(Program& program, std::uint64_t seed, std::uint64_t max_bytes);

}  // namespace tendon::archive
