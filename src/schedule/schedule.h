// From tensor graph to plan.
#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"
#include "schedule/plan.h"
#include "tendon/status.h"

namespace tendon::schedule {

/// Gives every graph output a value of its own that some kernel writes: outputs that are inputs,
/// constants, views or another output become copies. Call before make_plan.
void separate_outputs(ir::Graph& graph);

/// The graph must be compacted and its outputs separate. `constant_strides[i]` are the strides, in
/// elements, of constant i. Sub-graphs are planned too.
Result<std::shared_ptr<const Plan>> make_plan(std::shared_ptr<const ir::Graph> graph,
                                              const std::vector<ir::Shape>& constant_strides);

}  // namespace tendon::schedule
