// conv(x, w) * s, with s constant per output channel (batch norm), is conv(x, w * s): the new
// weight is a constant, which folding computes once.
#include "ir/dependencies.h"
#include "passes/constant_values.h"
#include "passes/matching.h"
#include "passes/pass.h"

namespace tendon::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

/// Constant, and varying along the channel axis (1) only.
bool is_channel_constant(const Graph& graph, ExprId root, const std::vector<bool>& constant) {
  for (ExprId id : graph.pool.topological(root)) {
    const ExprNode& node = graph.pool.node(id);
    if (node.op == Op::kIndex && node.payload != 1) return false;
    if (node.op == Op::kPhilox || node.op == Op::kCheckIndex) return false;
    if ((node.op == Op::kLoad || node.op == Op::kMaskedLoad) &&
        !constant[static_cast<std::size_t>(node.payload)]) {
      return false;
    }
  }
  return true;
}

}  // namespace

void fold_scale_into_weights(Graph& graph) {
  const std::vector<std::vector<NodeId>> reader_lists = readers(graph);
  const std::vector<bool> outputs = output_values(graph);
  const std::vector<bool> constant = constant_values(graph);
  ExprPool& pool = graph.pool;
  const std::size_t count = graph.nodes.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto* map = std::get_if<Map>(&graph.nodes[i].primitive);
    if (map == nullptr || pool.node(map->body).op != Op::kMultiply) continue;
    const auto factors = pool.arguments(map->body);
    for (int side = 0; side < 2; ++side) {
      const ExprId load = factors[static_cast<std::size_t>(side)];
      const ExprId scale = factors[static_cast<std::size_t>(1 - side)];
      if (pool.node(load).op != Op::kLoad) continue;
      const auto source = static_cast<ValueId>(pool.node(load).payload);
      const Node& producer = graph.producer(source);
      const auto* conv = std::get_if<Conv>(&producer.primitive);
      const ValueId value = graph.nodes[i].outputs[0];
      if (conv == nullptr || conv->transposed || conv->epilogue != kNoExpr ||
          !constant[static_cast<std::size_t>(producer.inputs[1])] ||
          reader_lists[static_cast<std::size_t>(source)].size() != 1 ||
          outputs[static_cast<std::size_t>(source)] ||
          !(graph.value(value).shape == graph.value(source).shape) ||
          graph.value(source).dtype != DType::kFloat32 ||
          !is_channel_constant(graph, scale, constant) ||
          !reads_in_order(graph, load, graph.value(value).shape)) {
        continue;
      }
      const ValueId weight = producer.inputs[1];
      const Shape shape = graph.value(weight).shape;
      pool.set_extents(shape);
      std::vector<ExprId> positions;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        positions.push_back(pool.index(static_cast<int>(axis)));
      }
      // The scale's channel is axis 1 of the result and axis 0 of the weight.
      const std::vector<ExprId> channel(graph.value(value).shape.size(), pool.index(0));
      const ExprId factor = pool.substitute_indices(pool, scale, channel);
      const ExprId body = pool.binary(
          Op::kMultiply, pool.load(weight, graph.value(weight).dtype, positions), factor);
      Primitive attributes = producer.primitive;
      const ValueId x = producer.inputs[0];
      const NodeId scaled =
          graph.add(Map{body}, {}, {{graph.value(weight).dtype, shape}}, graph.nodes[i].origin);
      graph.nodes[i].primitive = std::move(attributes);
      graph.nodes[i].inputs = {x, graph.node(scaled).outputs[0]};
      break;
    }
  }
}

}  // namespace tendon::passes
