// The graph's rules, as code.
#include <string>

#include "ir/graph.h"

namespace tendon::ir {

namespace {

std::optional<std::string> verify_expression(const Graph& graph, const Node& node, ExprId root,
                                             NodeId id, std::size_t rank) {
  const bool may_accumulate = std::holds_alternative<Matmul>(node.primitive) ||
                              std::holds_alternative<Conv>(node.primitive) ||
                              std::holds_alternative<Attention>(node.primitive);
  for (ExprId expr_id : graph.pool.topological(root)) {
    const ExprNode& expr = graph.pool.node(expr_id);
    if (expr.op == Op::kIndex && static_cast<std::size_t>(expr.payload) >= rank) {
      return "index " + std::to_string(expr.payload) + " of an iteration space of rank " +
             std::to_string(rank);
    }
    if (expr.op == Op::kAccumulator && !may_accumulate)
      return std::string("accumulator outside an epilogue");
    if (expr.op != Op::kLoad && expr.op != Op::kMaskedLoad) continue;
    if (expr.payload < 0 || static_cast<std::size_t>(expr.payload) >= graph.values.size()) {
      return "load of value " + std::to_string(expr.payload) + ", which does not exist";
    }
    const Value& value = graph.value(static_cast<ValueId>(expr.payload));
    if (value.node >= id) return "load of %" + std::to_string(expr.payload) + " before it is made";
    if (value.dtype != expr.dtype)
      return "load of %" + std::to_string(expr.payload) + " with another dtype";
    const std::size_t positions = expr.argument_count - (expr.op == Op::kMaskedLoad ? 1u : 0u);
    if (positions != value.shape.size()) {
      return "load of %" + std::to_string(expr.payload) + " with " + std::to_string(positions) +
             " positions for rank " + std::to_string(value.shape.size());
    }
  }
  return std::nullopt;
}

std::optional<std::string> verify_types(const Graph& graph, const Node& node) {
  if (node.outputs.empty()) return std::nullopt;
  const DType out = graph.value(node.outputs[0]).dtype;
  const auto expect = [&](ExprId id, DType dtype) -> std::optional<std::string> {
    if (id == kNoExpr || graph.pool.dtype(id) == dtype) return std::nullopt;
    return "expression of " + std::string(dtype_name(graph.pool.dtype(id))) + " where " +
           std::string(dtype_name(dtype)) + " is stored";
  };
  if (const auto* p = std::get_if<Map>(&node.primitive)) return expect(p->body, out);
  if (const auto* p = std::get_if<Scan>(&node.primitive)) return expect(p->body, out);
  if (const auto* p = std::get_if<Matmul>(&node.primitive)) return expect(p->epilogue, out);
  if (const auto* p = std::get_if<Conv>(&node.primitive)) return expect(p->epilogue, out);
  if (const auto* p = std::get_if<Attention>(&node.primitive)) {
    return expect(p->score, out == DType::kFloat64 ? out : DType::kFloat32);
  }
  if (const auto* p = std::get_if<Scatter>(&node.primitive)) {
    if (auto wrong = expect(p->value, out)) return wrong;
    if (p->positions.size() != graph.value(node.inputs[0]).shape.size()) {
      return std::string("scatter with a wrong number of positions");
    }
    return expect(p->mask, DType::kBool);
  }
  if (const auto* p = std::get_if<Reduce>(&node.primitive)) {
    if (p->op == ReduceOp::kArgMin || p->op == ReduceOp::kArgMax) return std::nullopt;
    return expect(p->body, out);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> verify(const Graph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id = static_cast<NodeId>(i);
    const Node& node = graph.nodes[i];
    const auto fail = [&](const std::string& what) {
      return "node " + std::to_string(i) + " (" + std::string(primitive_name(node.primitive)) +
             "): " + what;
    };
    for (ValueId input : node.inputs) {
      if (input < 0 || static_cast<std::size_t>(input) >= graph.values.size()) {
        return fail("input does not exist");
      }
      if (graph.value(input).node >= id) return fail("input is made later");
    }
    const std::size_t rank = iteration_space(graph, node).size();
    for (ExprId root : expressions(node)) {
      if (auto wrong = verify_expression(graph, node, root, id, rank)) return fail(*wrong);
    }
    if (auto wrong = verify_types(graph, node)) return fail(*wrong);
    for (ValueId output : node.outputs) {
      if (is_complex(graph.value(output).dtype)) return fail("complex value");
    }
  }
  for (const GraphOutput& output : graph.outputs) {
    if (output.value < 0 || static_cast<std::size_t>(output.value) >= graph.values.size()) {
      return std::string("an output does not exist");
    }
  }
  return std::nullopt;
}

}  // namespace tendon::ir
