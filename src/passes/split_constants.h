// Constant folding: the part of a program that depends on nothing but weights becomes a graph of
// its own, which is run once.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace tendon::passes {

struct ConstantSplit {
  /// Its user outputs are the new constants; no nodes if there is nothing to fold.
  ir::Graph constants;
  /// Types of the new constants, by output index.
  std::vector<std::pair<DType, ir::Shape>> types;
};

/// Replaces what can be folded in `graph` by constants number `first_index`, first_index + 1, ...
/// Views of constants stay views, numbers that are cheap to make stay expressions, and what would
/// grow memory beyond `byte_limit` stays where it is.
ConstantSplit split_constants(ir::Graph& graph, int first_index, std::int64_t byte_limit);

}  // namespace tendon::passes
