// Primitives that are neither maps nor reductions nor products.
#pragma once

#include "backends/cuda/compile_context.h"
#include "backends/cuda/step.h"
#include "ir/graph.h"

namespace tendon::backends::cuda {

// Each compiles that node of the plan's graph. The step refers to the plan, which must outlive it.
StepResult make_scan_step(const CompileContext& context, ir::NodeId node);
StepResult make_scatter_step(const CompileContext& context, ir::NodeId node);
StepResult make_compact_step(const CompileContext& context, ir::NodeId node);
StepResult make_sort_step(const CompileContext& context, ir::NodeId node);
StepResult make_top_k_step(const CompileContext& context, ir::NodeId node);
StepResult make_item_step(const CompileContext& context, ir::NodeId node);
StepResult make_assert_step(const CompileContext& context, ir::NodeId node);

}  // namespace tendon::backends::cuda
