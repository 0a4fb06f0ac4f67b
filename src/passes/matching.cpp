#include "passes/matching.h"

namespace tendon::passes {

using namespace ir;  // NOLINT(google-build-using-namespace): the vocabulary of this folder

std::vector<ExprId> loads(const ExprPool& pool, ExprId root) {
  std::vector<ExprId> result;
  for (ExprId id : pool.topological(root)) {
    const Op op = pool.node(id).op;
    if (op == Op::kLoad || op == Op::kMaskedLoad) result.push_back(id);
  }
  return result;
}

ExprId as_view(const Graph& graph, const Node& node) {
  const auto* map = std::get_if<Map>(&node.primitive);
  if (map == nullptr || graph.pool.node(map->body).op != Op::kLoad) return kNoExpr;
  return loads(graph.pool, map->body).size() == 1 ? map->body : kNoExpr;
}

namespace {
/// sum(positions * strides) as an affine form.
ExprPool::Affine linear(ExprPool& pool, std::span<const ExprId> positions, const Shape& shape) {
  const Shape strides = contiguous_strides(shape);
  ExprId sum = pool.constant(DType::kInt64, std::int64_t{0});
  for (std::size_t i = 0; i < positions.size(); ++i) {
    sum =
        pool.binary(Op::kAdd, sum, pool.binary(Op::kMultiply, positions[i], pool.size(strides[i])));
  }
  return pool.affine(sum);
}
}  // namespace

bool reads_in_order(Graph& graph, ExprId load, const Shape& shape) {
  return reads_in_order(graph, load, shape, shape.size());
}

bool reads_in_order(Graph& graph, ExprId load, const Shape& shape, std::size_t axes) {
  ExprPool& pool = graph.pool;
  const ExprNode& node = pool.node(load);
  if (node.op != Op::kLoad) return false;
  const Shape& value_shape = graph.value(static_cast<ValueId>(node.payload)).shape;
  const Shape walked(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axes));
  if (!(element_count(value_shape) == element_count(walked))) return false;
  pool.set_extents(shape);
  std::vector<ExprId> own;
  for (std::size_t i = 0; i < axes; ++i) own.push_back(pool.index(static_cast<int>(i)));
  const auto arguments = pool.arguments(load);
  const std::vector<ExprId> positions(arguments.begin(), arguments.end());
  const ExprPool::Affine a = linear(pool, positions, value_shape);
  const ExprPool::Affine b = linear(pool, own, walked);
  if (!(a.constant == b.constant) || a.terms.size() != b.terms.size()) return false;
  for (std::size_t i = 0; i < a.terms.size(); ++i) {
    if (a.terms[i].term != b.terms[i].term || !(a.terms[i].coefficient == b.terms[i].coefficient)) {
      return false;
    }
  }
  return true;
}

std::vector<ExprId> reshaped_positions(ExprPool& pool, const Shape& from, const Shape& to) {
  pool.set_extents(from);
  std::vector<ExprId> own;
  for (std::size_t i = 0; i < from.size(); ++i) own.push_back(pool.index(static_cast<int>(i)));
  const ExprId flat = pool.from_affine(linear(pool, own, from));
  const Shape strides = contiguous_strides(to);
  std::vector<ExprId> positions;
  for (std::size_t i = 0; i < to.size(); ++i) {
    ExprId position = pool.binary(Op::kFloorDivide, flat, pool.size(strides[i]));
    if (i > 0) position = pool.binary(Op::kRemainder, position, pool.size(to[i]));
    positions.push_back(position);
  }
  return positions;
}

Cost cost(const ExprPool& pool, ExprId root) {
  Cost result;
  for (ExprId id : pool.topological(root)) {
    const ExprNode& node = pool.node(id);
    if (node.op == Op::kConstant || node.op == Op::kIndex || node.op == Op::kSize ||
        node.op == Op::kAccumulator) {
      continue;
    }
    if (node.op == Op::kLoad || node.op == Op::kMaskedLoad) {
      ++result.loads;
      for (ExprId argument : pool.arguments(id)) {
        if (!result.gathers && !loads(pool, argument).empty()) result.gathers = true;
      }
      continue;
    }
    const bool index_arithmetic = node.dtype == DType::kInt64 && node.op != Op::kCast;
    const bool heavy = (node.op >= Op::kSqrt && node.op <= Op::kSigmoid && node.op != Op::kRsqrt &&
                        node.op != Op::kSqrt && node.op != Op::kReciprocal) ||
                       (node.op >= Op::kPow && node.op <= Op::kZeta && node.op != Op::kCopysign) ||
                       node.op == Op::kPhilox || node.op == Op::kFmod ||
                       node.op == Op::kRemainder || node.op == Op::kFloorDivide ||
                       node.op == Op::kTruncDivide;
    if (heavy && !index_arithmetic) {
      ++result.heavy;
    } else if (!index_arithmetic) {
      ++result.operations;
    }
  }
  return result;
}

}  // namespace tendon::passes
