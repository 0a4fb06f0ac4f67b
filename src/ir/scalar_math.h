// What each operation of an expression means for one element, as PyTorch's CPU computes it.
//
// Types are those of elements in arithmetic: float, double, the fixed-width integers and bool; and
// Float16, BFloat16 in casts. Integers wrap; nothing here is undefined for any argument.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>

#include "base/half.h"
#include "ir/op.h"
#include "ir/special_functions.h"

namespace tendon::ir {

template <typename T>
concept HalfType = std::same_as<T, Float16> || std::same_as<T, BFloat16>;
template <typename T>
concept WholeType = std::integral<T> && !std::same_as<T, bool>;

/// The wrapping counterpart: unsigned, and not promoted to int in products.
template <WholeType T>
using Wrapping = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

// --- casts ---------------------------------------------------------------------------------------

namespace scalar_detail {

/// Truncation as x86's cvttsd2si does it: the least integer where the value does not fit, or is
/// not a number.
template <typename Integer, typename Float>
Integer truncate(Float x) {
  constexpr Float kLimit = sizeof(Integer) == 8 ? Float(0x1p63) : Float(0x1p31);
  const Float whole = std::trunc(x);
  if (!(whole >= -kLimit && whole < kLimit)) return std::numeric_limits<Integer>::min();
  return static_cast<Integer>(whole);
}

template <WholeType To, std::floating_point From>
To float_to_integer(From x) {
  if constexpr (std::same_as<To, std::uint64_t>) {
    if (x >= From(0x1p63)) {
      return static_cast<std::uint64_t>(truncate<std::int64_t>(x - From(0x1p63))) ^
             (std::uint64_t{1} << 63);
    }
    return static_cast<std::uint64_t>(truncate<std::int64_t>(x));
  } else if constexpr (sizeof(To) == 8 || std::same_as<To, std::uint32_t> ||
                       std::same_as<To, std::uint8_t>) {
    // uint8 goes through int64 in PyTorch, so that negative numbers wrap the same everywhere.
    return static_cast<To>(truncate<std::int64_t>(x));
  } else {
    return static_cast<To>(truncate<std::int32_t>(x));
  }
}

}  // namespace scalar_detail

/// tensor.to(dtype), for one element.
template <typename To, typename From>
To scalar_cast(From x) {
  if constexpr (std::same_as<To, From>) {
    return x;
  } else if constexpr (HalfType<From>) {
    return scalar_cast<To>(static_cast<float>(x));
  } else if constexpr (HalfType<To>) {
    return To(scalar_cast<float>(x));
  } else if constexpr (std::same_as<To, bool>) {
    return x != From(0);
  } else if constexpr (std::floating_point<From> && WholeType<To>) {
    return scalar_detail::float_to_integer<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

// --- one argument --------------------------------------------------------------------------------

namespace scalar_detail {

template <Op op, std::floating_point T>
T float_unary(T x) {
  if constexpr (op == Op::kNegate) return -x;
  if constexpr (op == Op::kAbs) return std::fabs(x);
  if constexpr (op == Op::kSign) return static_cast<T>((T(0) < x) - (x < T(0)));
  if constexpr (op == Op::kFloor) return std::floor(x);
  if constexpr (op == Op::kCeil) return std::ceil(x);
  if constexpr (op == Op::kTrunc) return std::trunc(x);
  if constexpr (op == Op::kRound) return std::nearbyint(x);
  if constexpr (op == Op::kSqrt) return std::sqrt(x);
  if constexpr (op == Op::kRsqrt) return T(1) / std::sqrt(x);
  if constexpr (op == Op::kReciprocal) return T(1) / x;
  if constexpr (op == Op::kExp) return std::exp(x);
  if constexpr (op == Op::kExp2) return std::exp2(x);
  if constexpr (op == Op::kExpm1) return std::expm1(x);
  if constexpr (op == Op::kLog) return std::log(x);
  if constexpr (op == Op::kLog2) return std::log2(x);
  if constexpr (op == Op::kLog10) return std::log10(x);
  if constexpr (op == Op::kLog1p) return std::log1p(x);
  if constexpr (op == Op::kSin) return std::sin(x);
  if constexpr (op == Op::kCos) return std::cos(x);
  if constexpr (op == Op::kTan) return std::tan(x);
  if constexpr (op == Op::kAsin) return std::asin(x);
  if constexpr (op == Op::kAcos) return std::acos(x);
  if constexpr (op == Op::kAtan) return std::atan(x);
  if constexpr (op == Op::kSinh) return std::sinh(x);
  if constexpr (op == Op::kCosh) return std::cosh(x);
  if constexpr (op == Op::kTanh) return std::tanh(x);
  if constexpr (op == Op::kAsinh) return std::asinh(x);
  if constexpr (op == Op::kAcosh) return std::acosh(x);
  if constexpr (op == Op::kAtanh) return std::atanh(x);
  if constexpr (op == Op::kErf) return std::erf(x);
  if constexpr (op == Op::kErfc) return std::erfc(x);
  if constexpr (op == Op::kErfinv) return static_cast<T>(erfinv(x));
  if constexpr (op == Op::kLgamma) return static_cast<T>(lgamma(x));
  if constexpr (op == Op::kDigamma) return static_cast<T>(digamma(x));
  if constexpr (op == Op::kBesselI0) return static_cast<T>(bessel_i0(x));
  if constexpr (op == Op::kSigmoid) return T(1) / (T(1) + std::exp(-x));
}

template <Op op, WholeType T>
T integer_unary(T x) {
  using U = Wrapping<T>;
  if constexpr (op == Op::kNegate) return static_cast<T>(U(0) - static_cast<U>(x));
  if constexpr (op == Op::kAbs) return x < 0 ? static_cast<T>(U(0) - static_cast<U>(x)) : x;
  if constexpr (op == Op::kSign) return static_cast<T>((T(0) < x) - (x < T(0)));
  if constexpr (op == Op::kBitNot) return static_cast<T>(~x);
}

constexpr bool is_rounding(Op op) {
  return op == Op::kFloor || op == Op::kCeil || op == Op::kTrunc || op == Op::kRound;
}

}  // namespace scalar_detail

/// Whether `op` has one argument and a result of the argument's type T, so that
/// scalar_unary<op, T> exists.
template <typename T>
constexpr bool has_scalar_unary(Op op) {
  if (std::floating_point<T>) return op >= Op::kNegate && op <= Op::kSigmoid;
  if (std::same_as<T, bool>) return op == Op::kLogicalNot || op == Op::kBitNot;
  return op == Op::kNegate || op == Op::kAbs || op == Op::kSign || op == Op::kBitNot ||
         scalar_detail::is_rounding(op);
}

template <Op op, typename T>
requires(has_scalar_unary<T>(op)) T scalar_unary(T x) {
  if constexpr (std::same_as<T, bool>) {
    return !x;
  } else if constexpr (std::integral<T>) {
    if constexpr (scalar_detail::is_rounding(op))
      return x;
    else
      return scalar_detail::integer_unary<op>(x);
  } else {
    return scalar_detail::float_unary<op>(x);
  }
}

// --- two arguments -------------------------------------------------------------------------------

namespace scalar_detail {

/// The remainder with the divisor's sign.
template <std::floating_point T>
T float_remainder(T a, T b) {
  T remainder = std::fmod(a, b);
  if (remainder != 0 && (b < 0) != (remainder < 0)) remainder += b;
  return remainder;
}

/// floor(a / b) without the error of a rounded quotient.
template <std::floating_point T>
T float_floor_divide(T a, T b) {
  if (b == 0) return a / b;
  const T remainder = std::fmod(a, b);
  T quotient = (a - remainder) / b;
  if (remainder != 0 && (b < 0) != (remainder < 0)) quotient -= T(1);
  if (quotient == 0) return std::copysign(T(0), a / b);
  const T whole = std::floor(quotient);
  return quotient - whole > T(0.5) ? whole + T(1) : whole;
}

template <Op op, std::floating_point T>
T float_binary(T a, T b) {
  if constexpr (op == Op::kAdd) return a + b;
  if constexpr (op == Op::kSubtract) return a - b;
  if constexpr (op == Op::kMultiply) return a * b;
  if constexpr (op == Op::kDivide) return a / b;
  if constexpr (op == Op::kFloorDivide) return float_floor_divide(a, b);
  if constexpr (op == Op::kTruncDivide) return std::trunc(a / b);
  if constexpr (op == Op::kRemainder) return float_remainder(a, b);
  if constexpr (op == Op::kFmod) return std::fmod(a, b);
  if constexpr (op == Op::kPow) return std::pow(a, b);
  if constexpr (op == Op::kAtan2) return std::atan2(a, b);
  if constexpr (op == Op::kHypot) return std::hypot(a, b);
  if constexpr (op == Op::kCopysign) return std::copysign(a, b);
  if constexpr (op == Op::kNextafter) return std::nextafter(a, b);
  if constexpr (op == Op::kIgamma) return static_cast<T>(igamma(a, b));
  if constexpr (op == Op::kIgammac) return static_cast<T>(igammac(a, b));
  if constexpr (op == Op::kPolygamma) return static_cast<T>(polygamma(a, b));
  if constexpr (op == Op::kZeta) return static_cast<T>(zeta(a, b));
  if constexpr (op == Op::kMinimum) return std::isnan(a) || a < b ? a : b;
  if constexpr (op == Op::kMaximum) return std::isnan(a) || b < a ? a : b;
}

template <WholeType T>
T integer_pow(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if (base == -1) return exponent % 2 == 0 ? 1 : -1;
      return 0;
    }
  }
  using U = Wrapping<T>;
  U result = 1;
  auto power = static_cast<U>(base);
  for (auto rest = static_cast<std::make_unsigned_t<T>>(exponent); rest != 0;
       rest = static_cast<std::make_unsigned_t<T>>(rest >> 1)) {
    if ((rest & 1) != 0) result *= power;
    power *= power;
  }
  return static_cast<T>(result);
}

template <Op op, WholeType T>
T integer_divide(T a, T b) {
  constexpr bool kQuotient = op == Op::kFloorDivide || op == Op::kTruncDivide;
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    // The one quotient that does not fit wraps.
    if (b == -1) return kQuotient ? integer_unary<Op::kNegate>(a) : T(0);
  }
  const T quotient = static_cast<T>(a / b);
  const T remainder = static_cast<T>(a % b);
  const bool rounds_down = remainder != 0 && (remainder < 0) != (b < 0);
  if constexpr (op == Op::kFloorDivide) return static_cast<T>(quotient - (rounds_down ? 1 : 0));
  if constexpr (op == Op::kTruncDivide) return quotient;
  if constexpr (op == Op::kRemainder)
    return rounds_down ? static_cast<T>(remainder + b) : remainder;
  if constexpr (op == Op::kFmod) return remainder;
}

template <WholeType T>
T integer_gcd(T a, T b) {
  using U = Wrapping<T>;
  const auto magnitude = [](T x) { return x < 0 ? U(0) - static_cast<U>(x) : static_cast<U>(x); };
  return static_cast<T>(std::gcd(magnitude(a), magnitude(b)));
}

template <Op op, WholeType T>
T integer_binary(T a, T b) {
  using U = Wrapping<T>;
  constexpr int kBits = static_cast<int>(8 * sizeof(T));
  const bool wide_shift = b < 0 || static_cast<std::make_unsigned_t<T>>(b) >= kBits;
  if constexpr (op == Op::kAdd) return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  if constexpr (op == Op::kSubtract) return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
  if constexpr (op == Op::kMultiply) return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  if constexpr (op == Op::kFloorDivide || op == Op::kTruncDivide || op == Op::kRemainder ||
                op == Op::kFmod) {
    return integer_divide<op>(a, b);
  }
  if constexpr (op == Op::kPow) return integer_pow(a, b);
  if constexpr (op == Op::kMinimum) return b < a ? b : a;
  if constexpr (op == Op::kMaximum) return a < b ? b : a;
  if constexpr (op == Op::kAnd) return static_cast<T>(a & b);
  if constexpr (op == Op::kOr) return static_cast<T>(a | b);
  if constexpr (op == Op::kXor) return static_cast<T>(a ^ b);
  if constexpr (op == Op::kShiftLeft) {
    return wide_shift ? T(0) : static_cast<T>(static_cast<U>(a) << static_cast<U>(b));
  }
  if constexpr (op == Op::kShiftRight) {
    return wide_shift ? (a < 0 ? static_cast<T>(-1) : T(0)) : static_cast<T>(a >> b);
  }
  if constexpr (op == Op::kGcd) return integer_gcd(a, b);
}

template <Op op>
bool bool_binary(bool a, bool b) {
  if constexpr (op == Op::kAdd || op == Op::kOr || op == Op::kMaximum) return a || b;
  if constexpr (op == Op::kMultiply || op == Op::kAnd || op == Op::kMinimum) return a && b;
  if constexpr (op == Op::kXor || op == Op::kSubtract) return a != b;
  if constexpr (op == Op::kPow) return a || !b;
}

}  // namespace scalar_detail

/// Whether `op` has two arguments of type T and a result of that type, so that scalar_binary<op, T>
/// exists.
template <typename T>
constexpr bool has_scalar_binary(Op op) {
  if (std::floating_point<T>) return op >= Op::kAdd && op <= Op::kMaximum;
  if (std::same_as<T, bool>) {
    return op == Op::kAdd || op == Op::kSubtract || op == Op::kMultiply || op == Op::kPow ||
           op == Op::kMinimum || op == Op::kMaximum || op == Op::kAnd || op == Op::kOr ||
           op == Op::kXor;
  }
  return (op >= Op::kAdd && op <= Op::kPow && op != Op::kDivide) || op == Op::kMinimum ||
         op == Op::kMaximum || (op >= Op::kAnd && op <= Op::kGcd);
}

template <Op op, typename T>
requires(has_scalar_binary<T>(op)) T scalar_binary(T a, T b) {
  if constexpr (std::same_as<T, bool>) {
    return scalar_detail::bool_binary<op>(a, b);
  } else if constexpr (std::integral<T>) {
    return scalar_detail::integer_binary<op>(a, b);
  } else {
    return scalar_detail::float_binary<op>(a, b);
  }
}

constexpr bool is_comparison(Op op) { return op >= Op::kLess && op <= Op::kNotEqual; }

template <Op op, typename T>
requires(is_comparison(op)) bool scalar_compare(T a, T b) {
  if constexpr (op == Op::kLess) return a < b;
  if constexpr (op == Op::kLessEqual) return a <= b;
  if constexpr (op == Op::kEqual) return a == b;
  if constexpr (op == Op::kNotEqual) return a != b;
}

}  // namespace tendon::ir
