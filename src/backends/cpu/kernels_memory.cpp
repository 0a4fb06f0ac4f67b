// Between memory, in a tensor's own type and with strides, and registers, in carriers.
#include <cstring>
#include <type_traits>

#include "backends/cpu/kernel_table.h"
#include "base/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels_memory.cpp"
#include "backends/cpu/kernel_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h.
#include "backends/cpu/kernel_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tendon::backends::cpu {
namespace HWY_NAMESPACE {
namespace {

/// How a memory type is read into and written from its carrier.
template <typename Memory, typename Carrier>
struct Element {
  static Carrier load(Memory value) { return static_cast<Carrier>(value); }
  static Memory store(Carrier value) { return static_cast<Memory>(value); }
};

/// One vector of contiguous elements.
template <typename Memory, typename Carrier>
struct Contiguous {
  using DCarrier = Tag<Carrier>;

  static HWY_INLINE void load(Carrier* out, const Memory* in) {
    const DCarrier d;
    if constexpr (std::is_same_v<Memory, Float16>) {
      const hn::Rebind<hwy::float16_t, DCarrier> dm;
      hn::StoreU(hn::PromoteTo(d, hn::LoadU(dm, reinterpret_cast<const hwy::float16_t*>(in))), d,
                 out);
    } else if constexpr (std::is_same_v<Memory, BFloat16>) {
      const hn::Rebind<std::uint16_t, DCarrier> dm;
      const hn::RebindToUnsigned<DCarrier> du;
      const auto bits =
          hn::PromoteTo(du, hn::LoadU(dm, reinterpret_cast<const std::uint16_t*>(in)));
      hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(bits)), d, out);
    } else {
      const hn::Rebind<Memory, DCarrier> dm;
      if constexpr (sizeof(Carrier) == 8) {  // uint32 to int64
        const hn::RebindToUnsigned<DCarrier> du;
        hn::StoreU(hn::BitCast(d, hn::PromoteTo(du, hn::LoadU(dm, in))), d, out);
      } else {
        hn::StoreU(hn::PromoteTo(d, hn::LoadU(dm, in)), d, out);
      }
    }
  }

  static HWY_INLINE void store(Memory* out, const Carrier* in) {
    const DCarrier d;
    const hn::RebindToUnsigned<DCarrier> du;
    const auto v = hn::LoadU(d, in);
    if constexpr (std::is_same_v<Memory, Float16>) {
      const hn::Rebind<hwy::float16_t, DCarrier> dm;
      hn::StoreU(hn::DemoteTo(dm, v), dm, reinterpret_cast<hwy::float16_t*>(out));
    } else if constexpr (std::is_same_v<Memory, BFloat16>) {
      const hn::Rebind<std::uint16_t, DCarrier> dm;
      const auto bits = hn::BitCast(du, v);
      const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
      const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fff)));
      const auto quiet = hn::Or(bits, hn::Set(du, 0x400000));
      const auto nan = hn::RebindMask(du, hn::Not(hn::Eq(v, v)));
      const auto high = hn::ShiftRight<16>(hn::IfThenElse(nan, quiet, rounded));
      hn::StoreU(hn::TruncateTo(dm, high), dm, reinterpret_cast<std::uint16_t*>(out));
    } else {
      using Unsigned = std::make_unsigned_t<Memory>;
      const hn::Rebind<Unsigned, DCarrier> dm;
      hn::StoreU(hn::TruncateTo(dm, hn::BitCast(du, v)), dm, reinterpret_cast<Unsigned*>(out));
    }
  }
};

// The portable target converts one by one below.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
constexpr bool kVectors = false;
#else
constexpr bool kVectors = true;
#endif

template <typename Memory, typename Carrier>
void load_kernel(void* out, const void* memory, std::int64_t stride, std::int64_t count) {
  auto* y = static_cast<Carrier*>(out);
  const auto* x = static_cast<const Memory*>(memory);
  if (stride == 1) {
    if constexpr (std::is_same_v<Memory, Carrier>) {
      std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(Carrier));
    } else {
      std::int64_t i = 0;
      if constexpr (kVectors) {
        const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag<Carrier>()));
        for (; i + lanes <= count; i += lanes) Contiguous<Memory, Carrier>::load(y + i, x + i);
      }
      for (; i < count; ++i) y[i] = Element<Memory, Carrier>::load(x[i]);
    }
  } else if (stride == 0) {
    const Carrier value = Element<Memory, Carrier>::load(*x);
    for (std::int64_t i = 0; i < count; ++i) y[i] = value;
  } else {
    TENDON_UNROLL(4)
    for (std::int64_t i = 0; i < count; ++i) {
      y[i] = Element<Memory, Carrier>::load(*x);
      x += stride;
    }
  }
}

template <typename Memory, typename Carrier>
void store_kernel(void* memory, const void* in, int step, std::int64_t stride, std::int64_t count) {
  auto* y = static_cast<Memory*>(memory);
  const auto* x = static_cast<const Carrier*>(in);
  if (step == 0) {
    const Memory value = Element<Memory, Carrier>::store(*x);
    if (stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) y[i] = value;
    } else {
      for (std::int64_t i = 0; i < count; ++i) y[i * stride] = value;
    }
  } else if (stride == 1) {
    if constexpr (std::is_same_v<Memory, Carrier>) {
      std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(Carrier));
    } else {
      std::int64_t i = 0;
      if constexpr (kVectors) {
        const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag<Carrier>()));
        for (; i + lanes <= count; i += lanes) Contiguous<Memory, Carrier>::store(y + i, x + i);
      }
      for (; i < count; ++i) y[i] = Element<Memory, Carrier>::store(x[i]);
    }
  } else {
    TENDON_UNROLL(4)
    for (std::int64_t i = 0; i < count; ++i) {
      *y = Element<Memory, Carrier>::store(x[i]);
      y += stride;
    }
  }
}

template <typename Memory, typename Carrier>
void gather_kernel(void* out, const void* memory, std::int64_t stride, const std::int64_t* offsets,
                   const std::uint8_t* mask, Steps steps, std::int64_t count) {
  auto* y = static_cast<Carrier*>(out);
  const auto* x = static_cast<const Memory*>(memory);
  if (mask == nullptr) {
    TENDON_UNROLL(4)
    for (std::int64_t i = 0; i < count; ++i) {
      y[i] = Element<Memory, Carrier>::load(x[i * stride + offsets[i * steps.a]]);
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    y[i] = mask[i * steps.b] != 0
               ? Element<Memory, Carrier>::load(x[i * stride + offsets[i * steps.a]])
               : Carrier(0);
  }
}

template <typename Memory, typename Carrier>
void fill_type(KernelTable& table, DType dtype) {
  const int i = static_cast<int>(dtype);
  table.load[i] = load_kernel<Memory, Carrier>;
  table.store[i] = store_kernel<Memory, Carrier>;
  table.gather[i] = gather_kernel<Memory, Carrier>;
}

}  // namespace

void fill_memory(KernelTable& table) {
  fill_type<std::uint8_t, std::uint8_t>(table, DType::kBool);
  fill_type<std::uint8_t, std::int32_t>(table, DType::kUInt8);
  fill_type<std::int8_t, std::int32_t>(table, DType::kInt8);
  fill_type<std::int16_t, std::int32_t>(table, DType::kInt16);
  fill_type<std::int32_t, std::int32_t>(table, DType::kInt32);
  fill_type<std::int64_t, std::int64_t>(table, DType::kInt64);
  fill_type<std::uint16_t, std::int32_t>(table, DType::kUInt16);
  fill_type<std::uint32_t, std::int64_t>(table, DType::kUInt32);
  fill_type<std::uint64_t, std::uint64_t>(table, DType::kUInt64);
  fill_type<Float16, float>(table, DType::kFloat16);
  fill_type<BFloat16, float>(table, DType::kBFloat16);
  fill_type<float, float>(table, DType::kFloat32);
  fill_type<double, double>(table, DType::kFloat64);
}

}  // namespace HWY_NAMESPACE
}  // namespace tendon::backends::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tendon::backends::cpu {
HWY_EXPORT(fill_memory);
void fill_memory_kernels(KernelTable& table) { HWY_DYNAMIC_DISPATCH(fill_memory)(table); }
}  // namespace tendon::backends::cpu
#endif
