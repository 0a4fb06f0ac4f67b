// Primitives over concrete, row-major tensors: used by the evaluator only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/element_program.h"
#include "ir/graph.h"
#include "tendon/status.h"
#include "tendon/tensor.h"

namespace tendon::ir {

/// A node with everything about it that is not an expression made concrete.
struct NodeEvaluation {
  const Graph& graph;
  const Node& node;
  ElementContext context;
  std::vector<Tensor> outputs;  // allocated, uninitialised

  const Tensor& input(std::size_t i) const {
    return context.values[static_cast<std::size_t>(node.inputs[i])];
  }
  Result<Sizes> sizes(const Shape& shape) const;
  /// Computes one expression over `extents` into a new tensor; accumulator() stands for the element
  /// of `accumulated` (row-major, of the expression's dtype).
  Result<Tensor> expression(ExprId id, const Sizes& extents,
                            const void* accumulated = nullptr) const;
  /// Stores accumulated elements (float32 for half types), all of output 0, through the epilogue.
  Status finish(const void* accumulated, ExprId epilogue);
};

Status evaluate_map(NodeEvaluation& e, const Map& map);
Status evaluate_reduce(NodeEvaluation& e, const Reduce& reduce);
Status evaluate_scan(NodeEvaluation& e, const Scan& scan);
Status evaluate_matmul(NodeEvaluation& e, const Matmul& matmul);
Status evaluate_conv(NodeEvaluation& e, const Conv& conv);
Status evaluate_attention(NodeEvaluation& e, const Attention& attention);
Status evaluate_sort(NodeEvaluation& e, const Sort& sort);
Status evaluate_top_k(NodeEvaluation& e, const TopK& top_k);
Status evaluate_scatter(NodeEvaluation& e, const Scatter& scatter);
/// The positions that Compact gives, of which there are as many as its symbol says.
std::vector<std::int64_t> true_positions(const Tensor& mask);

}  // namespace tendon::ir
