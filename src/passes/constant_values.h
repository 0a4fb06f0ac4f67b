// Which values depend on nothing but constants.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace tendon::passes {

/// Per value: true if it follows from weights and constants alone, whatever the inputs are.
std::vector<bool> constant_values(const ir::Graph& graph);

}  // namespace tendon::passes
