#include "passes/split_constants.h"

#include <algorithm>
#include <utility>

#include "ir/dependencies.h"
#include "passes/constant_values.h"
#include "passes/matching.h"

namespace tendon::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

/// What is this much larger than all it is made from is an expansion, not a result worth keeping.
constexpr std::int64_t kExpansion = 8;
constexpr std::int64_t kSmallBytes = std::int64_t{1} << 20;

std::int64_t bytes_of(const Graph& graph, ValueId value) {
  const Value& v = graph.value(value);
  const Bounds bounds = element_count(v.shape).bounds();
  if (bounds.upper >= kUnbounded / 16) return kUnbounded;
  return bounds.upper * static_cast<std::int64_t>(dtype_size(v.dtype));
}

class Splitter {
 public:
  Splitter(Graph& graph, int first_index, std::int64_t limit)
      : graph_(graph), next_index_(first_index), left_(limit), constant_(constant_values(graph)) {}

  ConstantSplit run() {
    ConstantSplit split;
    std::vector<ValueId> work;
    for (const Node& node : graph_.nodes) {
      const bool constant =
          !node.outputs.empty() && constant_[static_cast<std::size_t>(node.outputs[0])];
      if (constant) continue;
      for (ValueId operand : operands(graph_, node)) work.push_back(operand);
    }
    for (const GraphOutput& output : graph_.outputs) work.push_back(output.value);

    std::vector<bool> seen(graph_.values.size(), false);
    std::vector<ValueId> folded;
    while (!work.empty()) {
      const ValueId value = work.back();
      work.pop_back();
      const auto index = static_cast<std::size_t>(value);
      if (!constant_[index] || seen[index]) continue;
      seen[index] = true;
      const Node& node = graph_.producer(value);
      if (std::holds_alternative<Constant>(node.primitive)) continue;
      if (should_fold(value, node)) {
        left_ -= bytes_of(graph_, value);
        folded.push_back(value);
      } else {
        for (ValueId operand : operands(graph_, node)) work.push_back(operand);
      }
    }
    if (folded.empty()) return split;
    std::sort(folded.begin(), folded.end());

    split.constants = graph_;
    split.constants.outputs.clear();
    for (std::size_t i = 0; i < folded.size(); ++i) {
      split.constants.outputs.push_back(
          {GraphOutput::Kind::kUser, folded[i], static_cast<int>(i), {}});
      split.types.emplace_back(graph_.value(folded[i]).dtype, graph_.value(folded[i]).shape);
    }
    split.constants = compacted(split.constants, Keep::kOutputs);
    for (ValueId value : folded) {
      Node& node = graph_.nodes[static_cast<std::size_t>(graph_.value(value).node)];
      node.primitive = Constant{next_index_++};
      node.inputs.clear();
    }
    graph_ = compacted(graph_);
    return split;
  }

 private:
  bool should_fold(ValueId value, const Node& node) const {
    if (node.outputs.size() != 1) return false;
    const std::int64_t bytes = bytes_of(graph_, value);
    if (bytes > left_) return false;
    const auto* map = std::get_if<Map>(&node.primitive);
    if (map == nullptr) return true;
    if (as_view(graph_, node) != kNoExpr) return false;
    const Cost own = cost(graph_.pool, map->body);
    if (own.loads == 0 && own.heavy == 0) return false;
    if (bytes <= kSmallBytes) return true;
    std::int64_t read = 0;
    for (ValueId operand : operands(graph_, node)) read += bytes_of(graph_, operand);
    return bytes / kExpansion <= read;
  }

  Graph& graph_;
  int next_index_;
  std::int64_t left_;
  std::vector<bool> constant_;
};

}  // namespace

ConstantSplit split_constants(Graph& graph, int first_index, std::int64_t byte_limit) {
  return Splitter(graph, first_index, byte_limit).run();
}

}  // namespace tendon::passes
