#include "backends/cuda/compile_step.h"

#include "backends/cuda/loop_step.h"
#include "backends/cuda/node_steps.h"
#include "backends/cuda/product_steps.h"

namespace tendon::backends::cuda {

StepResult compile_step(const CompileContext& context, const schedule::Step& step) {
  if (const auto* loop = std::get_if<schedule::LoopKernel>(&step.kernel))
    return make_loop_step(context, *loop);
  const ir::NodeId id = std::get<schedule::NodeKernel>(step.kernel).node;
  const ir::Primitive& primitive = context.plan->graph->node(id).primitive;
  if (std::holds_alternative<ir::Matmul>(primitive)) return make_matmul_step(context, id);
  if (std::holds_alternative<ir::Conv>(primitive)) return make_conv_step(context, id);
  if (std::holds_alternative<ir::Attention>(primitive)) return make_attention_step(context, id);
  if (std::holds_alternative<ir::Scan>(primitive)) return make_scan_step(context, id);
  if (std::holds_alternative<ir::Sort>(primitive)) return make_sort_step(context, id);
  if (std::holds_alternative<ir::TopK>(primitive)) return make_top_k_step(context, id);
  if (std::holds_alternative<ir::Compact>(primitive)) return make_compact_step(context, id);
  if (std::holds_alternative<ir::Scatter>(primitive)) return make_scatter_step(context, id);
  if (std::holds_alternative<ir::Item>(primitive)) return make_item_step(context, id);
  if (std::holds_alternative<ir::Assert>(primitive)) return make_assert_step(context, id);
  return Status(StatusCode::kInternal,
                "no kernel for " + std::string(ir::primitive_name(primitive)));
}

bool is_control_flow(const schedule::Plan& plan, const schedule::Step& step) {
  const auto* kernel = std::get_if<schedule::NodeKernel>(&step.kernel);
  if (kernel == nullptr) return false;
  const ir::Primitive& primitive = plan.graph->node(kernel->node).primitive;
  return std::holds_alternative<ir::Branch>(primitive) ||
         std::holds_alternative<ir::While>(primitive) ||
         std::holds_alternative<ir::Loop>(primitive);
}

}  // namespace tendon::backends::cuda
