// Branches and loops: their sub-graphs are plans of their own.
#pragma once

#include "backends/cuda/compile_context.h"
#include "backends/cuda/step.h"

namespace tendon::backends::cuda {

/// Compiles the sub-graphs of that node, too. A condition that sizes decide, and a loop whose
/// length is known, need no host.
StepResult make_control_step(const CompileContext& context, ir::NodeId node);

}  // namespace tendon::backends::cuda
