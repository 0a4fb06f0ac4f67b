// Comparisons, and choices by them.
#include "backends/cpu/kernel_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels_compare.cpp"
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

struct Less {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D, V a, V b) {
    return hn::Lt(a, b);
  }
};
struct LessEqual {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D, V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::Le(a, b);
    } else {
      return hn::Not(hn::Lt(b, a));
    }
  }
};
struct Equal {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D, V a, V b) {
    return hn::Eq(a, b);
  }
};
struct NotEqual {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D, V a, V b) {
    // hn::Ne is false for NaN.
    return hn::Not(hn::Eq(a, b));
  }
};
struct IsNan {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D, V a) {
    return hn::Not(hn::Eq(a, a));
  }
};
struct NotZero {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D d, V a) {
    return hn::Not(hn::Eq(a, hn::Zero(d)));
  }
};

template <typename T>
void fill_type(KernelTable& table, TileType type) {
  table.at(Op::kLess, type) = compare_kernel<T, Less>;
  table.at(Op::kLessEqual, type) = compare_kernel<T, LessEqual>;
  table.at(Op::kEqual, type) = compare_kernel<T, Equal>;
  table.at(Op::kNotEqual, type) = compare_kernel<T, NotEqual>;
  table.at(Op::kSelect, type) = select_kernel<T>;
  if (type != TileType::kBool) table.cast_at(type, TileType::kBool) = predicate_kernel<T, NotZero>;
}

void fill(KernelTable& table) {
  fill_type<std::uint8_t>(table, TileType::kBool);
  fill_type<std::int32_t>(table, TileType::kInt32);
  fill_type<std::int64_t>(table, TileType::kInt64);
  fill_type<std::uint64_t>(table, TileType::kUInt64);
  fill_type<float>(table, TileType::kFloat32);
  fill_type<double>(table, TileType::kFloat64);
  table.at(Op::kIsNan, TileType::kFloat32) = predicate_kernel<float, IsNan>;
  table.at(Op::kIsNan, TileType::kFloat64) = predicate_kernel<double, IsNan>;
}

}  // namespace

void fill_compare(KernelTable& table) { fill(table); }

}  // namespace HWY_NAMESPACE
}  // namespace tendon::backends::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tendon::backends::cpu {
HWY_EXPORT(fill_compare);
void fill_compare_kernels(KernelTable& table) { HWY_DYNAMIC_DISPATCH(fill_compare)(table); }
}  // namespace tendon::backends::cpu
#endif
