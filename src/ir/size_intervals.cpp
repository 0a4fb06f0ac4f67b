// Arithmetic of intervals: the bounds of functions, and what bounds prove.
#include <algorithm>
#include <array>
#include <utility>

#include "ir/size.h"
#include "ir/size_polynomial.h"

namespace tendon::ir {

namespace {

std::int64_t saturate(__int128 value) {
  if (value >= kUnbounded) return kUnbounded;
  if (value <= -kUnbounded) return -kUnbounded;
  return static_cast<std::int64_t>(value);
}

/// A bound as a number that survives multiplication: infinities stay far outside int64.
__int128 widened(std::int64_t bound) {
  constexpr __int128 kInfinity = static_cast<__int128>(1) << 63;
  if (bound == kUnbounded) return kInfinity;
  if (bound <= -kUnbounded) return -kInfinity;
  return bound;
}

constexpr Bounds kBoolean{0, 1};

}  // namespace

Bounds add_bounds(const Bounds& a, const Bounds& b) {
  const bool no_lower = a.lower == -kUnbounded || b.lower == -kUnbounded;
  const bool no_upper = a.upper == kUnbounded || b.upper == kUnbounded;
  return {no_lower ? -kUnbounded : saturate(static_cast<__int128>(a.lower) + b.lower),
          no_upper ? kUnbounded : saturate(static_cast<__int128>(a.upper) + b.upper)};
}

Bounds multiply_bounds(const Bounds& a, const Bounds& b) {
  const auto corner = [](std::int64_t x, std::int64_t y) { return widened(x) * widened(y); };
  const auto [least, most] = std::minmax({corner(a.lower, b.lower), corner(a.lower, b.upper),
                                          corner(a.upper, b.lower), corner(a.upper, b.upper)});
  return {saturate(least), saturate(most)};
}

Bounds scale_bounds(const Bounds& a, std::int64_t factor) {
  return multiply_bounds(a, {factor, factor});
}

namespace {

/// Of floor or truncating division by a divisor that may be anything but zero.
template <typename Divide>
Bounds quotient_bounds(Bounds a, Bounds b, const Divide& divide) {
  if (b.lower == 0) b.lower = 1;
  if (b.upper == 0) b.upper = -1;
  if (b.lower > b.upper) return kNoBounds;
  if (b.lower < 0 && b.upper > 0) {
    // The divisors of least magnitude, 1 and -1, give the extremes.
    const auto reach_of = [](std::int64_t x) {
      return saturate(x < 0 ? -static_cast<__int128>(x) : static_cast<__int128>(x));
    };
    const std::int64_t reach = std::max(reach_of(a.lower), reach_of(a.upper));
    return {-reach, reach};
  }
  const auto corner = [&](std::int64_t x, std::int64_t y) -> std::int64_t {
    const bool unbounded_x = x == kUnbounded || x <= -kUnbounded;
    if (unbounded_x) return (x > 0) == (y > 0) ? kUnbounded : -kUnbounded;
    // An unbounded divisor leaves 0, or the -1 that flooring makes of a small negative quotient.
    return divide(x, y);
  };
  const auto [least, most] = std::minmax({corner(a.lower, b.lower), corner(a.lower, b.upper),
                                          corner(a.upper, b.lower), corner(a.upper, b.upper)});
  return {least, most};
}

}  // namespace

Bounds function_bounds(SizeFunction function, std::span<const Size> arguments) {
  std::array<Bounds, 3> of{kNoBounds, kNoBounds, kNoBounds};
  for (std::size_t i = 0; i < std::min<std::size_t>(arguments.size(), 3); ++i) {
    of[i] = arguments[i].bounds();
  }
  switch (function) {
    case SizeFunction::kFloorDiv:
      return quotient_bounds(of[0], of[1], floor_quotient);
    case SizeFunction::kTruncDiv:
      return quotient_bounds(of[0], of[1], [](std::int64_t x, std::int64_t y) { return x / y; });
    case SizeFunction::kMod: {
      Bounds result{0, 0};
      if (of[1].upper > 0) result.upper = of[1].upper == kUnbounded ? kUnbounded : of[1].upper - 1;
      if (of[1].lower < 0)
        result.lower = of[1].lower <= -kUnbounded ? -kUnbounded : of[1].lower + 1;
      // The remainder of a number that is not negative by a positive divisor is no larger than it.
      if (of[0].lower >= 0 && of[1].lower >= 0) result.upper = std::min(result.upper, of[0].upper);
      return result;
    }
    case SizeFunction::kMax:
    case SizeFunction::kMin: {
      Bounds result = of[0];
      for (const Size& argument : arguments.subspan(std::min<std::size_t>(1, arguments.size()))) {
        const Bounds other = argument.bounds();
        const bool max = function == SizeFunction::kMax;
        result.lower =
            max ? std::max(result.lower, other.lower) : std::min(result.lower, other.lower);
        result.upper =
            max ? std::max(result.upper, other.upper) : std::min(result.upper, other.upper);
      }
      return result;
    }
    case SizeFunction::kPow: {
      if (arguments.size() != 2) return kNoBounds;
      if (arguments[1] == Size(1)) return of[0];
      if (of[0].lower < 0) return kNoBounds;
      if (of[0].lower == 0) return {0, kUnbounded};
      return {1, kUnbounded};
    }
    case SizeFunction::kSelect:
      return {std::min(of[1].lower, of[2].lower), std::max(of[1].upper, of[2].upper)};
    default:
      return kBoolean;
  }
}

std::optional<bool> provably_less_equal(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) return a.constant() <= b.constant();
  if (SizePolynomial::is_overflow(a) || SizePolynomial::is_overflow(b)) return std::nullopt;
  if (a == b) return true;
  const Bounds left = a.bounds();
  const Bounds right = b.bounds();
  if (left.upper <= right.lower && right.lower != -kUnbounded) return true;
  if (left.lower > right.upper) return false;
  const Bounds difference = (b - a).bounds();
  if (difference.lower >= 0) return true;
  if (difference.upper < 0) return false;
  return std::nullopt;
}

std::optional<bool> provably_less(const Size& a, const Size& b) {
  const auto reverse = provably_less_equal(b, a);
  return reverse ? std::optional(!*reverse) : std::nullopt;
}

std::optional<bool> provably_equal(const Size& a, const Size& b) {
  const Size same = equal(a, b);
  return same.is_constant() ? std::optional(same.constant() != 0) : std::nullopt;
}

}  // namespace tendon::ir
