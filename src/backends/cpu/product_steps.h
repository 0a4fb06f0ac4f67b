// Matrix products, convolutions and attention.
#pragma once

#include "backends/cpu/node_steps.h"

namespace tendon::backends::cpu {

StepResult make_matmul_step(const CompileContext& context, ir::NodeId node);
StepResult make_conv_step(const CompileContext& context, ir::NodeId node);
StepResult make_attention_step(const CompileContext& context, ir::NodeId node);

}  // namespace tendon::backends::cpu
