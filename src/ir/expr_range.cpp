// Ranges of integer expressions, as numbers and as Sizes.
#include <algorithm>
#include <limits>

#include "ir/expr_rules.h"

namespace tendon::ir {

using Wide = ExprFacts::Wide;
using Range = ExprFacts::Range;

namespace {

constexpr Wide kInfinite = ExprFacts::kInfinite;
// Where one end of a range is infinite (a position along an unbounded axis), the numbers it meets
// are taken to keep the result inside int64 if they are no larger than this.
constexpr Wide kSumLimit = static_cast<Wide>(1) << 60;
constexpr Wide kProductLimit = static_cast<Wide>(1) << 40;
constexpr Wide kTooLarge = static_cast<Wide>(1) << 100;

Wide multiply(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  if (a >= kInfinite || a <= -kInfinite || b >= kInfinite || b <= -kInfinite) {
    return (a < 0) == (b < 0) ? kInfinite : -kInfinite;
  }
  Wide product = 0;
  // No type holds such a number; not infinity, which means a size without a bound.
  if (__builtin_mul_overflow(a, b, &product)) return (a < 0) == (b < 0) ? kTooLarge : -kTooLarge;
  return std::clamp(product, -kTooLarge, kTooLarge);
}

Wide floor_quotient(Wide a, Wide b) {  // b > 0
  if (a >= kInfinite || a <= -kInfinite) return a;
  const Wide quotient = a / b;
  return quotient - (a % b != 0 && a < 0 ? 1 : 0);
}

bool within(const Range& a, Wide limit) {
  const auto small = [&](Wide end) {
    return end >= kInfinite || end <= -kInfinite || (end <= limit && end >= -limit);
  };
  return small(a.lower) && small(a.upper);
}

Range from_bounds(const Bounds& bounds) {
  return {bounds.lower == -kUnbounded ? -kInfinite : static_cast<Wide>(bounds.lower),
          bounds.upper == kUnbounded ? kInfinite : static_cast<Wide>(bounds.upper)};
}

// Among numbers that fill int64, the end of an unbounded size is one of them: sums of the result
// may wrap.
Wide larger(Wide a, Wide b) {
  const auto [low, high] = std::minmax(a, b);
  if (high >= kInfinite && low < kInfinite && low > kSumLimit) {
    return ExprFacts::type_range(DType::kInt64).upper;
  }
  return high;
}
Wide smaller(Wide a, Wide b) {
  const auto [low, high] = std::minmax(a, b);
  if (low <= -kInfinite && high > -kInfinite && high < -kSumLimit) {
    return ExprFacts::type_range(DType::kInt64).lower;
  }
  return low;
}

Range hull(const Range& a, const Range& b) {
  return {smaller(a.lower, b.lower), larger(a.upper, b.upper)};
}

Range sum(const Range& a, const Range& b) {
  return {a.lower <= -kInfinite || b.lower <= -kInfinite ? -kInfinite : a.lower + b.lower,
          a.upper >= kInfinite || b.upper >= kInfinite ? kInfinite : a.upper + b.upper};
}

Range product(const Range& a, const Range& b) {
  const auto [lower, upper] = std::minmax({multiply(a.lower, b.lower), multiply(a.lower, b.upper),
                                           multiply(a.upper, b.lower), multiply(a.upper, b.upper)});
  return {lower, upper};
}

// Only int64 holds what has no bound.
bool inside(const Range& a, DType dtype) {
  const Range type = ExprFacts::type_range(dtype);
  const bool open = dtype == DType::kInt64;
  return ((open && a.lower <= -kInfinite) || a.lower >= type.lower) &&
         ((open && a.upper >= kInfinite) || a.upper <= type.upper);
}

std::optional<Size> as_bound(Wide value) {
  constexpr Wide kLimit = static_cast<Wide>(1) << 62;
  if (value > kLimit || value < -kLimit) return std::nullopt;
  return Size(static_cast<std::int64_t>(value));
}

}  // namespace

Range ExprFacts::type_range(DType dtype) {
  if (dtype == DType::kBool) return {0, 1};
  const int bits = static_cast<int>(8 * dtype_size(dtype));
  const Wide count = static_cast<Wide>(1) << bits;
  if (is_unsigned(dtype)) return {0, count - 1};
  return {-count / 2, count / 2 - 1};
}

Range ExprFacts::range(ExprId id) {
  const DType dtype = pool_.dtype(id);
  if (--budget_ < 0) return type_range(dtype);
  const Range result = compute(id);
  return inside(result, dtype) ? result : type_range(dtype);
}

std::optional<Range> ExprFacts::combine(Op op, const Range& a, const Range& b) {
  const bool finite = a.is_finite() && b.is_finite();
  switch (op) {
    case Op::kAdd:
      if (!finite && !(within(a, kSumLimit) && within(b, kSumLimit))) return std::nullopt;
      return sum(a, b);
    case Op::kSubtract:
      if (!finite && !(within(a, kSumLimit) && within(b, kSumLimit))) return std::nullopt;
      return sum(a, {-b.upper, -b.lower});
    case Op::kMultiply:
      if (!finite && !(within(a, kProductLimit) && within(b, kProductLimit))) return std::nullopt;
      return product(a, b);
    case Op::kMinimum:
      return Range{smaller(a.lower, b.lower), std::min(a.upper, b.upper)};
    case Op::kMaximum:
      return Range{std::max(a.lower, b.lower), larger(a.upper, b.upper)};
    case Op::kTruncDivide:
      if (a.lower < 0) return std::nullopt;
      [[fallthrough]];
    case Op::kFloorDivide: {
      // By zero gives 0, which lies between the quotients by other numbers or is added.
      if (b.lower < 0) return std::nullopt;
      const Wide least = std::max<Wide>(b.lower, 1);
      const Wide most = std::max<Wide>(b.upper, 1);
      const bool unbounded = b.upper >= kInfinite;
      Range result{floor_quotient(a.lower, a.lower < 0 || unbounded ? least : most),
                   floor_quotient(a.upper, a.upper < 0 && !unbounded ? most : least)};
      if (a.lower >= 0 && unbounded) result.lower = 0;
      if (a.upper < 0 && unbounded) result.upper = -1;
      if (b.lower == 0) result = hull(result, {0, 0});
      return result;
    }
    case Op::kRemainder:
      if (b.lower >= 0) {
        if (a.lower >= 0 && a.upper < b.lower) return a;
        Wide upper = b.upper >= kInfinite ? kInfinite : std::max<Wide>(b.upper - 1, 0);
        if (a.lower >= 0) upper = std::min(upper, a.upper);
        return Range{0, upper};
      }
      if (b.upper <= 0) return Range{b.lower <= -kInfinite ? -kInfinite : b.lower + 1, 0};
      return std::nullopt;
    case Op::kFmod: {
      const Wide largest = std::max(b.upper >= kInfinite ? kInfinite : b.upper, -b.lower);
      return Range{a.lower >= 0 ? 0 : std::max(a.lower, -largest),
                   a.upper <= 0 ? 0 : std::min(a.upper, largest)};
    }
    case Op::kAnd:
      if (a.lower < 0 && b.lower < 0) return std::nullopt;
      if (a.lower < 0) return Range{0, b.upper};
      if (b.lower < 0) return Range{0, a.upper};
      return Range{0, std::min(a.upper, b.upper)};
    case Op::kShiftRight:
      if (a.lower < 0 || b.lower < 0) return std::nullopt;
      return Range{0, a.upper};
    default:
      return std::nullopt;
  }
}

Range ExprFacts::compute(ExprId id) {
  const ExprNode& node = pool_.node(id);
  const Range type = type_range(node.dtype);
  const auto arguments = pool_.arguments(id);
  switch (node.op) {
    case Op::kConstant: {
      const Wide value = node.dtype == DType::kUInt64
                             ? static_cast<Wide>(static_cast<std::uint64_t>(node.payload))
                             : static_cast<Wide>(node.payload);
      return {value, value};
    }
    case Op::kIndex: {
      const auto extents = pool_.extents();
      const auto axis = static_cast<std::size_t>(node.payload);
      if (axis >= extents.size()) return {0, kInfinite};
      const Wide extent = from_bounds(extents[axis].bounds()).upper;
      return {0, extent >= kInfinite ? kInfinite : std::max<Wide>(extent - 1, 0)};
    }
    case Op::kSize:
      return from_bounds(pool_.size_of(id).bounds());
    case Op::kCheckIndex: {
      const Wide size = from_bounds(pool_.check_of(id).size.bounds()).upper;
      return {0, size >= kInfinite ? kInfinite : std::max<Wide>(size - 1, 0)};
    }
    case Op::kPhilox:
      return {0, (static_cast<Wide>(1) << 32) - 1};
    case Op::kCast: {
      const DType from = pool_.dtype(arguments[0]);
      if (is_floating(from) || is_complex(from)) return type;
      return range(arguments[0]);  // the caller checks that it fits
    }
    case Op::kNegate: {
      const Range a = range(arguments[0]);
      return {-a.upper, -a.lower};
    }
    case Op::kAbs: {
      const Range a = range(arguments[0]);
      if (a.lower >= 0) return a;
      return {a.upper < 0 ? -a.upper : 0, std::max(-a.lower, a.upper)};
    }
    case Op::kSign: {
      const Range a = range(arguments[0]);
      return {a.lower > 0 ? 1 : a.lower < 0 ? -1 : 0, a.upper < 0 ? -1 : a.upper > 0 ? 1 : 0};
    }
    case Op::kSelect:
      return hull(range(arguments[1]), range(arguments[2]));
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kMinimum:
    case Op::kMaximum:
    case Op::kFloorDivide:
    case Op::kTruncDivide:
    case Op::kRemainder:
    case Op::kFmod:
    case Op::kAnd:
    case Op::kShiftRight: {
      const Range a = range(arguments[0]);
      const Range b = range(arguments[1]);
      return combine(node.op, a, b).value_or(type);
    }
    default:
      return type;
  }
}

std::optional<Range> ExprFacts::range(const Affine& affine) {
  Range total = from_bounds(affine.constant.bounds());
  for (const auto& term : affine.terms) {
    const auto part =
        combine(Op::kMultiply, from_bounds(term.coefficient.bounds()), range(term.term));
    if (!part) return std::nullopt;
    const auto next = combine(Op::kAdd, total, *part);
    if (!next) return std::nullopt;
    total = *next;
  }
  if (!inside(total, DType::kInt64)) return std::nullopt;
  return total;
}

ExprFacts::SizeRange ExprFacts::size_range(ExprId id) {
  const auto numeric = [&]() -> SizeRange {
    const Range numbers = range(id);
    return {as_bound(numbers.lower), as_bound(numbers.upper)};
  };
  if (--budget_ < 0) return numeric();
  const ExprNode& node = pool_.node(id);
  if (node.dtype != DType::kInt64) return numeric();
  const auto arguments = pool_.arguments(id);
  switch (node.op) {
    case Op::kConstant:
    case Op::kSize: {
      const auto size = as_size(pool_, id);
      return {size, size};
    }
    case Op::kIndex: {
      const auto extents = pool_.extents();
      const auto axis = static_cast<std::size_t>(node.payload);
      if (axis >= extents.size()) return {Size(0), std::nullopt};
      return {Size(0), extents[axis] - Size(1)};
    }
    case Op::kCheckIndex:
      return {Size(0), pool_.check_of(id).size - Size(1)};
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kNegate: {
      const Affine sum = pool_.affine(id);
      if (sum.terms.size() == 1 && sum.terms[0].term == id) return numeric();
      if (!range(sum)) return numeric();
      return size_range(sum);
    }
    case Op::kRemainder: {
      const auto divisor = as_size(pool_, arguments[1]);
      if (!divisor || divisor->bounds().lower < 0) return numeric();
      return {Size(0), *divisor - Size(1)};
    }
    case Op::kFloorDivide: {
      const auto divisor = as_size(pool_, arguments[1]);
      if (!divisor || divisor->bounds().lower < 1) return numeric();
      SizeRange result = size_range(arguments[0]);
      if (result.lower) result.lower = floor_div(*result.lower, *divisor);
      if (result.upper) result.upper = floor_div(*result.upper, *divisor);
      return result;
    }
    case Op::kMinimum:
    case Op::kMaximum: {
      const SizeRange a = size_range(arguments[0]);
      const SizeRange b = size_range(arguments[1]);
      SizeRange result;
      const bool minimum = node.op == Op::kMinimum;
      if (a.lower && b.lower) {
        result.lower = minimum ? min(*a.lower, *b.lower) : max(*a.lower, *b.lower);
      } else if (!minimum) {
        result.lower = a.lower ? a.lower : b.lower;
      }
      if (a.upper && b.upper) {
        result.upper = minimum ? min(*a.upper, *b.upper) : max(*a.upper, *b.upper);
      } else if (minimum) {
        result.upper = a.upper ? a.upper : b.upper;
      }
      return result;
    }
    case Op::kSelect: {
      const SizeRange a = size_range(arguments[1]);
      const SizeRange b = size_range(arguments[2]);
      SizeRange result;
      if (a.lower && b.lower) result.lower = min(*a.lower, *b.lower);
      if (a.upper && b.upper) result.upper = max(*a.upper, *b.upper);
      return result;
    }
    default:
      return numeric();
  }
}

ExprFacts::SizeRange ExprFacts::size_range(const Affine& affine) {
  SizeRange total{affine.constant, affine.constant};
  for (const auto& term : affine.terms) {
    const Bounds sign = term.coefficient.bounds();
    if (sign.lower < 0 && sign.upper > 0) return {};
    SizeRange part = size_range(term.term);
    if (sign.lower < 0) std::swap(part.lower, part.upper);
    const auto add_to = [&](std::optional<Size>& sum, const std::optional<Size>& bound) {
      if (sum && bound) {
        sum = *sum + term.coefficient * *bound;
      } else {
        sum.reset();
      }
    };
    add_to(total.lower, part.lower);
    add_to(total.upper, part.upper);
  }
  return total;
}

bool ExprFacts::is_at_least(const Affine& a, const Size& bound) {
  if (const auto numbers = range(a)) {
    const Range limit = from_bounds(bound.bounds());
    if (numbers->lower > -kInfinite && limit.upper < kInfinite && numbers->lower >= limit.upper) {
      return true;
    }
  } else {
    return false;
  }
  const auto lower = size_range(a).lower;
  return lower && provably_less_equal(bound, *lower) == true;
}

bool ExprFacts::is_less(const Affine& a, const Size& bound) {
  if (const auto numbers = range(a)) {
    const Range limit = from_bounds(bound.bounds());
    if (numbers->upper < kInfinite && limit.lower > -kInfinite && numbers->upper < limit.lower) {
      return true;
    }
  } else {
    return false;
  }
  const auto upper = size_range(a).upper;
  return upper && provably_less(*upper, bound) == true;
}

}  // namespace tendon::ir
