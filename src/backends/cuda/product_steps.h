// Matrix products, convolutions and attention.
#pragma once

#include "backends/cuda/compile_context.h"
#include "backends/cuda/step.h"

namespace tendon::backends::cuda {

StepResult make_matmul_step(const CompileContext& context, ir::NodeId node);
StepResult make_conv_step(const CompileContext& context, ir::NodeId node);
StepResult make_attention_step(const CompileContext& context, ir::NodeId node);

}  // namespace tendon::backends::cuda
