// Fused maps and reductions on the CPU.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "schedule/plan.h"
#include "tendon/status.h"

namespace tendon::backends::cpu {

/// Compiles a kernel of the plan. The step refers to the plan, which must outlive it.
Result<std::unique_ptr<backends::Step>> make_loop_step(const CompileContext& context,
                                                       const schedule::LoopKernel& kernel);

}  // namespace tendon::backends::cpu
