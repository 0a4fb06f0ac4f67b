#include "ir/graph.h"

#include <algorithm>

namespace tendon::ir {

namespace {

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

/// Calls visit(ExprId&) for every expression of the primitive.
template <typename P, typename Visit>
void visit_expressions(P& primitive, const Visit& visit) {
  std::visit(
      [&](auto& p) {
        using T = std::remove_cvref_t<decltype(p)>;
        if constexpr (std::is_same_v<T, Map> || std::is_same_v<T, Reduce> ||
                      std::is_same_v<T, Scan>) {
          visit(p.body);
        } else if constexpr (std::is_same_v<T, Matmul> || std::is_same_v<T, Conv>) {
          if (p.epilogue != kNoExpr) visit(p.epilogue);
        } else if constexpr (std::is_same_v<T, Attention>) {
          if (p.score != kNoExpr) visit(p.score);
        } else if constexpr (std::is_same_v<T, Scatter>) {
          for (auto& position : p.positions) visit(position);
          visit(p.value);
          if (p.mask != kNoExpr) visit(p.mask);
        }
      },
      primitive);
}

}  // namespace

NodeId Graph::add(Primitive primitive, std::vector<ValueId> node_inputs,
                  std::vector<std::pair<DType, Shape>> node_outputs, std::int32_t origin) {
  const NodeId id = static_cast<NodeId>(nodes.size());
  Node node{std::move(primitive), std::move(node_inputs), {}, origin};
  for (auto& [dtype, shape] : node_outputs) {
    node.outputs.push_back(static_cast<ValueId>(values.size()));
    values.push_back(Value{dtype, std::move(shape), id, static_cast<int>(node.outputs.size()) - 1});
  }
  if (const auto* input = std::get_if<Input>(&node.primitive)) {
    if (inputs.size() <= static_cast<std::size_t>(input->index)) {
      inputs.resize(static_cast<std::size_t>(input->index) + 1, -1);
    }
    inputs[static_cast<std::size_t>(input->index)] = node.outputs[0];
  }
  nodes.push_back(std::move(node));
  return id;
}

std::string_view primitive_name(const Primitive& primitive) {
  constexpr std::string_view kNames[] = {
      "input", "constant", "state",   "map",     "reduce", "scan",   "matmul", "conv",  "attention",
      "sort",  "top_k",    "compact", "scatter", "item",   "assert", "branch", "while", "loop"};
  static_assert(std::size(kNames) == std::variant_size_v<Primitive>);
  return kNames[primitive.index()];
}

std::vector<ExprId*> expressions(Node& node) {
  std::vector<ExprId*> result;
  visit_expressions(node.primitive, [&](ExprId& id) { result.push_back(&id); });
  return result;
}

std::vector<ExprId> expressions(const Node& node) {
  std::vector<ExprId> result;
  visit_expressions(node.primitive, [&](const ExprId& id) { result.push_back(id); });
  return result;
}

Shape iteration_space(const Graph& graph, const Node& node) {
  const auto output_shape = [&] {
    return node.outputs.empty() ? Shape{} : graph.value(node.outputs[0]).shape;
  };
  return std::visit(Overloaded{
                        [&](const Reduce& reduce) {
                          Shape shape = output_shape();
                          shape.insert(shape.end(), reduce.reduced.begin(), reduce.reduced.end());
                          return shape;
                        },
                        [&](const Attention&) {  // [b..., h, l, s]
                          Shape shape = output_shape();
                          const Shape& keys = graph.value(node.inputs[1]).shape;
                          shape.back() = keys[keys.size() - 2];
                          return shape;
                        },
                        [&](const Scatter& scatter) { return scatter.domain; },
                        [&](const auto&) { return output_shape(); },
                    },
                    node.primitive);
}

std::vector<ValueId> operands(const Graph& graph, const Node& node) {
  std::vector<ValueId> result;
  const auto add_once = [&](ValueId value) {
    if (std::find(result.begin(), result.end(), value) == result.end()) result.push_back(value);
  };
  for (ValueId input : node.inputs) add_once(input);
  visit_expressions(node.primitive, [&](const ExprId& root) {
    for (ExprId id : graph.pool.topological(root)) {
      const ExprNode& expr = graph.pool.node(id);
      if (expr.op == Op::kLoad || expr.op == Op::kMaskedLoad) {
        add_once(static_cast<ValueId>(expr.payload));
      }
    }
  });
  return result;
}

std::vector<Size> sizes(const Graph& graph, const Node& node) {
  std::vector<Size> result;
  const auto add_all = [&](const Shape& shape) {
    result.insert(result.end(), shape.begin(), shape.end());
  };
  std::visit(Overloaded{
                 [&](const Reduce& reduce) { add_all(reduce.reduced); },
                 [&](const Conv& conv) {
                   add_all(conv.padding_before);
                   add_all(conv.padding_after);
                 },
                 [&](const Attention& attention) { result.push_back(attention.causal_offset); },
                 [&](const TopK& top_k) { result.push_back(top_k.k); },
                 [&](const Scatter& scatter) { add_all(scatter.domain); },
                 [&](const Assert& assertion) {
                   if (assertion.condition) result.push_back(*assertion.condition);
                 },
                 [&](const Branch& branch) {
                   if (branch.condition) result.push_back(*branch.condition);
                 },
                 [&](const Loop& loop) { result.push_back(loop.length); },
                 [](const auto&) {},
             },
             node.primitive);
  visit_expressions(node.primitive, [&](const ExprId& root) {
    for (ExprId id : graph.pool.topological(root)) {
      const ExprNode& expr = graph.pool.node(id);
      if (expr.op == Op::kSize) result.push_back(graph.pool.size_of(id));
      if (expr.op == Op::kCheckIndex) result.push_back(graph.pool.check_of(id).size);
    }
  });
  return result;
}

}  // namespace tendon::ir
