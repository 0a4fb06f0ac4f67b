// From a step of a plan to one that runs on the CPU.
#pragma once

#include <memory>

#include "backends/backend.h"

namespace tendon::backends::cpu {

/// Every kernel but control flow, which the runtime makes. Errors: Unimplemented, Internal.
Result<std::unique_ptr<Step>> compile_step(const CompileContext& context,
                                           const schedule::Step& step);

}  // namespace tendon::backends::cpu
