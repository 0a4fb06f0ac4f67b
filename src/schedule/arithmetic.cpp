#include "schedule/arithmetic.h"

namespace tendon::schedule {

namespace {

ir::Size of_subplan(const Plan& plan, const ir::Graph* graph) {
  for (const auto& [key, subplan] : plan.subplans) {
    if (key == graph) return product_operations(*subplan);
  }
  return 0;
}

}  // namespace

ir::Size product_operations(const Plan& plan, const Step& step) {
  const auto* kernel = std::get_if<NodeKernel>(&step.kernel);
  if (kernel == nullptr) return 0;
  const ir::Node& node = plan.graph->node(kernel->node);
  const auto shape = [&](ir::ValueId value) -> const ir::Shape& {
    return plan.graph->value(value).shape;
  };
  if (std::holds_alternative<ir::Matmul>(node.primitive)) {
    return ir::element_count(shape(node.outputs[0])) * shape(node.inputs[0]).back() * 2;
  }
  if (const auto* conv = std::get_if<ir::Conv>(&node.primitive)) {
    // Each output sums the window of a group's channels; transposed, each input is spread over it.
    const ir::Shape& weight = shape(node.inputs[1]);
    const ir::ValueId points = conv->transposed ? node.inputs[0] : node.outputs[0];
    return ir::element_count(shape(points)) * ir::element_count(std::span(weight).subspan(1)) * 2;
  }
  if (std::holds_alternative<ir::Attention>(node.primitive)) {
    const ir::Shape& query = shape(node.inputs[0]);
    const ir::Size keys = shape(node.inputs[1])[query.size() - 2];
    const ir::Size rows = ir::element_count(std::span(query).first(query.size() - 1));
    return rows * keys * (query.back() + shape(node.outputs[0]).back()) * 2;
  }
  if (const auto* branch = std::get_if<ir::Branch>(&node.primitive)) {
    return ir::max(of_subplan(plan, branch->then_graph.get()),
                   of_subplan(plan, branch->else_graph.get()));
  }
  if (const auto* loop = std::get_if<ir::While>(&node.primitive)) {
    return of_subplan(plan, loop->condition.get()) + of_subplan(plan, loop->body.get());
  }
  if (const auto* loop = std::get_if<ir::Loop>(&node.primitive)) {
    return of_subplan(plan, loop->body.get()) * loop->length;
  }
  return 0;
}

ir::Size product_operations(const Plan& plan) {
  ir::Size sum = 0;
  for (const Step& step : plan.steps) sum = sum + product_operations(plan, step);
  return sum;
}

}  // namespace tendon::schedule
