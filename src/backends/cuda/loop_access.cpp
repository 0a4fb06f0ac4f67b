#include "backends/cuda/loop_access.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace tendon::backends::cuda {

namespace {

using ir::Op;

/// Elements from one position along `axis` to the next in what `load` reads; nothing if it is no
/// constant.
std::optional<std::int64_t> stride_along(const schedule::Plan& plan, ir::ExprId load, int axis) {
  const ir::ExprPool& pool = plan.graph->pool;
  const ir::ExprNode& node = pool.node(load);
  const schedule::Storage& storage =
      plan.storage[static_cast<std::size_t>(static_cast<ir::ValueId>(node.payload))];
  auto positions = pool.arguments(load);
  if (node.op == Op::kMaskedLoad) positions = positions.subspan(1);
  std::int64_t stride = 0;
  for (std::size_t k = 0; k < positions.size() && k < storage.strides.size(); ++k) {
    for (const auto& term : pool.affine(positions[k]).terms) {
      const ir::ExprNode& at = pool.node(term.term);
      if (at.op != Op::kIndex) {
        // A computed position: nearness is not known.
        for (const ir::ExprId below : pool.topological(term.term)) {
          const ir::ExprNode& part = pool.node(below);
          if (part.op == Op::kIndex && part.payload == axis) return std::nullopt;
        }
        continue;
      }
      if (at.payload != axis) continue;
      const ir::Size step = term.coefficient * storage.strides[k];
      if (!step.is_constant()) return std::nullopt;
      stride += step.constant();
    }
  }
  return stride;
}

}  // namespace

int votes_for_outer_lanes(const schedule::Plan& plan, const schedule::LoopKernel& kernel,
                          const schedule::LoopNode& node) {
  if (kernel.outer.empty() || node.inner.empty()) return 0;
  const int outer = static_cast<int>(kernel.outer.size()) - 1;
  const int inner = static_cast<int>(kernel.outer.size() + node.inner.size()) - 1;
  int votes = 0;
  for (const ir::ExprId id : plan.graph->pool.topological(node.body)) {
    const Op op = plan.graph->pool.node(id).op;
    if (op != Op::kLoad && op != Op::kMaskedLoad) continue;
    const auto value = static_cast<std::size_t>(plan.graph->pool.node(id).payload);
    if (plan.storage[value].buffer == schedule::kNoBuffer) continue;
    const auto outer_stride = stride_along(plan, id, outer);
    const auto inner_stride = stride_along(plan, id, inner);
    const bool outer_dense = outer_stride && (*outer_stride == 1 || *outer_stride == -1);
    const bool inner_dense = inner_stride && (*inner_stride == 1 || *inner_stride == -1);
    votes += static_cast<int>(outer_dense && !inner_dense);
    votes -= static_cast<int>(inner_dense && !outer_dense);
  }
  return votes;
}

std::vector<int> outer_axes_as_stored(const schedule::Plan& plan,
                                      const schedule::LoopKernel& kernel) {
  std::vector<int> order(kernel.outer.size());
  std::iota(order.begin(), order.end(), 0);
  for (auto node = kernel.nodes.rbegin(); node != kernel.nodes.rend(); ++node) {
    const schedule::Storage& storage = plan.storage[static_cast<std::size_t>(node->value)];
    if (storage.buffer == schedule::kNoBuffer) continue;
    for (std::size_t k = 0; k < order.size(); ++k)
      if (!storage.strides[k].is_constant()) return order;
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return storage.strides[static_cast<std::size_t>(a)].constant() >
             storage.strides[static_cast<std::size_t>(b)].constant();
    });
    return order;
  }
  return order;
}

}  // namespace tendon::backends::cuda
