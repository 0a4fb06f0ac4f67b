// Comparisons of integers and logic of bools.
#include <algorithm>
#include <numeric>
#include <utility>

#include "ir/expr_rules.h"
#include "ir/size_polynomial.h"

namespace tendon::ir {

using Affine = ExprPool::Affine;
using AffineTerm = ExprPool::AffineTerm;

namespace {

// Longer chains of and (or) are not searched.
constexpr std::size_t kMaxJoined = 16;

bool fits(const ExprPool& pool, const Affine& a) {
  return !overflowed(a) && ExprFacts(pool).range(a).has_value();
}

/// The greatest common divisor of the terms' coefficients; 1 if they are not all numbers.
std::int64_t common_coefficient(const Affine& a) {
  std::int64_t common = 0;
  for (const AffineTerm& term : a.terms) {
    const auto number = term.coefficient.as_constant();
    if (!number || *number == std::numeric_limits<std::int64_t>::min()) return 1;
    common = std::gcd(common, *number);
  }
  return std::max<std::int64_t>(common, 1);
}

bool is_negative(const Size& coefficient) {
  return coefficient.is_constant() ? coefficient.constant() < 0 : coefficient.bounds().upper <= 0;
}

/// a comparison a < b of int64 that does not wrap, as b - a.
std::optional<Affine> difference(const ExprPool& pool, ExprId id) {
  const ExprNode& node = pool.node(id);
  if (node.op != Op::kLess) return std::nullopt;
  const auto arguments = pool.arguments(id);
  if (pool.dtype(arguments[0]) != DType::kInt64) return std::nullopt;
  const Affine a = pool.affine(arguments[0]);
  const Affine b = pool.affine(arguments[1]);
  if (!fits(pool, a) || !fits(pool, b)) return std::nullopt;
  Affine result = subtract(b, a);
  if (!fits(pool, result)) return std::nullopt;
  return result;
}

struct Part {
  ExprId id = kNoExpr;
  std::optional<Affine> above_zero;  // the same as this > 0
  bool dropped = false;
};

void flatten(const ExprPool& pool, Op op, ExprId id, std::size_t depth, std::vector<Part>& parts) {
  if (parts.size() > kMaxJoined) return;
  if (pool.node(id).op == op && pool.dtype(id) == DType::kBool && depth <= kMaxJoined) {
    for (ExprId argument : pool.arguments(id)) flatten(pool, op, argument, depth + 1, parts);
    return;
  }
  if (std::none_of(parts.begin(), parts.end(), [&](const Part& part) { return part.id == id; })) {
    parts.push_back({id, difference(pool, id), false});
  }
}

}  // namespace

ExprId ExprRules::logical_not(ExprId a) {
  if (const auto value = integer(a)) return truth(*value == 0);
  const bool whole = op(a) >= Op::kLess && op(a) <= Op::kNotEqual &&
                     !is_floating(dtype(argument(a, 0))) && !is_complex(dtype(argument(a, 0)));
  switch (op(a)) {
    case Op::kLogicalNot:
      return argument(a, 0);
    case Op::kLess:
      if (whole) return binary(Op::kLessEqual, argument(a, 1), argument(a, 0));
      break;  // NaN compares false either way
    case Op::kLessEqual:
      if (whole) return binary(Op::kLess, argument(a, 1), argument(a, 0));
      break;
    case Op::kEqual:
      return binary(Op::kNotEqual, argument(a, 0), argument(a, 1));
    case Op::kNotEqual:
      return binary(Op::kEqual, argument(a, 0), argument(a, 1));
    default:
      break;
  }
  return make(Op::kLogicalNot, DType::kBool, {a});
}

ExprId ExprRules::join(Op op, ExprId a, ExprId b) {
  const bool conjunction = op == Op::kAnd;
  if (a == b) return a;
  if (const auto value = integer(a)) return (*value != 0) == conjunction ? b : a;
  if (const auto value = integer(b)) return (*value != 0) == conjunction ? a : b;
  std::vector<Part> parts;
  flatten(pool_, op, a, 0, parts);
  flatten(pool_, op, b, 0, parts);
  if (parts.size() > kMaxJoined) return make_commutative(op, DType::kBool, a, b);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t j = 0; j < parts.size(); ++j) {
      if (i == j || parts[i].dropped || parts[j].dropped) continue;
      const ExprId x = parts[i].id;
      const ExprId y = parts[j].id;
      const bool complements =
          (this->op(x) == Op::kLogicalNot && argument(x, 0) == y) ||
          (this->op(x) == Op::kEqual && this->op(y) == Op::kNotEqual &&
           argument(x, 0) == argument(y, 0) && argument(x, 1) == argument(y, 1));
      if (complements) return truth(!conjunction);
      if (!parts[i].above_zero || !parts[j].above_zero) continue;
      const Affine gap = subtract(*parts[j].above_zero, *parts[i].above_zero);
      if (gap.terms.empty() && provably_less_equal(Size(0), gap.constant) == true) {
        // x implies y.
        parts[conjunction ? j : i].dropped = true;
        continue;
      }
      const Affine total = add(*parts[j].above_zero, *parts[i].above_zero);
      if (!total.terms.empty()) continue;
      if (conjunction && provably_less(total.constant, Size(2)) == true) return truth(false);
      if (!conjunction && provably_less(Size(0), total.constant) == true) return truth(true);
    }
  }
  std::erase_if(parts, [](const Part& part) { return part.dropped; });
  std::sort(parts.begin(), parts.end(), [](const Part& x, const Part& y) { return x.id < y.id; });
  ExprId joined = parts[0].id;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    joined = make(op, DType::kBool, {joined, parts[i].id});
  }
  return joined;
}

std::optional<ExprId> ExprRules::simplify_bool(Op op, ExprId a, ExprId b) {
  switch (op) {
    case Op::kAnd:
    case Op::kMultiply:
    case Op::kMinimum:
      return join(Op::kAnd, a, b);
    case Op::kOr:
    case Op::kAdd:
    case Op::kMaximum:
      return join(Op::kOr, a, b);
    case Op::kXor:
    case Op::kSubtract:
    case Op::kNotEqual:
      if (a == b) return truth(false);
      if (const auto value = integer(a)) return *value != 0 ? logical_not(b) : b;
      if (const auto value = integer(b)) return *value != 0 ? logical_not(a) : a;
      return make_commutative(Op::kXor, DType::kBool, a, b);
    case Op::kEqual:
      if (a == b) return truth(true);
      if (const auto value = integer(a)) return *value != 0 ? b : logical_not(b);
      if (const auto value = integer(b)) return *value != 0 ? a : logical_not(a);
      return make_commutative(Op::kEqual, DType::kBool, a, b);
    case Op::kLess:
      return join(Op::kAnd, logical_not(a), b);
    case Op::kLessEqual:
      return join(Op::kOr, logical_not(a), b);
    default:
      return std::nullopt;
  }
}

std::optional<ExprId> ExprRules::simplify_comparison(Op op, ExprId a, ExprId b) {
  const DType type = dtype(a);
  if (is_floating(type) || is_complex(type)) {
    if (op == Op::kLess && a == b) return truth(false);
    return std::nullopt;
  }
  if (a == b) return truth(op == Op::kLessEqual || op == Op::kEqual);
  const auto x = ExprFacts(pool_).range(a);
  const auto y = ExprFacts(pool_).range(b);
  const bool below = x.upper < y.lower && x.upper < ExprFacts::kInfinite;
  const bool above = y.upper < x.lower && y.upper < ExprFacts::kInfinite;
  switch (op) {
    case Op::kLess:
      if (below) return truth(true);
      if (y.upper <= x.lower && y.upper < ExprFacts::kInfinite) return truth(false);
      break;
    case Op::kLessEqual:
      if (x.upper <= y.lower && x.upper < ExprFacts::kInfinite) return truth(true);
      if (above) return truth(false);
      break;
    default:
      if (below || above) return truth(op == Op::kNotEqual);
      break;
  }
  if (op == Op::kEqual || op == Op::kNotEqual) {
    // A bool that was made a number.
    if (is_constant(a)) std::swap(a, b);
    if (this->op(a) == Op::kCast && dtype(argument(a, 0)) == DType::kBool) {
      if (const auto value = integer(b); value && (*value == 0 || *value == 1)) {
        const bool same = (*value == 1) == (op == Op::kEqual);
        return same ? argument(a, 0) : logical_not(argument(a, 0));
      }
    }
  }
  if (type == DType::kInt64) return compare_affine(op, a, b);
  return std::nullopt;
}

// Brings a < b and a <= b to one form, terms with positive coefficients on both sides of a strict
// comparison without a common factor, and decides it if it can.
std::optional<ExprId> ExprRules::compare_affine(Op op, ExprId a, ExprId b) {
  const Affine x = pool_.affine(a);
  const Affine y = pool_.affine(b);
  const bool equality = op == Op::kEqual || op == Op::kNotEqual;
  Affine gap = subtract(y, x);
  if (overflowed(gap)) return std::nullopt;
  if (equality && gap.terms.empty() && gap.constant.is_constant()) {  // holds even where sums wrap
    return truth((gap.constant == Size(0)) == (op == Op::kEqual));
  }
  if (!fits(pool_, x) || !fits(pool_, y) || !fits(pool_, gap)) return std::nullopt;
  const auto at_least = [&](std::int64_t n) { return ExprFacts(pool_).is_at_least(gap, Size(n)); };
  const auto less = [&](std::int64_t n) { return ExprFacts(pool_).is_less(gap, Size(n)); };
  if (equality) {
    if (at_least(1) || less(0)) return truth(op == Op::kNotEqual);
    if (at_least(0) && less(1)) return truth(op == Op::kEqual);
  } else {
    if (op == Op::kLessEqual) gap.constant = gap.constant + Size(1);
    if (at_least(1)) return truth(true);
    if (less(1)) return truth(false);
  }
  // gap > 0 (or == 0), in lowest terms.
  if (const std::int64_t common = common_coefficient(gap); common > 1) {
    for (AffineTerm& term : gap.terms) term.coefficient = *divide_exactly(term.coefficient, common);
    if (gap.constant.is_constant()) {
      const std::int64_t constant = gap.constant.constant();
      if (equality && constant % common != 0) return truth(op == Op::kNotEqual);
      gap.constant = -floor_quotient(-constant, common);  // rounds up
    } else if (const auto constant = divide_exactly(gap.constant, Size(common))) {
      gap.constant = *constant;
    } else {
      return std::nullopt;
    }
  }
  Affine left, right;
  for (AffineTerm& term : gap.terms) {
    if (is_negative(term.coefficient)) {
      left.terms.push_back({term.term, Size(0) - term.coefficient});
    } else {
      right.terms.push_back(term);
    }
  }
  // The constant goes where it is positive, or alone on a side.
  const bool to_left = right.terms.empty()  ? false
                       : left.terms.empty() ? true
                                            : is_negative(gap.constant);
  if (to_left) {
    left.constant = Size(0) - gap.constant;
  } else {
    right.constant = gap.constant;
  }
  if (!fits(pool_, left) || !fits(pool_, right)) return std::nullopt;
  const ExprId left_id = from_affine(left);
  const ExprId right_id = from_affine(right);
  if (equality) return make_commutative(op, DType::kBool, left_id, right_id);
  return make(Op::kLess, DType::kBool, {left_id, right_id});
}

}  // namespace tendon::ir
