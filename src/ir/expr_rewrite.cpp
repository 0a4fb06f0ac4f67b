// Walking and rebuilding expressions. Nothing here recurses: expressions may be deep.
#include <utility>
#include <vector>

#include "ir/expr.h"
#include "ir/expr_id_map.h"

namespace tendon::ir {

std::vector<ExprId> ExprPool::topological(ExprId root) const {
  // Of a node: how many of its arguments have been visited, or kDone.
  constexpr std::int32_t kDone = -1;
  std::vector<ExprId> order;
  std::vector<ExprId> stack{root};
  ExprIdMap state;
  while (!stack.empty()) {
    const ExprId id = stack.back();
    const std::int32_t next = state.find(id).value_or(0);
    if (next == kDone) {
      stack.pop_back();
      continue;
    }
    const auto operands = arguments(id);
    if (static_cast<std::size_t>(next) == operands.size()) {
      state.set(id, kDone);
      order.push_back(id);
      stack.pop_back();
      continue;
    }
    state.set(id, next + 1);
    const ExprId operand = operands[static_cast<std::size_t>(next)];
    if (state.find(operand) != kDone) stack.push_back(operand);
  }
  return order;
}

namespace {

/// Its simplification does not look at extents, nor at types of its arguments' makers.
bool is_plain(const ExprNode& node) {
  if (node.op == Op::kLoad || node.op == Op::kConstant || node.op == Op::kAccumulator ||
      node.op == Op::kSize) {
    return true;
  }
  return is_floating(node.dtype) && node.op != Op::kCast && node.op != Op::kSelect &&
         node.op != Op::kMaskedLoad;
}

}  // namespace

ExprId ExprPool::rewrite(const ExprPool& from, ExprId root, const Replace& replace) {
  ExprIdMap rebuilt;
  std::vector<ExprId> operands;
  const auto copy = [&](ExprId id) -> ExprId {
    const ExprNode& n = from.node(id);
    switch (n.op) {
      case Op::kConstant:
      case Op::kAccumulator:
        return intern(n.op, n.dtype, {}, n.payload);
      case Op::kIndex:
        return index(static_cast<int>(n.payload));
      case Op::kSize:
        return size(from.size_of(id));
      case Op::kLoad:
        return load(static_cast<ValueId>(n.payload), n.dtype, operands);
      case Op::kMaskedLoad:
        return masked_load(static_cast<ValueId>(n.payload), n.dtype, operands[0],
                           std::span(operands).subspan(1));
      case Op::kCast:
        return cast(n.dtype, operands[0]);
      case Op::kBitcast:
        return bitcast(n.dtype, operands[0]);
      case Op::kSelect:
        return select(operands[0], operands[1], operands[2]);
      case Op::kCheckIndex:
        return check_index(operands[0], from.check_of(id));
      case Op::kPhilox:
        return philox(operands[0], operands[1], operands[2]);
      default:
        return operands.size() == 1 ? unary(n.op, operands[0])
                                    : binary(n.op, operands[0], operands[1]);
    }
  };
  for (ExprId id : from.topological(root)) {
    const auto originals = from.arguments(id);
    operands.clear();
    bool same = &from == this;
    for (ExprId argument : originals) {
      operands.push_back(*rebuilt.find(argument));
      same = same && operands.back() == argument;
    }
    std::optional<ExprId> result;
    if (replace) result = replace(from, id, operands);
    if (!result && same && is_plain(from.node(id))) result = id;
    rebuilt.set(id, result ? *result : copy(id));
  }
  return *rebuilt.find(root);
}

ExprId ExprPool::substitute_indices(const ExprPool& from, ExprId root,
                                    std::span<const ExprId> positions, ExprId mask) {
  if (mask != kNoExpr && as_integer(mask) == 1) mask = kNoExpr;
  const std::vector<ExprId> replacements(positions.begin(), positions.end());
  const auto replace = [&](const ExprPool& pool, ExprId id,
                           std::span<const ExprId> operands) -> std::optional<ExprId> {
    const ExprNode& n = pool.node(id);
    switch (n.op) {
      case Op::kIndex:
        if (static_cast<std::size_t>(n.payload) >= replacements.size()) return std::nullopt;
        return replacements[static_cast<std::size_t>(n.payload)];
      case Op::kLoad:
        if (mask == kNoExpr) return std::nullopt;
        return masked_load(static_cast<ValueId>(n.payload), n.dtype, mask, operands);
      case Op::kMaskedLoad:
        if (mask == kNoExpr) return std::nullopt;
        return masked_load(static_cast<ValueId>(n.payload), n.dtype,
                           binary(Op::kAnd, mask, operands[0]), operands.subspan(1));
      case Op::kCheckIndex: {
        // Position 0 is in range: no error where nothing is read.
        if (mask == kNoExpr) return std::nullopt;
        const ExprId zero = constant(DType::kInt64, std::int64_t{0});
        return check_index(select(mask, operands[0], zero), pool.check_of(id));
      }
      default:
        return std::nullopt;
    }
  };
  return rewrite(from, root, replace);
}

}  // namespace tendon::ir
