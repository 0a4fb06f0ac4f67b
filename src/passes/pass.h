// Passes over the tensor graph. Each is a function in a file of its own; pipeline.cpp lists their
// order.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "tendon/status.h"

namespace tendon::passes {

/// Changes the graph in place. Nodes may be appended out of order: the driver compacts (dead code
/// goes, order is restored) and verifies after every pass.
using PassFunction = void (*)(ir::Graph& graph);

struct Pass {
  std::string_view name;
  PassFunction run = nullptr;
};

/// The passes in order.
const std::vector<Pass>& pipeline();

struct PipelineOptions {
  std::vector<std::string> skip;  // pass names
  /// Called after every pass with its name, the graph, and the milliseconds it took.
  std::function<void(std::string_view name, const ir::Graph& graph, double milliseconds)> observe;
};
/// Errors: Internal, if a pass leaves a graph that is not well formed.
Status run_pipeline(ir::Graph& graph, const PipelineOptions& options = {});

// The passes.
void fold_scale_into_weights(ir::Graph& graph);
void fuse_epilogues(ir::Graph& graph);
void fuse_maps(ir::Graph& graph);
void fuse_attention(ir::Graph& graph);

}  // namespace tendon::passes
