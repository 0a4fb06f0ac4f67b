// What exponential functions in float32 are made of, for one instruction set; included once per
// target (no pragma once).
#if defined(TENDON_EXPONENTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENDON_EXPONENTIAL_INL_H_
#undef TENDON_EXPONENTIAL_INL_H_
#else
#define TENDON_EXPONENTIAL_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernel_loops-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tendon::backends::cpu {
namespace HWY_NAMESPACE {

using D = Tag<float>;
using DI = Tag<std::int32_t>;
using V = hn::Vec<D>;

// ln 2 in two parts.
constexpr float kLn2High = 0.693145751953125f;
constexpr float kLn2Low = 1.42860682030941723212e-6f;

HWY_INLINE V set(float value) { return hn::Set(D(), value); }

/// Horner's rule; coefficients from the constant term up.
template <std::size_t kCount>
HWY_INLINE V polynomial(V x, const float (&coefficients)[kCount]) {
  V sum = set(coefficients[kCount - 1]);
  for (std::size_t i = kCount - 1; i-- > 0;) sum = hn::MulAdd(sum, x, set(coefficients[i]));
  return sum;
}

/// 2^n for integers n in [-126, 127].
HWY_INLINE V power_of_two(V n) {
  const DI di;
  return hn::BitCast(D(), hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127))));
}

/// x = n ln 2 + r with |r| <= ln(2) / 2.
struct Reduced {
  V n, r;
};
HWY_INLINE Reduced reduce_exp(V x) {
  const V n = hn::Round(hn::Mul(x, set(1.44269504088896341f)));
  V r = hn::NegMulAdd(n, set(kLn2High), x);
  r = hn::NegMulAdd(n, set(kLn2Low), r);
  return {n, r};
}

/// (e^r - 1 - r) / r^2 on [-ln(2)/2, ln(2)/2].
HWY_INLINE V exp_tail(V r) {
  static constexpr float kCoefficients[] = {0.499999934479f, 0.166665206287f, 0.041668387991f,
                                            0.00836871715705f, 0.00138146024547f};
  return polynomial(r, kCoefficients);
}

/// For |x| <= 80 and results that are normal numbers: half the work of scale().
HWY_INLINE V exp_moderate(V x) {
  const Reduced reduced = reduce_exp(x);
  const V r = reduced.r;
  const V y = hn::Add(hn::MulAdd(exp_tail(r), hn::Mul(r, r), r), set(1.0f));
  return hn::Mul(y, power_of_two(reduced.n));
}

}  // namespace HWY_NAMESPACE
}  // namespace tendon::backends::cpu
HWY_AFTER_NAMESPACE();

#endif  // TENDON_EXPONENTIAL_INL_H_
