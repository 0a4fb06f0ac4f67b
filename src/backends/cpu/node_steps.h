// Steps for the primitives that are not maps or reductions.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "ir/graph.h"
#include "tendon/status.h"

namespace tendon::backends::cpu {

// Each compiles that node of the plan's graph. The step refers to the plan, which must outlive it.
using StepResult = Result<std::unique_ptr<backends::Step>>;
StepResult make_scan_step(const CompileContext& context, ir::NodeId node);
StepResult make_scatter_step(const CompileContext& context, ir::NodeId node);
StepResult make_compact_step(const CompileContext& context, ir::NodeId node);
StepResult make_sort_step(const CompileContext& context, ir::NodeId node);
StepResult make_top_k_step(const CompileContext& context, ir::NodeId node);
StepResult make_item_step(const CompileContext& context, ir::NodeId node);
StepResult make_assert_step(const CompileContext& context, ir::NodeId node);

}  // namespace tendon::backends::cpu
