// Integer arithmetic. It wraps, so that all rules of a ring hold.
#include <utility>

#include "ir/expr_fold.h"
#include "ir/expr_rules.h"

namespace tendon::ir {

std::optional<ExprId> ExprRules::simplify_extreme(Op op, ExprId a, ExprId b) {
  if (a == b) return a;
  const bool minimum = op == Op::kMinimum;
  const auto range_a = ExprFacts(pool_).range(a);
  const auto range_b = ExprFacts(pool_).range(b);
  if (range_a.upper <= range_b.lower && range_a.upper < ExprFacts::kInfinite)
    return minimum ? a : b;
  if (range_b.upper <= range_a.lower && range_b.upper < ExprFacts::kInfinite)
    return minimum ? b : a;
  if (dtype(a) == DType::kInt64) {
    const auto size_a = as_size(pool_, a);
    const auto size_b = as_size(pool_, b);
    if (size_a && size_b && is_size_like(*size_a) && is_size_like(*size_b)) {
      return pool_.size(minimum ? min(*size_a, *size_b) : max(*size_a, *size_b));
    }
    const Affine sum_a = pool_.affine(a);
    const Affine sum_b = pool_.affine(b);
    if (ExprFacts(pool_).range(sum_a) && ExprFacts(pool_).range(sum_b)) {
      const Affine difference = subtract(sum_b, sum_a);
      if (!overflowed(difference)) {
        if (ExprFacts(pool_).is_at_least(difference, Size(0))) return minimum ? a : b;
        if (ExprFacts(pool_).is_less(difference, Size(1))) return minimum ? b : a;
      }
    }
  }
  if (is_constant(a)) std::swap(a, b);
  if (is_constant(b) && this->op(a) == op && is_constant(argument(a, 1))) {
    return binary(op, argument(a, 0), binary(op, argument(a, 1), b));
  }
  if (this->op(a) == op && (argument(a, 0) == b || argument(a, 1) == b)) return a;
  if (this->op(b) == op && (argument(b, 0) == a || argument(b, 1) == a)) return b;
  return std::nullopt;
}

std::optional<ExprId> ExprRules::simplify_integer(Op op, ExprId a, ExprId b) {
  const DType type = dtype(a);
  const bool is_index = type == DType::kInt64;
  const auto zero = [&] { return make_constant(type, 0); };
  // (x op c1) op c2
  const auto reassociate = [&]() -> std::optional<ExprId> {
    if (is_constant(a)) std::swap(a, b);
    if (!is_constant(b) || this->op(a) != op || !is_constant(argument(a, 1))) return std::nullopt;
    return binary(op, argument(a, 0), binary(op, argument(a, 1), b));
  };
  switch (op) {
    case Op::kAdd:
    case Op::kSubtract: {
      if (is_index) {
        const Affine x = pool_.affine(a);
        const Affine y = pool_.affine(b);
        const Affine sum = op == Op::kAdd ? add(x, y) : subtract(x, y);
        if (overflowed(sum)) return std::nullopt;
        return from_affine(sum);
      }
      if (is_integer_constant(b, 0)) return a;
      if (op == Op::kAdd) {
        if (is_integer_constant(a, 0)) return b;
        if (this->op(b) == Op::kNegate) return binary(Op::kSubtract, a, argument(b, 0));
        if (this->op(a) == Op::kNegate) return binary(Op::kSubtract, b, argument(a, 0));
        return reassociate();
      }
      if (a == b) return zero();
      if (is_integer_constant(a, 0)) return unary(Op::kNegate, b);
      if (this->op(b) == Op::kNegate) return binary(Op::kAdd, a, argument(b, 0));
      if (is_constant(b)) return binary(Op::kAdd, a, unary(Op::kNegate, b));
      return std::nullopt;
    }
    case Op::kMultiply: {
      if (is_index) {
        const auto size_a = as_size(pool_, a);
        const auto size_b = as_size(pool_, b);
        if (!size_a && !size_b) return std::nullopt;
        const Affine product = scale(pool_.affine(size_b ? a : b), size_b ? *size_b : *size_a);
        if (overflowed(product)) return std::nullopt;
        return from_affine(product);
      }
      if (is_constant(a)) std::swap(a, b);
      if (is_integer_constant(b, 0)) return b;
      if (is_integer_constant(b, 1)) return a;
      if (is_integer_constant(b, -1)) return unary(Op::kNegate, a);
      return reassociate();
    }
    case Op::kFloorDivide:
    case Op::kTruncDivide:
      if (is_integer_constant(b, 1)) return a;
      if (is_integer_constant(b, 0)) return zero();
      if (is_index) return simplify_division(op, a, b);
      return std::nullopt;
    case Op::kRemainder:
    case Op::kFmod:
      if (is_integer_constant(b, 1) || is_integer_constant(b, 0)) return zero();
      if (is_index) return simplify_division(op, a, b);
      return std::nullopt;
    case Op::kMinimum:
    case Op::kMaximum:
      return simplify_extreme(op, a, b);
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor: {
      if (a == b) return op == Op::kXor ? zero() : a;
      if (is_constant(a)) std::swap(a, b);
      const bool is_zero = is_integer_constant(b, 0);
      const bool is_ones = is_integer_constant(b, wrap_integer(type, -1));
      if (is_zero) return op == Op::kAnd ? b : a;
      if (is_ones) {
        return op == Op::kAnd ? a : op == Op::kOr ? b : unary(Op::kBitNot, a);
      }
      return reassociate();
    }
    case Op::kShiftLeft:
    case Op::kShiftRight:
      if (is_integer_constant(b, 0)) return a;
      return std::nullopt;
    case Op::kPow:
      if (is_integer_constant(b, 1)) return a;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace tendon::ir
