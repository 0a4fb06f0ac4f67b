// Fused maps and reductions as one generated kernel.
#pragma once

#include "backends/cuda/compile_context.h"
#include "backends/cuda/step.h"

namespace tendon::backends::cuda {

StepResult make_loop_step(const CompileContext& context, const schedule::LoopKernel& kernel);

}  // namespace tendon::backends::cuda
