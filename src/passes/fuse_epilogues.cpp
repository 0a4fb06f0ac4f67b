// Gives a product or convolution the elementwise work that follows it, so that its result is stored
// once, finished.
#include <algorithm>
#include <utility>

#include "ir/dependencies.h"
#include "passes/matching.h"
#include "passes/pass.h"

namespace tendon::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int kMaxOperations = 40;

ExprId* epilogue_of(Node& node) {
  if (auto* matmul = std::get_if<Matmul>(&node.primitive)) return &matmul->epilogue;
  if (auto* conv = std::get_if<Conv>(&node.primitive)) return &conv->epilogue;
  return nullptr;
}

/// The type that accumulator() has for results of `dtype`.
DType accumulator_type(DType dtype) { return is_half(dtype) ? DType::kFloat32 : dtype; }

class EpilogueFusion {
 public:
  explicit EpilogueFusion(Graph& graph)
      : graph_(graph), readers_(readers(graph)), outputs_(output_values(graph)) {}

  void run() {
    const std::size_t count = graph_.nodes.size();
    for (std::size_t i = 0; i < count; ++i) try_map(static_cast<NodeId>(i));
  }

 private:
  void try_map(NodeId id) {
    const auto* map = std::get_if<Map>(&graph_.node(id).primitive);
    if (map == nullptr) return;
    const ValueId value = graph_.node(id).outputs[0];
    const Cost map_cost = cost(graph_.pool, map->body);
    if (map_cost.operations + map_cost.heavy == 0 ||
        map_cost.operations + map_cost.heavy > kMaxOperations)
      return;
    // Of several products that end here, the last one computed takes the rest along.
    ExprId load = kNoExpr;
    for (ExprId candidate : loads(graph_.pool, map->body)) {
      const auto source = static_cast<ValueId>(graph_.pool.node(candidate).payload);
      if (epilogue_of(graph_.nodes[static_cast<std::size_t>(graph_.value(source).node)]) ==
          nullptr) {
        continue;
      }
      if (load == kNoExpr || source > graph_.pool.node(load).payload) load = candidate;
    }
    if (load == kNoExpr) return;
    const auto source = static_cast<ValueId>(graph_.pool.node(load).payload);
    const auto index = static_cast<std::size_t>(source);
    if (outputs_[index] || readers_[index].size() != 1) return;
    for (ExprId other : loads(graph_.pool, map->body)) {
      if (other != load && graph_.pool.node(other).payload == source) return;
    }
    const Shape map_shape = graph_.value(value).shape;
    if (!reads_in_order(graph_, load, map_shape)) return;
    fuse(id, source, load, map_shape);
  }

  void fuse(NodeId map_id, ValueId source, ExprId load, const Shape& map_shape) {
    ExprPool& pool = graph_.pool;
    const ExprId body = std::get<Map>(graph_.node(map_id).primitive).body;
    const DType stored = graph_.value(source).dtype;
    const Shape shape = graph_.value(source).shape;
    Node product = graph_.producer(source);
    ExprId& epilogue = *epilogue_of(product);
    // What the map saw: the product, rounded to its dtype.
    pool.set_extents(shape);
    ExprId seen = epilogue;
    if (seen == kNoExpr) seen = pool.cast(stored, pool.accumulator(accumulator_type(stored)));
    // The map's body over the product's axes.
    const std::vector<ExprId> positions = reshaped_positions(pool, shape, map_shape);
    pool.set_extents(shape);
    epilogue = pool.rewrite(
        pool, body,
        [&](const ExprPool&, ExprId id, std::span<const ExprId>) -> std::optional<ExprId> {
          if (id == load) return seen;
          const ExprNode& node = pool.node(id);
          if (node.op == Op::kIndex) return positions[static_cast<std::size_t>(node.payload)];
          return std::nullopt;
        });
    const DType dtype = graph_.value(graph_.node(map_id).outputs[0]).dtype;
    if (shape == map_shape) {
      Node& node = graph_.nodes[static_cast<std::size_t>(map_id)];
      node.primitive = product.primitive;
      node.inputs = product.inputs;
      return;
    }
    // A product of the product's shape, and the map becomes a view of it.
    const NodeId fresh =
        graph_.add(product.primitive, product.inputs, {{dtype, shape}}, graph_.node(map_id).origin);
    const std::vector<ExprId> back = reshaped_positions(pool, map_shape, shape);
    pool.set_extents(map_shape);
    std::get<Map>(graph_.nodes[static_cast<std::size_t>(map_id)].primitive).body =
        pool.load(graph_.node(fresh).outputs[0], dtype, back);
    readers_.push_back({map_id});
    outputs_.push_back(false);
  }

  Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> outputs_;
};

}  // namespace

void fuse_epilogues(Graph& graph) { EpilogueFusion(graph).run(); }

}  // namespace tendon::passes
