// Exponential functions, logarithms and what is made of them, in float32.
//
// The polynomials are minimax fits (Remez) made for these intervals; every function is within 2 to
// 3 units in the last place of the exact one. Float64 goes through the C library.
#include <cmath>
#include <limits>

#include "backends/cpu/kernel_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels_exponential.cpp"
#include "backends/cpu/kernel_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h.
#include "backends/cpu/exponential-inl.h"
#include "backends/cpu/kernel_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tendon::backends::cpu {
namespace HWY_NAMESPACE {
namespace {

using ir::Op;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// x * 2^n for integers n in [-252, 254], rounded once.
HWY_INLINE V scale(V x, V n) {
  const V half = hn::Floor(hn::Mul(n, set(0.5f)));
  return hn::Mul(hn::Mul(x, power_of_two(half)), power_of_two(hn::Sub(n, half)));
}

/// NaN of x kept, otherwise `result`.
HWY_INLINE V keep_nan(V x, V result) { return hn::IfThenElse(hn::Eq(x, x), result, x); }

HWY_INLINE V clamp(V x, float low, float high) { return hn::Min(hn::Max(x, set(low)), set(high)); }

HWY_INLINE V exp_of(V x) {
  // Beyond these the result is 0 or infinity anyway.
  const Reduced reduced = reduce_exp(clamp(x, -104.0f, 89.0f));
  const V r = reduced.r;
  const V y = hn::Add(hn::MulAdd(exp_tail(r), hn::Mul(r, r), r), set(1.0f));
  return keep_nan(x, scale(y, reduced.n));
}

HWY_INLINE V exp2_of(V x) {
  static constexpr float kCoefficients[] = {
      0.693147180705f,   0.240226510668f,    0.0555041036576f, 0.00961803809602f,
      0.00133339351655f, 0.000154667689001f, 1.51961517613e-5f};
  const V bounded = clamp(x, -151.0f, 129.0f);
  const V n = hn::Round(bounded);
  const V r = hn::Sub(bounded, n);
  const V y = hn::MulAdd(polynomial(r, kCoefficients), r, set(1.0f));
  return keep_nan(x, scale(y, n));
}

/// e^x - 1 for -20 <= x <= 80.
HWY_INLINE V expm1_moderate(V x) {
  static constexpr float kCoefficients[] = {0.500000004416f,   0.166666663706f,
                                            0.0416663609112f,  0.00833338932619f,
                                            0.00139406274632f, 0.000198459016113f};
  const Reduced reduced = reduce_exp(x);
  const V r = reduced.r;
  const V tail = hn::MulAdd(polynomial(r, kCoefficients), hn::Mul(r, r), r);
  const V power = power_of_two(reduced.n);
  return hn::MulAdd(power, tail, hn::Sub(power, set(1.0f)));
}

HWY_INLINE V expm1_of(V x) {
  const V small = expm1_moderate(clamp(x, -20.0f, 80.0f));
  const V result = hn::IfThenElse(hn::Gt(x, set(80.0f)), exp_of(x), small);
  // Zero keeps its sign.
  return hn::IfThenElse(hn::Eq(x, hn::Zero(D())), x, keep_nan(x, result));
}

/// x = m * 2^e with m in [sqrt(1/2), sqrt(2)), for finite x > 0.
struct Split {
  V m, e;
};
HWY_INLINE Split split_exponent(V x) {
  const DI di;
  const auto subnormal = hn::Lt(x, set(0x1p-126f));
  const V normal = hn::IfThenElse(subnormal, hn::Mul(x, set(0x1p24f)), x);
  const auto bits = hn::BitCast(di, normal);
  // Moves the boundary between exponents to sqrt(1/2).
  const auto shifted = hn::Sub(bits, hn::Set(di, 0x3f3504f3));
  const auto exponent = hn::ShiftRight<23>(shifted);
  const V m = hn::BitCast(D(), hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
  V e = hn::ConvertTo(D(), exponent);
  e = hn::Sub(e, hn::IfThenElseZero(subnormal, set(24.0f)));
  return {m, e};
}

/// log(1 + f) - f + f^2 / 2 for 1 + f in [sqrt(1/2), sqrt(2)), plus s f^2 / 2 taken back: the sum
/// `correction` with log(1 + f) = f - (half - correction) where half = f^2 / 2.
HWY_INLINE V log_of_mantissa(V f, V low) {
  static constexpr float kCoefficients[] = {0.666666656413f, 0.400003362215f, 0.285372382139f,
                                            0.235835705892f};
  const V s = hn::Div(f, hn::Add(f, set(2.0f)));
  const V z = hn::Mul(s, s);
  const V tail = hn::Mul(z, polynomial(z, kCoefficients));
  const V half = hn::Mul(hn::Mul(f, f), set(0.5f));
  // log(1 + f) = f - (half - (s (half + tail) + low))
  const V inner = hn::MulAdd(s, hn::Add(half, tail), low);
  return hn::Sub(f, hn::Sub(half, inner));
}

/// Puts in what a logarithm is for arguments that are not positive finite numbers.
HWY_INLINE V log_special(V x, V result) {
  const V zero = hn::Zero(D());
  result = hn::IfThenElse(hn::Eq(x, zero), set(-kInfinity), result);
  result = hn::IfThenElse(hn::Lt(x, zero), set(std::numeric_limits<float>::quiet_NaN()), result);
  result = hn::IfThenElse(hn::Eq(x, set(kInfinity)), x, result);
  return keep_nan(x, result);
}

HWY_INLINE V log_of(V x) {
  const Split split = split_exponent(x);
  const V f = hn::Sub(split.m, set(1.0f));
  const V low = hn::Mul(split.e, set(kLn2Low));
  return log_special(x, hn::MulAdd(split.e, set(kLn2High), log_of_mantissa(f, low)));
}

HWY_INLINE V log2_of(V x) {
  const Split split = split_exponent(x);
  const V log_m = log_of_mantissa(hn::Sub(split.m, set(1.0f)), hn::Zero(D()));
  // log2(e) in two parts.
  const V low = hn::Mul(log_m, set(1.925963033500e-8f));
  return log_special(x, hn::Add(hn::MulAdd(log_m, set(1.44269502162933349609f), low), split.e));
}

HWY_INLINE V log10_of(V x) {
  const Split split = split_exponent(x);
  const V log_m = log_of_mantissa(hn::Sub(split.m, set(1.0f)), hn::Zero(D()));
  // log10(2) = 0.301025390625 + 4.605038981195214e-6, log10(e) in one part.
  const V low =
      hn::MulAdd(split.e, set(4.605038981195214e-6f), hn::Mul(log_m, set(0.43429448190325182765f)));
  return log_special(x, hn::MulAdd(split.e, set(0.301025390625f), low));
}

HWY_INLINE V log1p_of(V x) {
  const V u = hn::Add(x, set(1.0f));
  // What rounding took from 1 + x.
  const V lost = hn::IfThenElse(hn::Gt(hn::Abs(x), set(1.0f)), hn::Sub(set(1.0f), hn::Sub(u, x)),
                                hn::Sub(x, hn::Sub(u, set(1.0f))));
  const Split split = split_exponent(u);
  const V f = hn::Sub(split.m, set(1.0f));
  const V low = hn::MulAdd(split.e, set(kLn2Low), hn::Div(lost, u));
  const V result = log_special(u, hn::MulAdd(split.e, set(kLn2High), log_of_mantissa(f, low)));
  // Also keeps the sign of zero.
  return hn::IfThenElse(hn::Lt(hn::Abs(x), set(0x1p-25f)), x, keep_nan(x, result));
}

HWY_INLINE V sigmoid_of(V x) { return hn::Div(set(1.0f), hn::Add(set(1.0f), exp_of(hn::Neg(x)))); }

HWY_INLINE V tanh_of(V x) {
  // tanh(10) is 1 in float32.
  const V twice = hn::Min(hn::Mul(hn::Abs(x), set(2.0f)), set(20.0f));
  const V e = expm1_moderate(twice);
  return keep_nan(x, hn::CopySign(hn::Div(e, hn::Add(e, set(2.0f))), x));
}

HWY_INLINE V erf_of(V x) {
  static constexpr float kSmall[] = {1.12837916572f,    -0.376126257502f,  0.112835841847f,
                                     -0.0268537665537f, 0.00518823195868f, -0.000800926974883f,
                                     7.85053840539e-5f};
  // log(erfc(x)) on [1, 4].
  static constexpr float kLarge[] = {0.000188034523231f, -1.12957839861f,   -0.633219941655f,
                                     -0.10841852719f,    0.0252082262671f,  -0.00420455098261f,
                                     0.000441334257832f, -2.16866768292e-5f};
  const V magnitude = hn::Min(hn::Abs(x), set(4.0f));
  const V small = hn::Mul(x, polynomial(hn::Mul(magnitude, magnitude), kSmall));
  const V large = hn::Sub(set(1.0f), exp_moderate(polynomial(magnitude, kLarge)));
  const V result = hn::IfThenElse(hn::Lt(magnitude, set(1.0f)), small, hn::CopySign(large, x));
  return keep_nan(x, result);
}

#define TENDON_FUNCTION(Name, function)                       \
  struct Name {                                               \
    static HWY_INLINE V apply(D, V x) { return function(x); } \
  };
TENDON_FUNCTION(Exp, exp_of)
TENDON_FUNCTION(Exp2, exp2_of)
TENDON_FUNCTION(Expm1, expm1_of)
TENDON_FUNCTION(Log, log_of)
TENDON_FUNCTION(Log2, log2_of)
TENDON_FUNCTION(Log10, log10_of)
TENDON_FUNCTION(Log1p, log1p_of)
TENDON_FUNCTION(Sigmoid, sigmoid_of)
TENDON_FUNCTION(Tanh, tanh_of)
TENDON_FUNCTION(Erf, erf_of)

}  // namespace

void fill_exponential(KernelTable& table) {
  const TileType type = TileType::kFloat32;
  table.at(Op::kExp, type) = unary_kernel<float, Exp>;
  table.at(Op::kExp2, type) = unary_kernel<float, Exp2>;
  table.at(Op::kExpm1, type) = unary_kernel<float, Expm1>;
  table.at(Op::kLog, type) = unary_kernel<float, Log>;
  table.at(Op::kLog2, type) = unary_kernel<float, Log2>;
  table.at(Op::kLog10, type) = unary_kernel<float, Log10>;
  table.at(Op::kLog1p, type) = unary_kernel<float, Log1p>;
  table.at(Op::kSigmoid, type) = unary_kernel<float, Sigmoid>;
  table.at(Op::kTanh, type) = unary_kernel<float, Tanh>;
  table.at(Op::kErf, type) = unary_kernel<float, Erf>;
}

}  // namespace HWY_NAMESPACE
}  // namespace tendon::backends::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tendon::backends::cpu {
HWY_EXPORT(fill_exponential);
void fill_exponential_kernels(KernelTable& table) { HWY_DYNAMIC_DISPATCH(fill_exponential)(table); }
}  // namespace tendon::backends::cpu
#endif
