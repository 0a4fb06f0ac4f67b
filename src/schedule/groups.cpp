#include "schedule/groups.h"

#include <algorithm>
#include <set>

namespace tendon::schedule {

using namespace ir;  // NOLINT(google-build-using-namespace): the vocabulary of this folder

namespace {

/// A reduction to so few elements from so many is spread over threads by itself, not row by row.
constexpr std::int64_t kFewRows = 4;
constexpr std::int64_t kLongRow = 16384;

bool starts_with(const Shape& shape, const Shape& prefix) {
  return shape.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), shape.begin());
}

class Grouper {
 public:
  Grouper(const Graph& graph, const std::vector<ValueId>& alias_of)
      : graph_(graph), alias_of_(alias_of) {
    result_.group_of.resize(graph.nodes.size(), -1);
  }

  Grouping run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) place(static_cast<NodeId>(i));
    return std::move(result_);
  }

 private:
  bool is_loop(const Node& node) const {
    if (std::holds_alternative<Reduce>(node.primitive)) return true;
    return std::holds_alternative<Map>(node.primitive) &&
           alias_of_[static_cast<std::size_t>(node.outputs[0])] == node.outputs[0];
  }

  /// The group that makes a value, seen through views; -1 if none.
  int group_behind(ValueId value) const {
    const ValueId base = alias_of_[static_cast<std::size_t>(value)];
    return result_.group_of[static_cast<std::size_t>(graph_.value(base).node)];
  }

  bool few_long_rows(const Reduce& reduce, const Shape& outer) const {
    const auto rows = element_count(outer).as_constant();
    const auto row = element_count(reduce.reduced).as_constant();
    return rows && row && *rows<kFewRows&& * row> kLongRow;
  }

  /// Every load of the group's values at the same outer point, none through a view.
  bool reads_same_rows(const Node& node, int group, std::size_t outer_rank) const {
    for (ValueId input : node.inputs) {
      if (group_behind(input) == group) return false;
    }
    for (ExprId root : expressions(node)) {
      for (ExprId id : graph_.pool.topological(root)) {
        const ExprNode& load = graph_.pool.node(id);
        if (load.op != Op::kLoad && load.op != Op::kMaskedLoad) continue;
        const auto value = static_cast<ValueId>(load.payload);
        if (group_behind(value) != group) continue;
        if (alias_of_[static_cast<std::size_t>(value)] != value) return false;
        auto positions = graph_.pool.arguments(id);
        if (load.op == Op::kMaskedLoad) positions = positions.subspan(1);
        const Shape& shape = graph_.value(value).shape;
        for (std::size_t axis = 0; axis < outer_rank; ++axis) {
          if (shape[axis] == Size(1)) continue;
          const ExprNode& position = graph_.pool.node(positions[axis]);
          if (position.op != Op::kIndex || position.payload != static_cast<std::int64_t>(axis)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  bool can_join(const Node& node, int index) const {
    const Group& group = result_.groups[static_cast<std::size_t>(index)];
    if (closed_[static_cast<std::size_t>(index)]) return false;
    const bool lone_map = group.nodes.size() == 1 &&
                          std::holds_alternative<Map>(graph_.node(group.nodes[0]).primitive);
    const Shape& own = graph_.value(node.outputs[0]).shape;
    if (const auto* reduce = std::get_if<Reduce>(&node.primitive)) {
      if (few_long_rows(*reduce, own)) return false;
      if (lone_map ? !starts_with(group.outer, own) : !(group.outer == own)) return false;
      return reads_same_rows(node, index, own.size());
    }
    if (lone_map) return false;  // two maps gain nothing from one kernel
    if (const auto* reduce = std::get_if<Reduce>(&graph_.node(group.nodes.back()).primitive);
        reduce != nullptr && few_long_rows(*reduce, group.outer)) {
      return false;
    }
    return starts_with(own, group.outer) && reads_same_rows(node, index, group.outer.size());
  }

  void place(NodeId id) {
    const Node& node = graph_.node(id);
    const std::vector<ValueId> read = operands(graph_, node);
    int joined = -1;
    if (is_loop(node)) {
      // The latest group first: it is the likeliest to be still open.
      std::set<int, std::greater<>> candidates;
      for (ValueId value : read) {
        if (const int group = group_behind(value); group >= 0) candidates.insert(group);
      }
      for (int candidate : candidates) {
        if (can_join(node, candidate)) {
          joined = candidate;
          break;
        }
      }
      const Shape& own = graph_.value(node.outputs[0]).shape;
      if (joined < 0) {
        joined = static_cast<int>(result_.groups.size());
        result_.groups.push_back(Group{{}, own});
        closed_.push_back(false);
      } else if (std::holds_alternative<Reduce>(node.primitive)) {
        result_.groups[static_cast<std::size_t>(joined)].outer = own;
      }
      result_.groups[static_cast<std::size_t>(joined)].nodes.push_back(id);
      result_.group_of[static_cast<std::size_t>(id)] = joined;
    } else if (std::holds_alternative<Map>(node.primitive)) {
      return;  // a view: who reads it reads its base
    }
    // A group whose value somebody else needs must run before that somebody: it takes no more
    // nodes.
    for (ValueId value : read) {
      const int group = group_behind(value);
      if (group >= 0 && group != joined) closed_[static_cast<std::size_t>(group)] = true;
    }
  }

  const Graph& graph_;
  const std::vector<ValueId>& alias_of_;
  Grouping result_;
  std::vector<bool> closed_;
};

}  // namespace

Grouping group_loops(const Graph& graph, const std::vector<ValueId>& alias_of) {
  return Grouper(graph, alias_of).run();
}

}  // namespace tendon::schedule
