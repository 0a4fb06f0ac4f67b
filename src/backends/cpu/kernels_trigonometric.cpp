// Sine and cosine in float32, through float64: the reduction of the argument is exact enough for
// |x| < 2^30 and everything beyond goes to the C library.
#include <cmath>

#include "backends/cpu/kernel_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels_trigonometric.cpp"
#include "backends/cpu/kernel_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h.
#include "backends/cpu/kernel_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tendon::backends::cpu {
namespace HWY_NAMESPACE {
namespace {

using DDouble = Tag<double>;
using DHalf = hn::Rebind<float, DDouble>;
using DInt = hn::Rebind<std::int32_t, DDouble>;
using VFloat = hn::Vec<DHalf>;

constexpr float kLargest = 0x1p30f;

/// sin(x + quadrant * pi / 2) for |x| <= 2^30.
HWY_INLINE VFloat sine(VFloat x, std::int32_t quadrant) {
  static constexpr float kSine[] = {-0.166666666414f, 0.0083333293623f, -0.000198393271416f,
                                    2.71823731112e-6f};
  static constexpr float kCosine[] = {0.0416666666225f, -0.00138888837227f, 2.47995117679e-5f,
                                      -2.72095479256e-7f};
  const DDouble dd;
  const DHalf df;
  const DInt di;
  const auto wide = hn::PromoteTo(dd, x);
  const auto n = hn::Round(hn::Mul(wide, hn::Set(dd, 0.63661977236758134308)));
  // pi / 2 in two parts; the first has 33 bits, so that n times it is exact.
  auto reduced = hn::NegMulAdd(n, hn::Set(dd, 1.57079632673412561417e+00), wide);
  reduced = hn::NegMulAdd(n, hn::Set(dd, 6.07710050650619224932e-11), reduced);
  const VFloat r = hn::DemoteTo(df, reduced);
  const auto q = hn::Add(hn::DemoteTo(di, n), hn::Set(di, quadrant));
  const VFloat z = hn::Mul(r, r);
  const auto poly = [&](const float(&c)[4]) {
    VFloat sum = hn::Set(df, c[3]);
    for (int i = 2; i >= 0; --i) sum = hn::MulAdd(sum, z, hn::Set(df, c[i]));
    return sum;
  };
  const VFloat sin_r = hn::MulAdd(hn::Mul(r, z), poly(kSine), r);
  const VFloat one = hn::Set(df, 1.0f);
  const VFloat cos_r =
      hn::Add(one, hn::MulAdd(hn::Mul(z, z), poly(kCosine), hn::Mul(z, hn::Set(df, -0.5f))));
  const auto odd = hn::Ne(hn::And(q, hn::Set(di, 1)), hn::Zero(di));
  const VFloat value = hn::IfThenElse(hn::RebindMask(df, odd), cos_r, sin_r);
  const auto sign = hn::ShiftLeft<30>(hn::And(q, hn::Set(di, 2)));
  return hn::Xor(value, hn::BitCast(df, sign));
}

template <bool kCosine>
void sine_kernel(void* out, const void* a, const void*, const void*, Steps steps,
                 std::int64_t count) {
  const DHalf d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto* x = static_cast<const float*>(a);
  auto* y = static_cast<float*>(out);
  for (std::int64_t i = 0; i < count; i += lanes) {
    const VFloat v = hn::LoadU(d, x);
    x += lanes * steps.a;
    const VFloat result =
        sine(hn::IfThenElseZero(hn::Le(hn::Abs(v), hn::Set(d, kLargest)), v), kCosine ? 1 : 0);
    // Zero keeps its sign.
    hn::StoreU(kCosine ? result : hn::IfThenElse(hn::Eq(v, hn::Zero(d)), v, result), d, y + i);
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Le(hn::Abs(v), hn::Set(d, kLargest))))) {
      HWY_ALIGN float lane[kVectorBytes / 4];
      hn::StoreU(v, d, lane);
      for (std::int64_t k = 0; k < lanes; ++k) {
        if (!(std::fabs(lane[k]) <= kLargest)) {
          y[i + k] = kCosine ? std::cos(lane[k]) : std::sin(lane[k]);
        }
      }
    }
  }
}

}  // namespace

void fill_trigonometric(KernelTable& table) {
  table.at(ir::Op::kSin, TileType::kFloat32) = sine_kernel<false>;
  table.at(ir::Op::kCos, TileType::kFloat32) = sine_kernel<true>;
}

}  // namespace HWY_NAMESPACE
}  // namespace tendon::backends::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tendon::backends::cpu {
HWY_EXPORT(fill_trigonometric);
void fill_trigonometric_kernels(KernelTable& table) {
  HWY_DYNAMIC_DISPATCH(fill_trigonometric)(table);
}
}  // namespace tendon::backends::cpu
#endif
