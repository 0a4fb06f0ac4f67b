#include "passes/constant_values.h"

namespace tendon::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

std::vector<bool> constant_values(const Graph& graph) {
  std::vector<bool> result(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    bool constant = !std::holds_alternative<Input>(node.primitive) &&
                    !std::holds_alternative<State>(node.primitive) &&
                    !std::holds_alternative<Compact>(node.primitive) &&
                    !std::holds_alternative<Branch>(node.primitive) &&
                    !std::holds_alternative<While>(node.primitive) &&
                    !std::holds_alternative<Loop>(node.primitive);
    for (const Size& size : sizes(graph, node)) constant = constant && size.is_constant();
    for (ValueId output : node.outputs) {
      constant = constant && is_constant(graph.value(output).shape);
    }
    if (constant) {
      for (ValueId operand : operands(graph, node)) {
        constant = constant && result[static_cast<std::size_t>(operand)];
      }
    }
    for (ValueId output : node.outputs) result[static_cast<std::size_t>(output)] = constant;
  }
  return result;
}

}  // namespace tendon::passes
