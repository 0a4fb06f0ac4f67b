// The text form of graphs.
#include <string>

#include "ir/graph.h"

namespace tendon::ir {

namespace {

std::string name_of(ValueId value) { return "%" + std::to_string(value); }

std::string list_of(const std::vector<std::int64_t>& numbers) {
  std::string text = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  }
  return text + "]";
}

std::string_view reduce_name(ReduceOp op) {
  constexpr std::string_view kNames[] = {"sum", "product", "min",    "max",    "any",
                                         "all", "argmin",  "argmax", "moments"};
  return kNames[static_cast<int>(op)];
}
std::string_view scan_name(ScanOp op) {
  constexpr std::string_view kNames[] = {"sum", "product", "max", "min", "logsumexp"};
  return kNames[static_cast<int>(op)];
}
std::string_view scatter_name(ScatterOp op) {
  constexpr std::string_view kNames[] = {"assign", "add", "multiply", "min", "max"};
  return kNames[static_cast<int>(op)];
}

struct AttributePrinter {
  const Graph& graph;
  std::string expr(ExprId id) const { return graph.pool.to_string(id); }

  std::string operator()(const Input& p) const { return " " + std::to_string(p.index); }
  std::string operator()(const Constant& p) const { return " " + std::to_string(p.index); }
  std::string operator()(const State& p) const { return " " + std::to_string(p.index); }
  std::string operator()(const Map& p) const { return " " + expr(p.body); }
  std::string operator()(const Reduce& p) const {
    return " " + std::string(reduce_name(p.op)) + " over " + to_string(p.reduced) + " " +
           expr(p.body);
  }
  std::string operator()(const Scan& p) const {
    return " " + std::string(scan_name(p.op)) + " axis " + std::to_string(p.axis) + " " +
           expr(p.body);
  }
  std::string operator()(const Matmul& p) const {
    return p.epilogue == kNoExpr ? "" : " epilogue " + expr(p.epilogue);
  }
  std::string operator()(const Conv& p) const {
    std::string text = " stride " + list_of(p.stride) + " dilation " + list_of(p.dilation) +
                       " padding " + to_string(p.padding_before) + " " + to_string(p.padding_after);
    if (p.groups != 1) text += " groups " + std::to_string(p.groups);
    if (p.transposed) text += " transposed";
    if (p.epilogue != kNoExpr) text += " epilogue " + expr(p.epilogue);
    return text;
  }
  std::string operator()(const Attention& p) const {
    std::string text = " scale " + std::to_string(p.scale);
    if (p.causal) text += " causal " + p.causal_offset.to_string();
    if (p.zero_masked_rows) text += " zero_masked_rows";
    if (p.score != kNoExpr) text += " score " + expr(p.score);
    return text;
  }
  std::string operator()(const Sort& p) const {
    return " axis " + std::to_string(p.axis) + (p.descending ? " descending" : "") +
           (p.stable ? "" : " unstable");
  }
  std::string operator()(const TopK& p) const {
    return " axis " + std::to_string(p.axis) + " k " + p.k.to_string() +
           (p.largest ? " largest" : " smallest") + (p.sorted ? "" : " unsorted");
  }
  std::string operator()(const Compact& p) const { return " count " + p.count->name; }
  std::string operator()(const Scatter& p) const {
    std::string text =
        " " + std::string(scatter_name(p.op)) + " over " + to_string(p.domain) + " at [";
    for (std::size_t i = 0; i < p.positions.size(); ++i) {
      text += (i ? ", " : "") + expr(p.positions[i]);
    }
    text += "] value " + expr(p.value);
    if (p.mask != kNoExpr) text += " where " + expr(p.mask);
    if (p.float32_accumulation) text += " float32_accumulation";
    return text;
  }
  std::string operator()(const Item& p) const { return " " + p.symbol->name; }
  std::string operator()(const Assert& p) const {
    return " " + (p.condition ? p.condition->to_string() : std::string("input")) + " \"" +
           p.message + "\"";
  }
  std::string operator()(const Branch& p) const {
    return (p.condition ? " " + p.condition->to_string() : std::string()) + " then {\n" +
           p.then_graph->to_string() + "} else {\n" + p.else_graph->to_string() + "}";
  }
  std::string operator()(const While& p) const {
    return " condition {\n" + p.condition->to_string() + "} body {\n" + p.body->to_string() + "}";
  }
  std::string operator()(const Loop& p) const {
    return " length " + p.length.to_string() + " body {\n" + p.body->to_string() + "}";
  }
};

}  // namespace

std::string Graph::to_string() const {
  std::string text;
  for (const Node& node : nodes) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const Value& out = value(node.outputs[i]);
      text += (i ? ", " : "") + name_of(node.outputs[i]) + ": " +
              std::string(dtype_name(out.dtype)) + ir::to_string(out.shape);
    }
    if (!node.outputs.empty()) text += " = ";
    text += primitive_name(node.primitive);
    for (ValueId input : node.inputs) text += " " + name_of(input);
    text += std::visit(AttributePrinter{*this}, node.primitive) + "\n";
  }
  for (const GraphOutput& output : outputs) {
    constexpr std::string_view kKinds[] = {"output", "state", "input"};
    text += std::string(kKinds[static_cast<int>(output.kind)]) + " " +
            std::to_string(output.index) + " <- " + name_of(output.value);
    if (!output.dim_order.empty()) {
      text += " dim order " +
              list_of(std::vector<std::int64_t>(output.dim_order.begin(), output.dim_order.end()));
    }
    text += "\n";
  }
  return text;
}

}  // namespace tendon::ir
