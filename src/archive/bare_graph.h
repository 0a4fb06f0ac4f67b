// Weights for graphs that come without any.
#pragma once

#include <cstdint>

#include "archive/exported_program.h"
#include "tendon/status.h"

namespace tendon::archive {

/// Gives every parameter, buffer and constant of the program a tensor drawn from the seed: matrices
/// N(0, 1/fan_in), scales near one, variances positive, integers 0. Independent of order and thread
/// count.
Status draw_weights(Program& program, std::uint64_t seed, std::uint64_t max_bytes);

}  // namespace tendon::archive
