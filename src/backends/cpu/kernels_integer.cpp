// Integer division and remainders. Division by zero gives 0, everything wraps.
#include "backends/cpu/kernel_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels_integer.cpp"
#include "backends/cpu/kernel_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h.
#include "backends/cpu/kernel_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tendon::backends::cpu {
namespace HWY_NAMESPACE {
namespace {

using ir::Op;

// 32-bit quotients are exact through float64: both operands fit, and a quotient that is not whole
// is further from the next whole number than float64 rounds.
using D32 = hn::Rebind<std::int32_t, Tag<double>>;
using V32 = hn::Vec<D32>;
using VDouble = hn::Vec<Tag<double>>;

enum class Division { kFloor, kTrunc };

/// a / b rounded; 0 where b is 0.
template <Division kDivision>
HWY_INLINE VDouble quotient(VDouble a, VDouble b) {
  const Tag<double> d;
  const VDouble exact = hn::Div(a, b);
  const VDouble whole = kDivision == Division::kFloor ? hn::Floor(exact) : hn::Trunc(exact);
  return hn::IfThenElseZero(hn::Ne(b, hn::Zero(d)), whole);
}

template <Division kDivision, bool kRemainder>
struct Divide32 {
  static HWY_INLINE V32 apply(D32 d, V32 a, V32 b) {
    const Tag<double> dd;
    const V32 zero = hn::Zero(d);
    V32 q = hn::DemoteTo(d, quotient<kDivision>(hn::PromoteTo(dd, a), hn::PromoteTo(dd, b)));
    // Only -2^31 / -1 does not fit: it wraps to -2^31.
    q = hn::IfThenElse(hn::Eq(b, hn::Set(d, -1)), hn::Sub(zero, a), q);
    if constexpr (!kRemainder) return q;
    return hn::IfThenElseZero(hn::Ne(b, zero), hn::Sub(a, hn::Mul(q, b)));
  }
};

template <class F>
void divide32_kernel(void* out, const void* a, const void* b, const void*, Steps steps,
                     std::int64_t count) {
  const D32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t step_a = lanes * steps.a;
  const std::int64_t step_b = lanes * steps.b;
  const auto* x = static_cast<const std::int32_t*>(a);
  const auto* y = static_cast<const std::int32_t*>(b);
  auto* z = static_cast<std::int32_t*>(out);
  TENDON_UNROLL(2)
  for (std::int64_t i = 0; i < count; i += lanes) {
    hn::StoreU(F::apply(d, hn::LoadU(d, x), hn::LoadU(d, y)), d, z + i);
    x += step_a;
    y += step_b;
  }
}

// 64-bit quotients are exact through float64, for the same reason, while the operands are below
// 2^52 in magnitude; vectors that hold larger ones are divided one by one.
using D64 = Tag<std::int64_t>;
using V64 = hn::Vec<D64>;

HWY_INLINE bool all_moderate(V64 a, V64 b) {
  const D64 d;
  const V64 limit = hn::Set(d, std::int64_t{1} << 52);
  return hn::AllTrue(d, hn::And(hn::Lt(hn::Abs(a), limit), hn::Lt(hn::Abs(b), limit))) &&
         hn::AllTrue(d, hn::And(hn::Gt(a, hn::Neg(limit)), hn::Gt(b, hn::Neg(limit))));
}

template <Division kDivision, bool kRemainder>
std::int64_t divide_one(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return kRemainder ? 0 : static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
  std::int64_t q = a / b;
  std::int64_t rest = a % b;
  if (kDivision == Division::kFloor && rest != 0 && (rest < 0) != (b < 0)) {
    q -= 1;
    rest += b;
  }
  return kRemainder ? rest : q;
}

template <Division kDivision, bool kRemainder>
struct Divide64 {
  static HWY_INLINE V64 apply(D64 d, V64 a, V64 b) {
    const Tag<double> dd;
    if (HWY_LIKELY(all_moderate(a, b))) {
      const V64 q =
          hn::ConvertTo(d, quotient<kDivision>(hn::ConvertTo(dd, a), hn::ConvertTo(dd, b)));
      if constexpr (!kRemainder) return q;
      return hn::IfThenElseZero(hn::Ne(b, hn::Zero(d)), hn::Sub(a, hn::Mul(q, b)));
    }
    HWY_ALIGN std::int64_t x[kVectorBytes / 8];
    HWY_ALIGN std::int64_t y[kVectorBytes / 8];
    hn::Store(a, d, x);
    hn::Store(b, d, y);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
      x[i] = divide_one<kDivision, kRemainder>(x[i], y[i]);
    }
    return hn::Load(d, x);
  }
};

template <bool kRemainder>
void divide_unsigned_kernel(void* out, const void* a, const void* b, const void*, Steps steps,
                            std::int64_t count) {
  const auto* x = static_cast<const std::uint64_t*>(a);
  const auto* y = static_cast<const std::uint64_t*>(b);
  auto* z = static_cast<std::uint64_t*>(out);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t dividend = x[i * steps.a];
    const std::uint64_t divisor = y[i * steps.b];
    z[i] = divisor == 0 ? 0 : (kRemainder ? dividend % divisor : dividend / divisor);
  }
}

}  // namespace

void fill_integer(KernelTable& table) {
  constexpr auto kFloor = Division::kFloor;
  constexpr auto kTrunc = Division::kTrunc;
  TileType type = TileType::kInt32;
  table.at(Op::kFloorDivide, type) = divide32_kernel<Divide32<kFloor, false>>;
  table.at(Op::kTruncDivide, type) = divide32_kernel<Divide32<kTrunc, false>>;
  table.at(Op::kRemainder, type) = divide32_kernel<Divide32<kFloor, true>>;
  table.at(Op::kFmod, type) = divide32_kernel<Divide32<kTrunc, true>>;
  type = TileType::kInt64;
  table.at(Op::kFloorDivide, type) = binary_kernel<std::int64_t, Divide64<kFloor, false>>;
  table.at(Op::kTruncDivide, type) = binary_kernel<std::int64_t, Divide64<kTrunc, false>>;
  table.at(Op::kRemainder, type) = binary_kernel<std::int64_t, Divide64<kFloor, true>>;
  table.at(Op::kFmod, type) = binary_kernel<std::int64_t, Divide64<kTrunc, true>>;
  type = TileType::kUInt64;
  table.at(Op::kFloorDivide, type) = divide_unsigned_kernel<false>;
  table.at(Op::kTruncDivide, type) = divide_unsigned_kernel<false>;
  table.at(Op::kRemainder, type) = divide_unsigned_kernel<true>;
  table.at(Op::kFmod, type) = divide_unsigned_kernel<true>;
}

}  // namespace HWY_NAMESPACE
}  // namespace tendon::backends::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tendon::backends::cpu {
HWY_EXPORT(fill_integer);
void fill_integer_kernels(KernelTable& table) { HWY_DYNAMIC_DISPATCH(fill_integer)(table); }
}  // namespace tendon::backends::cpu
#endif
