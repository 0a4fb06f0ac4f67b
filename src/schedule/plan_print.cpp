// The text form of plans.
#include "schedule/plan.h"

namespace tendon::schedule {

namespace {

std::string name_of(ir::ValueId value) { return "%" + std::to_string(value); }

std::string where(const Plan& plan, ir::ValueId value) {
  const Storage& storage = plan.storage[static_cast<std::size_t>(value)];
  if (storage.buffer == kNoBuffer) return name_of(value) + " local";
  return name_of(value) + " @" + std::to_string(storage.buffer);
}

std::string print_loop(const Plan& plan, const LoopKernel& kernel) {
  constexpr std::string_view kReduce[] = {"sum", "product", "min",    "max",    "any",
                                          "all", "argmin",  "argmax", "moments"};
  std::string text = "loop " + ir::to_string(kernel.outer) + "\n";
  for (const LoopNode& node : kernel.nodes) {
    text += "    " + where(plan, node.value);
    if (node.second >= 0) text += ", " + where(plan, node.second);
    text += " = ";
    text += node.reduce ? std::string(kReduce[static_cast<int>(*node.reduce)]) : "map";
    text +=
        " over " + ir::to_string(node.inner) + " " + plan.graph->pool.to_string(node.body) + "\n";
  }
  return text;
}

std::string print_node(const Plan& plan, const NodeKernel& kernel) {
  const ir::Node& node = plan.graph->node(kernel.node);
  std::string text(ir::primitive_name(node.primitive));
  for (ir::ValueId input : node.inputs) text += " " + where(plan, input);
  text += " ->";
  for (ir::ValueId output : node.outputs) {
    text += " " + where(plan, output) + " " + ir::to_string(plan.graph->value(output).shape);
  }
  for (ir::ExprId root : ir::expressions(node)) text += "\n    " + plan.graph->pool.to_string(root);
  return text + "\n";
}

}  // namespace

std::string Plan::to_string() const {
  constexpr std::string_view kKinds[] = {"arena", "constant", "input", "state", "output"};
  std::string text = "arena " + (arena_bytes ? std::to_string(*arena_bytes) : "unbounded") + "\n";
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    text +=
        "@" + std::to_string(i) + " " + std::string(kKinds[static_cast<int>(buffer.kind)]) + " ";
    if (buffer.kind == Buffer::Kind::kArena) {
      text += "+" + std::to_string(buffer.arena_offset) + " steps " +
              std::to_string(buffer.first_step) + ".." + std::to_string(buffer.last_step);
    } else {
      text += std::to_string(buffer.index);
    }
    text += " " + std::string(dtype_name(buffer.dtype)) + ir::to_string(buffer.shape) +
            " strides " + ir::to_string(buffer.strides) + " bytes <= " +
            (buffer.bound_bytes ? std::to_string(*buffer.bound_bytes) : "unbounded") + "\n";
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    text += std::to_string(i) + ": ";
    if (const auto* loop = std::get_if<LoopKernel>(&step.kernel)) {
      text += print_loop(*this, *loop);
    } else {
      text += print_node(*this, std::get<NodeKernel>(step.kernel));
    }
  }
  return text;
}

}  // namespace tendon::schedule
