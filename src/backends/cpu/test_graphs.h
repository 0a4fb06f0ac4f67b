// For tests: graphs made with few words.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "tendon/tensor.h"
#include "tensor/random_fill.h"

namespace tendon::backends::cpu {

using Positions = std::vector<ir::ExprId>;

class TestGraph {
 public:
  ir::ValueId input(DType dtype, const ir::Shape& shape) {
    const ir::NodeId node =
        graph.add(ir::Input{static_cast<int>(graph.inputs.size())}, {}, {{dtype, shape}});
    return graph.node(node).outputs[0];
  }

  /// out[i...] = body(i...).
  ir::ValueId map(const ir::Shape& shape, const std::function<ir::ExprId(const Positions&)>& body) {
    graph.pool.set_extents(shape);
    const ir::ExprId expression = body(positions(shape.size()));
    const DType dtype = graph.pool.dtype(expression);
    return graph.node(graph.add(ir::Map{expression}, {}, {{dtype, shape}})).outputs[0];
  }

  /// Reduces over `reduced` axes that follow those of `shape`; returns the node's outputs.
  std::vector<ir::ValueId> reduce(ir::ReduceOp op, const ir::Shape& shape, const ir::Shape& reduced,
                                  const std::function<ir::ExprId(const Positions&)>& body) {
    ir::Shape all = shape;
    all.insert(all.end(), reduced.begin(), reduced.end());
    graph.pool.set_extents(all);
    const ir::ExprId expression = body(positions(all.size()));
    DType dtype = graph.pool.dtype(expression);
    if (op == ir::ReduceOp::kArgMin || op == ir::ReduceOp::kArgMax) dtype = DType::kInt64;
    std::vector<std::pair<DType, ir::Shape>> outputs = {{dtype, shape}};
    if (op == ir::ReduceOp::kMoments) outputs.emplace_back(dtype, shape);
    return graph.node(graph.add(ir::Reduce{op, reduced, expression}, {}, outputs)).outputs;
  }

  ir::ExprId load(ir::ValueId value, const Positions& at) {
    return graph.pool.load(value, graph.value(value).dtype, at);
  }
  void output(ir::ValueId value, std::vector<int> dim_order = {}) {
    graph.outputs.push_back({ir::GraphOutput::Kind::kUser, value,
                             static_cast<int>(graph.outputs.size()), std::move(dim_order)});
  }
  Positions positions(std::size_t rank) {
    Positions result;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      result.push_back(graph.pool.index(static_cast<int>(axis)));
    }
    return result;
  }
  ir::ExprId number(DType dtype, double value) { return graph.pool.constant(dtype, value); }
  ir::ExprId integer(std::int64_t value) { return graph.pool.constant(DType::kInt64, value); }

  ir::Graph graph;
};

/// N(0, 1), or small integers, or bools.
inline Tensor random_tensor(DType dtype, Sizes sizes, std::uint64_t seed) {
  Tensor tensor = *Tensor::allocate(dtype, std::move(sizes));
  const Status status = dtype == DType::kBool ? tensor::fill_integers(tensor.view(), seed, 0, 0, 2)
                        : is_unsigned(dtype)  ? tensor::fill_integers(tensor.view(), seed, 0, 0, 50)
                        : !is_floating(dtype)
                            ? tensor::fill_integers(tensor.view(), seed, 0, -25, 25)
                            : tensor::fill_normal(tensor.view(), seed, 0);
  if (!status.ok()) std::abort();
  return tensor;
}

}  // namespace tendon::backends::cpu
