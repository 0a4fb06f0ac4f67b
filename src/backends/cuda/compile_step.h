// From a step of a plan to its kernels.
#pragma once

#include "backends/cuda/compile_context.h"
#include "backends/cuda/step.h"

namespace tendon::backends::cuda {

/// Writes the step's kernels into the context's library. Control flow is not a step here: its
/// sub-graphs are plans of their own. Errors: Internal for a primitive without kernels.
StepResult compile_step(const CompileContext& context, const schedule::Step& step);

bool is_control_flow(const schedule::Plan& plan, const schedule::Step& step);

}  // namespace tendon::backends::cuda
