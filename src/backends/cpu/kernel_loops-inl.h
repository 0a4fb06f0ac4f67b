// Loops over tiles for one instruction set; included once per target (no pragma once).
#if defined(TENDON_KERNEL_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENDON_KERNEL_LOOPS_INL_H_
#undef TENDON_KERNEL_LOOPS_INL_H_
#else
#define TENDON_KERNEL_LOOPS_INL_H_
#endif

#include <cstdint>

#include "backends/cpu/tile.h"
#include "hwy/highway.h"

#ifndef TENDON_UNROLL
#define TENDON_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define TENDON_UNROLL(n) TENDON_PRAGMA(clang loop unroll_count(n))
#else
#define TENDON_UNROLL(n) TENDON_PRAGMA(GCC unroll n)
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace tendon::backends::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Tag = hn::ScalableTag<T>;

/// The mask as bytes 0 and 1, one for every lane of D.
template <class D, class M>
HWY_INLINE void store_mask(D d, M mask, std::uint8_t* out) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint8_t, D> d8;
  const auto bits = hn::IfThenElseZero(hn::RebindMask(du, mask), hn::Set(du, 1));
  if constexpr (sizeof(hn::TFromD<D>) == 1) {
    hn::StoreU(bits, d8, out);
  } else {
    hn::StoreU(hn::TruncateTo(d8, bits), d8, out);
  }
  (void)d;
}

/// Bytes, not 0 for true, as a mask for the lanes of D.
template <class D>
HWY_INLINE hn::Mask<D> load_mask(D d, const std::uint8_t* in) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint8_t, D> d8;
  const auto bytes = hn::LoadU(d8, in);
  if constexpr (sizeof(hn::TFromD<D>) == 1) {
    return hn::RebindMask(d, hn::Ne(bytes, hn::Zero(du)));
  } else if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::RebindMask(d, hn::Ne(hn::PromoteTo(du, bytes), hn::Zero(du)));
  } else {
    const hn::Rebind<std::uint32_t, D> d32;
    return hn::RebindMask(d, hn::Ne(hn::PromoteTo(du, hn::PromoteTo(d32, bytes)), hn::Zero(du)));
  }
}

// Each kernel is a function template over an operation with a static apply().

template <typename T, class F>
void unary_kernel(void* out, const void* a, const void*, const void*, Steps steps,
                  std::int64_t count) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t step_a = lanes * steps.a;
  const T* x = static_cast<const T*>(a);
  T* y = static_cast<T*>(out);
  TENDON_UNROLL(2)
  for (std::int64_t i = 0; i < count; i += lanes) {
    hn::StoreU(F::apply(d, hn::LoadU(d, x)), d, y + i);
    x += step_a;
  }
}

template <typename T, class F>
void binary_kernel(void* out, const void* a, const void* b, const void*, Steps steps,
                   std::int64_t count) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t step_a = lanes * steps.a;
  const std::int64_t step_b = lanes * steps.b;
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* z = static_cast<T*>(out);
  TENDON_UNROLL(4)
  for (std::int64_t i = 0; i < count; i += lanes) {
    hn::StoreU(F::apply(d, hn::LoadU(d, x), hn::LoadU(d, y)), d, z + i);
    x += step_a;
    y += step_b;
  }
}

/// F gives a mask.
template <typename T, class F>
void predicate_kernel(void* out, const void* a, const void*, const void*, Steps steps,
                      std::int64_t count) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t step_a = lanes * steps.a;
  const T* x = static_cast<const T*>(a);
  auto* z = static_cast<std::uint8_t*>(out);
  for (std::int64_t i = 0; i < count; i += lanes) {
    store_mask(d, F::apply(d, hn::LoadU(d, x)), z + i);
    x += step_a;
  }
}

template <typename T, class F>
void compare_kernel(void* out, const void* a, const void* b, const void*, Steps steps,
                    std::int64_t count) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t step_a = lanes * steps.a;
  const std::int64_t step_b = lanes * steps.b;
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  auto* z = static_cast<std::uint8_t*>(out);
  TENDON_UNROLL(2)
  for (std::int64_t i = 0; i < count; i += lanes) {
    store_mask(d, F::apply(d, hn::LoadU(d, x), hn::LoadU(d, y)), z + i);
    x += step_a;
    y += step_b;
  }
}

template <typename T>
void select_kernel(void* out, const void* a, const void* b, const void* c, Steps steps,
                   std::int64_t count) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t step_a = lanes * steps.a;
  const std::int64_t step_b = lanes * steps.b;
  const std::int64_t step_c = lanes * steps.c;
  const auto* condition = static_cast<const std::uint8_t*>(a);
  const T* x = static_cast<const T*>(b);
  const T* y = static_cast<const T*>(c);
  T* z = static_cast<T*>(out);
  TENDON_UNROLL(2)
  for (std::int64_t i = 0; i < count; i += lanes) {
    hn::StoreU(hn::IfThenElse(load_mask(d, condition), hn::LoadU(d, x), hn::LoadU(d, y)), d, z + i);
    condition += step_a;
    x += step_b;
    y += step_c;
  }
}

/// F::apply(tag of To, vector of as many From) where the two may differ in size. The loop has the
/// lanes of the wider type.
template <typename From, typename To, class F>
void convert_kernel(void* out, const void* a, const void*, const void*, Steps steps,
                    std::int64_t count) {
  using Wider = std::conditional_t<(sizeof(From) > sizeof(To)), From, To>;
  const hn::Rebind<From, Tag<Wider>> d_from;
  const hn::Rebind<To, Tag<Wider>> d_to;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d_from));
  const std::int64_t step_a = lanes * steps.a;
  const From* x = static_cast<const From*>(a);
  To* y = static_cast<To*>(out);
  TENDON_UNROLL(2)
  for (std::int64_t i = 0; i < count; i += lanes) {
    hn::StoreU(F::apply(d_to, hn::LoadU(d_from, x)), d_to, y + i);
    x += step_a;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tendon::backends::cpu
HWY_AFTER_NAMESPACE();

#endif  // TENDON_KERNEL_LOOPS_INL_H_
