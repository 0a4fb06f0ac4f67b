#include "archive/symbolic_number.h"

#include <bit>
#include <cmath>

namespace tendon::archive {

namespace {

using ir::Size;
using ir::SizeFunction;

Status needs_floats() {
  return Status(StatusCode::kUnimplemented, "its value depends on floating-point rounding");
}

/// A positive constant that is a power of two.
bool is_power_of_two(const Size& size) {
  const auto value = size.as_constant();
  return value && *value > 0 && std::has_single_bit(static_cast<std::uint64_t>(*value));
}

Size trunc_div(const Size& a, const Size& b) {
  return Size::function(SizeFunction::kTruncDiv, {a, b});
}

}  // namespace

SymbolicNumber SymbolicNumber::opaque() { return {Kind::kOpaque, 0, 1}; }

SymbolicNumber SymbolicNumber::real(double value) {
  // Few bits: then products with sizes are exact in floating point too.
  constexpr double kScale = 1 << 20;
  constexpr double kLimit = 1 << 20;
  const double scaled = value * kScale;
  if (!(std::abs(value) <= kLimit) || scaled != std::floor(scaled)) return opaque();
  auto numerator = static_cast<std::int64_t>(scaled);
  auto denominator = static_cast<std::int64_t>(kScale);
  while (denominator > 1 && numerator % 2 == 0) {
    numerator /= 2;
    denominator /= 2;
  }
  if (std::abs(numerator) > static_cast<std::int64_t>(kLimit)) return opaque();
  return {Kind::kFraction, numerator, denominator};
}

Result<Size> SymbolicNumber::as_size() const {
  if (kind_ == Kind::kInteger) return numerator_;
  if (kind_ == Kind::kFraction) {
    if (const auto exact = ir::divide_exactly(numerator_, denominator_)) return *exact;
    if (!denominator_.is_constant() || !numerator_.is_constant())
      return ir::floor_div(numerator_, denominator_);
  }
  return needs_floats();
}

SymbolicNumber operator+(const SymbolicNumber& a, const SymbolicNumber& b) {
  if (SymbolicNumber::integers(a, b)) return a.numerator_ + b.numerator_;
  if (!a.is_exact() || !b.is_exact()) return SymbolicNumber::opaque();
  if (a.denominator_ == b.denominator_) {
    return {SymbolicNumber::Kind::kFraction, a.numerator_ + b.numerator_, a.denominator_};
  }
  return {SymbolicNumber::Kind::kFraction,
          a.numerator_ * b.denominator_ + b.numerator_ * a.denominator_,
          a.denominator_ * b.denominator_};
}

SymbolicNumber operator-(const SymbolicNumber& a, const SymbolicNumber& b) {
  return a + b * SymbolicNumber(Size(-1));
}

SymbolicNumber operator*(const SymbolicNumber& a, const SymbolicNumber& b) {
  using Kind = SymbolicNumber::Kind;
  if (SymbolicNumber::integers(a, b)) return a.numerator_ * b.numerator_;
  if (a.is_opaque() || b.is_opaque()) return SymbolicNumber::opaque();
  if (a.is_exact() && b.is_exact()) {
    return {Kind::kFraction, a.numerator_ * b.numerator_, a.denominator_ * b.denominator_};
  }
  // Scaling by a power of two, or negating, commutes with rounding.
  const SymbolicNumber& rounded = a.is_exact() ? b : a;
  const SymbolicNumber& factor = a.is_exact() ? a : b;
  const bool harmless =
      factor.is_exact() && is_power_of_two(factor.denominator_) &&
      (is_power_of_two(factor.numerator_) || is_power_of_two(Size(0) - factor.numerator_));
  if (!harmless) return SymbolicNumber::opaque();
  return {Kind::kRounded, rounded.numerator_ * factor.numerator_,
          rounded.denominator_ * factor.denominator_};
}

SymbolicNumber SymbolicNumber::quotient(const SymbolicNumber& a, const SymbolicNumber& b,
                                        bool exact) {
  if (!a.is_exact() || !b.is_exact()) return opaque();
  Size numerator = a.numerator_ * b.denominator_;
  Size denominator = b.numerator_ * a.denominator_;
  if (denominator.bounds().upper < 0) {
    numerator = Size(0) - numerator;
    denominator = Size(0) - denominator;
  }
  if (denominator.bounds().lower < 1) return opaque();
  return {exact ? Kind::kFraction : Kind::kRounded, std::move(numerator), std::move(denominator)};
}

SymbolicNumber divide(const SymbolicNumber& a, const SymbolicNumber& b) {
  return SymbolicNumber::quotient(a, b, true);
}

SymbolicNumber true_divide(const SymbolicNumber& a, const SymbolicNumber& b) {
  const bool exact = b.is_exact() && is_power_of_two(b.numerator_);
  return SymbolicNumber::quotient(a, b, exact && is_power_of_two(a.denominator_));
}

SymbolicNumber power(const SymbolicNumber& base, const SymbolicNumber& exponent) {
  if (!exponent.is_integer() || !base.is_exact()) return SymbolicNumber::opaque();
  const auto number = exponent.numerator_.as_constant();
  if (number && *number < 0) {
    if (*number < -64) return SymbolicNumber::opaque();
    return divide(SymbolicNumber(Size(1)), power(base, SymbolicNumber(Size(-*number))));
  }
  const auto raised = [&](const Size& size) {
    return Size::function(SizeFunction::kPow, {size, exponent.numerator_});
  };
  if (base.is_integer()) {
    if (!number && exponent.numerator_.bounds().lower < 0) return SymbolicNumber::opaque();
    return raised(base.numerator_);
  }
  if (!number) return SymbolicNumber::opaque();
  return {SymbolicNumber::Kind::kFraction, raised(base.numerator_), raised(base.denominator_)};
}

SymbolicNumber maximum(const SymbolicNumber& a, const SymbolicNumber& b) {
  if (SymbolicNumber::integers(a, b)) return ir::max(a.numerator_, b.numerator_);
  if (!a.is_exact() || !b.is_exact()) return SymbolicNumber::opaque();
  return {SymbolicNumber::Kind::kFraction,
          ir::max(a.numerator_ * b.denominator_, b.numerator_ * a.denominator_),
          a.denominator_ * b.denominator_};
}

SymbolicNumber minimum(const SymbolicNumber& a, const SymbolicNumber& b) {
  const SymbolicNumber minus(Size(-1));
  if (SymbolicNumber::integers(a, b)) return ir::min(a.numerator_, b.numerator_);
  return minus * maximum(minus * a, minus * b);
}

SymbolicNumber select(const Size& condition, const SymbolicNumber& a, const SymbolicNumber& b) {
  const auto choose = [&](Size x, Size y) {
    return Size::function(SizeFunction::kSelect, {condition, std::move(x), std::move(y)});
  };
  if (SymbolicNumber::integers(a, b)) return choose(a.numerator_, b.numerator_);
  if (!a.is_exact() || !b.is_exact()) return SymbolicNumber::opaque();
  return {SymbolicNumber::Kind::kFraction,
          choose(a.numerator_ * b.denominator_, b.numerator_ * a.denominator_),
          a.denominator_ * b.denominator_};
}

Result<Size> SymbolicNumber::rounded(Rounding rounding) const {
  // A quotient of integers below 2^52 never rounds onto, or over, an integer or a half that it does
  // not equal: the rounded quotient has the exact one's floor.
  if (kind_ == Kind::kInteger) return numerator_;
  if (kind_ == Kind::kOpaque) return needs_floats();
  switch (rounding) {
    case Rounding::kFloor:
      return ir::floor_div(numerator_, denominator_);
    case Rounding::kCeil:
      return ir::ceil_div(numerator_, denominator_);
    case Rounding::kTruncate:
      return trunc_div(numerator_, denominator_);
    case Rounding::kHalfToEven:
      break;
  }
  const Size two = 2;
  const Size shifted = two * numerator_ + denominator_;
  const Size up = ir::floor_div(shifted, two * denominator_);
  const Size tie = ir::equal(ir::mod(shifted, two * denominator_), 0);
  return up - tie * ir::mod(up, 2);
}

Result<Size> SymbolicNumber::compare(const SymbolicNumber& a, Relation relation,
                                     const SymbolicNumber& b) {
  if (a.is_opaque() || b.is_opaque()) return needs_floats();
  // A rounded quotient compares with an integer like the exact one; with fractions it might not.
  if (a.kind_ == Kind::kRounded && !b.is_integer()) return needs_floats();
  if (b.kind_ == Kind::kRounded && !a.is_integer()) return needs_floats();
  const bool plain = integers(a, b);
  const Size left = plain ? a.numerator_ : a.numerator_ * b.denominator_;
  const Size right = plain ? b.numerator_ : b.numerator_ * a.denominator_;
  switch (relation) {
    case Relation::kEqual:
      return ir::equal(left, right);
    case Relation::kNotEqual:
      return ir::logical_not(ir::equal(left, right));
    case Relation::kLess:
      return ir::less(left, right);
    case Relation::kLessEqual:
      return ir::less_equal(left, right);
    case Relation::kGreater:
      return ir::less(right, left);
    case Relation::kGreaterEqual:
      return ir::less_equal(right, left);
  }
  return needs_floats();
}

}  // namespace tendon::archive
