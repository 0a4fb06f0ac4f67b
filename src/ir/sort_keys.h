// Elements as unsigned keys whose order is the order of sorting: NaN is the largest, zeros of both
// signs are equal. Descending order is that of the complement, so that equal elements stay in their
// order either way.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/half.h"

namespace tendon::ir {

template <typename T>
struct SortKey {
  static std::uint64_t of(T x) {
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
      const auto number = static_cast<float>(x);
      if (number != number) return 0xffff;
      const unsigned bits = number == 0 ? 0u : x.bits;
      return (bits & 0x8000u) != 0 ? ~bits & 0xffffu : bits | 0x8000u;
    } else if constexpr (std::is_floating_point_v<T>) {
      using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      constexpr U kSign = U{1} << (sizeof(T) * 8 - 1);
      if (x != x) return static_cast<U>(-1);
      const U bits = std::bit_cast<U>(x == 0 ? T(0) : x);
      return (bits & kSign) != 0 ? static_cast<U>(~bits) : static_cast<U>(bits | kSign);
    } else if constexpr (std::is_signed_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<U>(static_cast<U>(x) ^ (U{1} << (sizeof(T) * 8 - 1)));
    } else {
      return x;
    }
  }
};

}  // namespace tendon::ir
