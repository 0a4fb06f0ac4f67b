#include "ir/dependencies.h"

#include <algorithm>

namespace tendon::ir {

std::unordered_map<const Symbol*, NodeId> symbol_definitions(const Graph& graph) {
  std::unordered_map<const Symbol*, NodeId> definitions;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Primitive& primitive = graph.nodes[i].primitive;
    if (const auto* compact = std::get_if<Compact>(&primitive)) {
      definitions.emplace(compact->count.get(), static_cast<NodeId>(i));
    } else if (const auto* item = std::get_if<Item>(&primitive)) {
      definitions.emplace(item->symbol.get(), static_cast<NodeId>(i));
    }
  }
  return definitions;
}

std::vector<std::vector<NodeId>> readers(const Graph& graph) {
  std::vector<std::vector<NodeId>> result(graph.values.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId value : operands(graph, graph.nodes[i])) {
      result[static_cast<std::size_t>(value)].push_back(static_cast<NodeId>(i));
    }
  }
  return result;
}

std::vector<bool> output_values(const Graph& graph) {
  std::vector<bool> result(graph.values.size(), false);
  for (const GraphOutput& output : graph.outputs) {
    result[static_cast<std::size_t>(output.value)] = true;
  }
  return result;
}

namespace {

class Compaction {
 public:
  explicit Compaction(const Graph& from) : from_(from), definitions_(symbol_definitions(from)) {
    states_.resize(from.nodes.size(), State::kUnseen);
    values_.resize(from.values.size(), -1);
    to_.origins = from.origins;
  }

  Graph run(Keep keep) {
    // User inputs stay, used or not: they are the program's interface.
    for (std::size_t i = 0; keep == Keep::kInterface && i < from_.nodes.size(); ++i) {
      const Primitive& primitive = from_.nodes[i].primitive;
      if (std::holds_alternative<Input>(primitive) || std::holds_alternative<Assert>(primitive)) {
        need(static_cast<NodeId>(i));
      }
    }
    for (const GraphOutput& output : from_.outputs) need(from_.value(output.value).node);
    // Needed nodes in their old order, unless an appended node has to come first.
    for (NodeId id : needed_in_order()) copy(id);
    for (const GraphOutput& output : from_.outputs) {
      GraphOutput copy = output;
      copy.value = values_[static_cast<std::size_t>(output.value)];
      to_.outputs.push_back(std::move(copy));
    }
    return std::move(to_);
  }

 private:
  enum class State : std::uint8_t { kUnseen, kNeeded, kOrdered };

  std::vector<NodeId> dependencies(const Node& node) const {
    std::vector<NodeId> result;
    for (ValueId value : operands(from_, node)) result.push_back(from_.value(value).node);
    if (definitions_.empty()) return result;
    const auto add_symbols = [&](const Size& size) {
      if (size.is_constant()) return;
      size.for_each_symbol([&](const SymbolRef& symbol) {
        const auto it = definitions_.find(symbol.get());
        if (it != definitions_.end()) result.push_back(it->second);
      });
    };
    const NodeId self = node.outputs.empty() ? -1 : from_.value(node.outputs[0]).node;
    for (const Size& size : sizes(from_, node)) add_symbols(size);
    for (ValueId value : node.outputs) {
      for (const Size& size : from_.value(value).shape) add_symbols(size);
    }
    std::erase(result, self);
    return result;
  }

  /// Marks what the node needs, without recursion (graphs are deep).
  void need(NodeId root) {
    std::vector<NodeId> stack = {root};
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      State& state = states_[static_cast<std::size_t>(id)];
      if (state != State::kUnseen) continue;
      state = State::kNeeded;
      for (NodeId dependency : dependencies(from_.node(id))) stack.push_back(dependency);
    }
  }

  std::vector<NodeId> needed_in_order() {
    std::vector<NodeId> order;
    std::vector<std::pair<NodeId, bool>> stack;  // node, dependencies done
    for (std::size_t i = 0; i < from_.nodes.size(); ++i) {
      if (states_[i] != State::kNeeded) continue;
      stack.emplace_back(static_cast<NodeId>(i), false);
      while (!stack.empty()) {
        const auto [id, done] = stack.back();
        State& state = states_[static_cast<std::size_t>(id)];
        if (state == State::kOrdered) {
          stack.pop_back();
          continue;
        }
        if (done) {
          state = State::kOrdered;
          order.push_back(id);
          stack.pop_back();
          continue;
        }
        stack.back().second = true;
        for (NodeId dependency : dependencies(from_.node(id))) {
          if (states_[static_cast<std::size_t>(dependency)] == State::kNeeded) {
            stack.emplace_back(dependency, false);
          }
        }
      }
    }
    return order;
  }

  void copy(NodeId id) {
    Node node = from_.node(id);
    to_.pool.set_extents(iteration_space(from_, node));
    for (ExprId* root : expressions(node)) {
      *root = to_.pool.rewrite(
          from_.pool, *root,
          [&](const ExprPool& pool, ExprId expr,
              std::span<const ExprId> arguments) -> std::optional<ExprId> {
            const ExprNode& old = pool.node(expr);
            if (old.op != Op::kLoad && old.op != Op::kMaskedLoad) return std::nullopt;
            const ValueId value = values_[static_cast<std::size_t>(old.payload)];
            if (old.op == Op::kLoad) return to_.pool.load(value, old.dtype, arguments);
            return to_.pool.masked_load(value, old.dtype, arguments[0], arguments.subspan(1));
          });
    }
    for (ValueId& input : node.inputs) input = values_[static_cast<std::size_t>(input)];
    std::vector<std::pair<DType, Shape>> outputs;
    for (ValueId output : node.outputs) {
      outputs.emplace_back(from_.value(output).dtype, from_.value(output).shape);
    }
    const NodeId fresh =
        to_.add(std::move(node.primitive), std::move(node.inputs), std::move(outputs), node.origin);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      values_[static_cast<std::size_t>(node.outputs[i])] = to_.node(fresh).outputs[i];
    }
  }

  const Graph& from_;
  Graph to_;
  std::unordered_map<const Symbol*, NodeId> definitions_;
  std::vector<State> states_;
  std::vector<ValueId> values_;
};

}  // namespace

Graph compacted(const Graph& graph, Keep keep) { return Compaction(graph).run(keep); }

}  // namespace tendon::ir
