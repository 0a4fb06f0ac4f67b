// Casts between carriers, and wrapping to the narrow types that are carried wider.
#include "backends/cpu/kernel_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels_cast.cpp"
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

// Between types of different sizes. To is a tag.
struct Promote {
  template <class D, class V>
  static HWY_INLINE hn::Vec<D> apply(D d, V v) {
    return hn::PromoteTo(d, v);
  }
};
struct Truncate {
  template <class D, class V>
  static HWY_INLINE hn::Vec<D> apply(D d, V v) {
    const hn::RebindToUnsigned<hn::DFromV<V>> du_from;
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(d, hn::TruncateTo(du, hn::BitCast(du_from, v)));
  }
};
struct Demote {
  template <class D, class V>
  static HWY_INLINE hn::Vec<D> apply(D d, V v) {
    return hn::DemoteTo(d, v);
  }
};
struct Convert {
  template <class D, class V>
  static HWY_INLINE hn::Vec<D> apply(D d, V v) {
    return hn::ConvertTo(d, v);
  }
};

/// Bytes 0 and 1 to numbers.
template <typename To>
void bool_kernel(void* out, const void* a, const void*, const void*, Steps steps,
                 std::int64_t count) {
  const Tag<To> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto* x = static_cast<const std::uint8_t*>(a);
  To* y = static_cast<To*>(out);
  const auto one = hn::Set(d, To(1));
  TENDON_UNROLL(2)
  for (std::int64_t i = 0; i < count; i += lanes) {
    hn::StoreU(hn::IfThenElseZero(load_mask(d, x), one), d, y + i);
    x += lanes * steps.a;
  }
}

// Integers in the range of a narrower type of kBits.
template <int kBits>
struct WrapSigned {
  template <class D, class V>
  static HWY_INLINE V apply(D, V v) {
    constexpr int kShift = static_cast<int>(sizeof(hn::TFromD<D>)) * 8 - kBits;
    return hn::ShiftRight<kShift>(hn::ShiftLeft<kShift>(v));
  }
};
template <int kBits>
struct WrapUnsigned {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V v) {
    return hn::And(v, hn::Set(d, static_cast<hn::TFromD<D>>((std::int64_t{1} << kBits) - 1)));
  }
};

struct WrapBFloat16 {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V v) {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fff)));
    const auto quiet = hn::Or(bits, hn::Set(du, 0x400000));
    const auto nan = hn::RebindMask(du, hn::Not(hn::Eq(v, v)));
    return hn::BitCast(d, hn::And(hn::IfThenElse(nan, quiet, rounded), hn::Set(du, 0xffff0000u)));
  }
};

}  // namespace

void fill_cast(KernelTable& table) {
  const auto kBool = TileType::kBool;
  const auto kI32 = TileType::kInt32;
  const auto kI64 = TileType::kInt64;
  const auto kU64 = TileType::kUInt64;
  const auto kF32 = TileType::kFloat32;
  const auto kF64 = TileType::kFloat64;
  table.cast_at(kBool, kI32) = bool_kernel<std::int32_t>;
  table.cast_at(kBool, kI64) = table.cast_at(kBool, kU64) = bool_kernel<std::int64_t>;
  table.cast_at(kBool, kF32) = bool_kernel<float>;
  table.cast_at(kBool, kF64) = bool_kernel<double>;
  table.cast_at(kI32, kI64) = convert_kernel<std::int32_t, std::int64_t, Promote>;
  table.cast_at(kI32, kU64) = table.cast_at(kI32, kI64);
  table.cast_at(kI64, kI32) = convert_kernel<std::int64_t, std::int32_t, Truncate>;
  table.cast_at(kU64, kI32) = table.cast_at(kI64, kI32);
  table.cast_at(kI32, kF32) = convert_kernel<std::int32_t, float, Convert>;
  table.cast_at(kI32, kF64) = convert_kernel<std::int32_t, double, Promote>;
  table.cast_at(kI64, kF64) = convert_kernel<std::int64_t, double, Convert>;
  table.cast_at(kF32, kF64) = convert_kernel<float, double, Promote>;
  table.cast_at(kF64, kF32) = convert_kernel<double, float, Demote>;

  table.wrap_at(DType::kInt8) = unary_kernel<std::int32_t, WrapSigned<8>>;
  table.wrap_at(DType::kInt16) = unary_kernel<std::int32_t, WrapSigned<16>>;
  table.wrap_at(DType::kUInt8) = unary_kernel<std::int32_t, WrapUnsigned<8>>;
  table.wrap_at(DType::kUInt16) = unary_kernel<std::int32_t, WrapUnsigned<16>>;
  table.wrap_at(DType::kUInt32) = unary_kernel<std::int64_t, WrapUnsigned<32>>;
  table.wrap_at(DType::kBFloat16) = unary_kernel<float, WrapBFloat16>;
}

}  // namespace HWY_NAMESPACE
}  // namespace tendon::backends::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tendon::backends::cpu {
HWY_EXPORT(fill_cast);
void fill_cast_kernels(KernelTable& table) { HWY_DYNAMIC_DISPATCH(fill_cast)(table); }
}  // namespace tendon::backends::cpu
#endif
