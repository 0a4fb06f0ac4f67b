// Who reads whom in a graph.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace tendon::ir {

/// The nodes that define symbols from data (Compact, Item), by symbol.
std::unordered_map<const Symbol*, NodeId> symbol_definitions(const Graph& graph);

/// Per value, the nodes that read it, each once, in node order; graph outputs do not count.
std::vector<std::vector<NodeId>> readers(const Graph& graph);

/// Per value, whether it is a graph output.
std::vector<bool> output_values(const Graph& graph);

/// The graph with only what its outputs need, renumbered in topological order (nodes keep their
/// relative order where they can). Passes may append nodes anywhere and call this. Inputs and
/// assertions stay too, unless only the outputs are asked for.
enum class Keep { kInterface, kOutputs };
Graph compacted(const Graph& graph, Keep keep = Keep::kInterface);

}  // namespace tendon::ir
