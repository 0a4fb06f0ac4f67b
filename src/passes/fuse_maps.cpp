// Writes a map's body into the nodes that load it, where that saves more than it repeats.
#include <algorithm>
#include <utility>

#include "ir/dependencies.h"
#include "passes/matching.h"
#include "passes/pass.h"

namespace tendon::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

/// How many times larger an expression may make its reader; bounds compile time and registers.
constexpr int kMaxOperations = 400;

/// Cheaper to compute again than to store and load: at most one load, a few operations.
bool is_cheap(const Cost& cost) {
  return cost.heavy == 0 && cost.loads <= 1 && cost.operations <= 4 && !cost.gathers;
}

/// Of a value put together from parts, each part is computed everywhere and its mask keeps what
/// belongs to it. For so few operations, and parts of at least this fraction of the whole, that is
/// cheaper than a kernel for the part.
constexpr std::int64_t kLeastPart = 4;
bool is_small(const Cost& cost) {
  return cost.heavy == 0 && cost.loads <= 4 && cost.operations <= 8 && !cost.gathers;
}

class MapFusion {
 public:
  explicit MapFusion(Graph& graph)
      : graph_(graph), readers_(readers(graph)), outputs_(output_values(graph)) {
    read_as_input_.resize(graph.values.size(), false);
    for (const Node& node : graph.nodes) {
      for (ValueId input : node.inputs) read_as_input_[static_cast<std::size_t>(input)] = true;
    }
  }

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) fuse_into(static_cast<NodeId>(i));
  }

 private:
  /// Whether the node that holds `reader`'s expressions should compute the value itself.
  bool worth_it(ValueId value, const Node& reader, NodeId reader_id) {
    const Node& producer = graph_.producer(value);
    const auto* map = std::get_if<Map>(&producer.primitive);
    if (map == nullptr) return false;
    const Cost own = cost(graph_.pool, map->body);
    if (cost_of_reader_ + own.operations + own.heavy > kMaxOperations) return false;
    if (is_cheap(own)) return true;
    // Computed once either way: only this node reads it, at one position, over no larger a space.
    // What must be stored for somebody else is not computed twice.
    const std::size_t index = static_cast<std::size_t>(value);
    if (read_as_input_[index] || outputs_[index]) return false;
    for (NodeId other : readers_[index]) {
      if (other != reader_id) return false;
    }
    int positions = 0;
    bool masked = false;
    for (ExprId root : expressions(reader)) {
      for (ExprId other : loads(graph_.pool, root)) {
        if (graph_.pool.node(other).payload != value) continue;
        ++positions;
        masked = graph_.pool.node(other).op == Op::kMaskedLoad;
      }
    }
    if (positions != 1) return false;
    const Size count = element_count(graph_.value(value).shape);
    const Size points = element_count(iteration_space(graph_, reader));
    if (!provably_less(count, points).value_or(true) || count == points) return true;
    return masked && is_small(own) && !provably_less(count * kLeastPart, points).value_or(true);
  }

  void fuse_into(NodeId id) {
    Node& node = graph_.nodes[static_cast<std::size_t>(id)];
    if (expressions(std::as_const(node)).empty()) return;
    const Shape space = iteration_space(graph_, node);
    bool changed = true;
    while (changed) {
      changed = false;
      cost_of_reader_ = 0;
      for (ExprId root : expressions(std::as_const(node))) {
        const Cost c = cost(graph_.pool, root);
        cost_of_reader_ += c.operations + c.heavy;
      }
      // Decide for all loads first: rewriting changes ids.
      std::vector<bool> fuse(static_cast<std::size_t>(graph_.pool.node_count()), false);
      for (ExprId root : expressions(std::as_const(node))) {
        for (ExprId load : loads(graph_.pool, root)) {
          const auto value = static_cast<ValueId>(graph_.pool.node(load).payload);
          if (worth_it(value, node, id)) {
            fuse[static_cast<std::size_t>(load)] = true;
            changed = true;
          }
        }
      }
      if (!changed) break;
      graph_.pool.set_extents(space);
      for (ExprId* root : expressions(node)) *root = rewrite(*root, fuse);
      update_readers(id);
    }
  }

  ExprId rewrite(ExprId root, const std::vector<bool>& fuse) {
    ExprPool& pool = graph_.pool;
    return pool.rewrite(
        pool, root,
        [&](const ExprPool&, ExprId id,
            std::span<const ExprId> arguments) -> std::optional<ExprId> {
          if (static_cast<std::size_t>(id) >= fuse.size() || !fuse[static_cast<std::size_t>(id)]) {
            return std::nullopt;
          }
          const ExprNode load = pool.node(id);
          const auto& map =
              std::get<Map>(graph_.producer(static_cast<ValueId>(load.payload)).primitive);
          // The arguments may move when the pool grows.
          const std::vector<ExprId> copied(arguments.begin(), arguments.end());
          if (load.op == Op::kLoad) return pool.substitute_indices(pool, map.body, copied);
          const std::span<const ExprId> positions = std::span(copied).subspan(1);
          const ExprId body = pool.substitute_indices(pool, map.body, positions, copied[0]);
          return pool.select(copied[0], body, pool.constant(load.dtype, std::int64_t{0}));
        });
  }

  void update_readers(NodeId id) {
    for (ValueId value : operands(graph_, graph_.node(id))) {
      auto& list = readers_[static_cast<std::size_t>(value)];
      if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
    }
  }

  Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> outputs_;
  std::vector<bool> read_as_input_;
  int cost_of_reader_ = 0;
};

}  // namespace

void fuse_maps(Graph& graph) { MapFusion(graph).run(); }

}  // namespace tendon::passes
