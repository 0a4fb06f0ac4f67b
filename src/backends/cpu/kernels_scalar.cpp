// Every operation in plain loops, one element at a time: what has no vector form, or does not need
// one.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <type_traits>

#include "backends/cpu/kernel_table.h"
#include "base/half.h"

namespace tendon::backends::cpu {
namespace {

using ir::Op;

template <typename From, typename To, To (*function)(From)>
void unary_loop(void* out, const void* a, const void*, const void*, Steps steps,
                std::int64_t count) {
  const From* x = static_cast<const From*>(a);
  To* y = static_cast<To*>(out);
  if (steps.a == 0) {
    std::fill_n(y, count, function(*x));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) y[i] = function(x[i]);
}

template <typename From, typename To, To (*function)(From, From)>
void binary_loop(void* out, const void* a, const void* b, const void*, Steps steps,
                 std::int64_t count) {
  const From* x = static_cast<const From*>(a);
  const From* y = static_cast<const From*>(b);
  To* z = static_cast<To*>(out);
  if (steps.a == 0 && steps.b == 0) {
    std::fill_n(z, count, function(*x, *y));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) z[i] = function(x[i * steps.a], y[i * steps.b]);
}

template <typename T>
T sign(T x) {
  return static_cast<T>((T(0) < x) - (x < T(0)));
}
template <typename T>
T sigmoid(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

template <typename T>
T pow_integer(T base, T exponent) {
  using Unsigned = std::make_unsigned_t<T>;
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if (base == -1) return exponent % 2 == 0 ? 1 : -1;
      return 0;
    }
  }
  Unsigned result = 1;
  auto factor = static_cast<Unsigned>(base);
  for (auto rest = static_cast<Unsigned>(exponent); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

template <typename T>
T shift_left(T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  if (static_cast<Unsigned>(b) >= sizeof(T) * 8) return 0;
  return static_cast<T>(static_cast<Unsigned>(a) << b);
}
template <typename T>
T shift_right(T a, T b) {
  constexpr int kBits = sizeof(T) * 8;
  if (static_cast<std::make_unsigned_t<T>>(b) >= kBits) return a < 0 ? T(-1) : T(0);
  return static_cast<T>(a >> b);
}

template <typename T>
T fmod_of(T a, T b) {
  return std::fmod(a, b);
}
template <typename T>
T remainder_of(T a, T b) {
  T rest = std::fmod(a, b);
  if (rest != 0 && (b < 0) != (rest < 0)) rest += b;
  return rest;
}
template <typename T>
T floor_divide(T a, T b) {
  if (b == 0) return a / b;
  const T rest = std::fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T(0), a / b);
  T whole = std::floor(quotient);
  if (quotient - whole > T(0.5)) whole += 1;
  return whole;
}

template <typename T>
T greatest_common_divisor(T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto magnitude = [](T x) {
    return x < 0 ? Unsigned(0) - static_cast<Unsigned>(x) : static_cast<Unsigned>(x);
  };
  return static_cast<T>(std::gcd(magnitude(a), magnitude(b)));
}

float round_to_half(float x) { return half_to_float(float_to_half(x)); }

/// Floats to integers as x86 does it: truncated, and the smallest integer where it does not fit.
template <typename From, typename To>
To to_integer(From x) {
  constexpr From kLimit = static_cast<From>(0x1p63);
  if constexpr (sizeof(To) == 8) {
    if (!(x >= -kLimit && x < kLimit)) return std::numeric_limits<To>::min();
    return static_cast<To>(x);
  } else {
    if (!(x > From(-2147483649.0) && x < From(2147483648.0))) return std::numeric_limits<To>::min();
    return static_cast<To>(x);
  }
}

template <typename From>
std::uint64_t to_unsigned(From x) {
  if (x >= From(0x1p63) && x < From(0x1p64)) return static_cast<std::uint64_t>(x);
  return static_cast<std::uint64_t>(to_integer<From, std::int64_t>(x));
}

template <typename From, typename To>
To convert(From x) {
  return static_cast<To>(x);
}

template <typename T>
void fill_float(KernelTable& table, TileType type) {
  table.at(Op::kSign, type) = unary_loop<T, T, sign<T>>;
  table.at(Op::kExp, type) = unary_loop<T, T, std::exp>;
  table.at(Op::kExp2, type) = unary_loop<T, T, std::exp2>;
  table.at(Op::kExpm1, type) = unary_loop<T, T, std::expm1>;
  table.at(Op::kLog, type) = unary_loop<T, T, std::log>;
  table.at(Op::kLog2, type) = unary_loop<T, T, std::log2>;
  table.at(Op::kLog10, type) = unary_loop<T, T, std::log10>;
  table.at(Op::kLog1p, type) = unary_loop<T, T, std::log1p>;
  table.at(Op::kSin, type) = unary_loop<T, T, std::sin>;
  table.at(Op::kCos, type) = unary_loop<T, T, std::cos>;
  table.at(Op::kTan, type) = unary_loop<T, T, std::tan>;
  table.at(Op::kAsin, type) = unary_loop<T, T, std::asin>;
  table.at(Op::kAcos, type) = unary_loop<T, T, std::acos>;
  table.at(Op::kAtan, type) = unary_loop<T, T, std::atan>;
  table.at(Op::kSinh, type) = unary_loop<T, T, std::sinh>;
  table.at(Op::kCosh, type) = unary_loop<T, T, std::cosh>;
  table.at(Op::kTanh, type) = unary_loop<T, T, std::tanh>;
  table.at(Op::kAsinh, type) = unary_loop<T, T, std::asinh>;
  table.at(Op::kAcosh, type) = unary_loop<T, T, std::acosh>;
  table.at(Op::kAtanh, type) = unary_loop<T, T, std::atanh>;
  table.at(Op::kErf, type) = unary_loop<T, T, std::erf>;
  table.at(Op::kErfc, type) = unary_loop<T, T, std::erfc>;
  table.at(Op::kSigmoid, type) = unary_loop<T, T, sigmoid<T>>;
  table.at(Op::kFloorDivide, type) = binary_loop<T, T, floor_divide<T>>;
  table.at(Op::kRemainder, type) = binary_loop<T, T, remainder_of<T>>;
  table.at(Op::kFmod, type) = binary_loop<T, T, fmod_of<T>>;
  table.at(Op::kPow, type) = binary_loop<T, T, std::pow>;
  table.at(Op::kAtan2, type) = binary_loop<T, T, std::atan2>;
  table.at(Op::kHypot, type) = binary_loop<T, T, std::hypot>;
  table.at(Op::kNextafter, type) = binary_loop<T, T, std::nextafter>;
}

template <typename T>
void fill_integer(KernelTable& table, TileType type) {
  table.at(Op::kPow, type) = binary_loop<T, T, pow_integer<T>>;
  table.at(Op::kShiftLeft, type) = binary_loop<T, T, shift_left<T>>;
  table.at(Op::kShiftRight, type) = binary_loop<T, T, shift_right<T>>;
  table.at(Op::kGcd, type) = binary_loop<T, T, greatest_common_divisor<T>>;
}

template <typename T>
void fill_casts(KernelTable& table, TileType type) {
  table.cast_at(type, TileType::kInt32) = unary_loop<T, std::int32_t, to_integer<T, std::int32_t>>;
  table.cast_at(type, TileType::kInt64) = unary_loop<T, std::int64_t, to_integer<T, std::int64_t>>;
  table.cast_at(type, TileType::kUInt64) = unary_loop<T, std::uint64_t, to_unsigned<T>>;
}

}  // namespace

void fill_scalar_kernels(KernelTable& table) {
  fill_float<float>(table, TileType::kFloat32);
  fill_float<double>(table, TileType::kFloat64);
  fill_integer<std::int32_t>(table, TileType::kInt32);
  fill_integer<std::int64_t>(table, TileType::kInt64);
  fill_integer<std::uint64_t>(table, TileType::kUInt64);
  fill_casts<float>(table, TileType::kFloat32);
  fill_casts<double>(table, TileType::kFloat64);
  table.at(Op::kSign, TileType::kInt32) = unary_loop<std::int32_t, std::int32_t, sign>;
  table.at(Op::kSign, TileType::kInt64) = unary_loop<std::int64_t, std::int64_t, sign>;
  table.at(Op::kSign, TileType::kUInt64) = unary_loop<std::uint64_t, std::uint64_t, sign>;
  table.cast_at(TileType::kInt64, TileType::kFloat32) =
      unary_loop<std::int64_t, float, convert<std::int64_t, float>>;
  table.cast_at(TileType::kUInt64, TileType::kFloat32) =
      unary_loop<std::uint64_t, float, convert<std::uint64_t, float>>;
  table.cast_at(TileType::kUInt64, TileType::kFloat64) =
      unary_loop<std::uint64_t, double, convert<std::uint64_t, double>>;
  table.wrap_at(DType::kFloat16) = unary_loop<float, float, round_to_half>;
}

}  // namespace tendon::backends::cpu
