// Combining elements in an order that does not depend on which thread comes first.
#pragma once

#include "sort.cuh"

namespace tendon::device {

enum class AtomicCombine { kAdd, kMin, kMax };

/// For integers of 32 and 64 bits, where any order gives the same.
template <AtomicCombine combine, typename T>
inline __device__ void combine_atomically(T* element, T value) {
  if constexpr (combine == AtomicCombine::kAdd) {
    using U = std::make_unsigned_t<T>;
    atomicAdd(reinterpret_cast<U*>(element), static_cast<U>(value));
  } else if constexpr (combine == AtomicCombine::kMin) {
    atomicMin(element, value);
  } else {
    atomicMax(element, value);
  }
}

/// For an element whose entries start at `first`: `combined(sum, value(position))` one after the
/// other. Some values are read ahead, as reading takes much longer than combining.
template <typename Entry, typename T, typename ValueAt, typename Combine>
inline __device__ T combine_run(const Entry* entries, long long first, long long count, T sum,
                                const ValueAt& value, const Combine& combined) {
  constexpr int kAhead = 4;
  const auto key = entries[first].key();
  for (;; first += kAhead) {
    bool ours[kAhead];
    T values[kAhead];
    for (int k = 0; k < kAhead; ++k) {
      ours[k] = first + k < count && entries[first + k].key() == key;
      values[k] = ours[k] ? value(entries[first + k].position()) : T(0);
    }
    for (int k = 0; k < kAhead; ++k) {
      if (!ours[k]) return sum;
      sum = combined(sum, values[k]);
    }
  }
}

/// `combine(target, first)` for every element that has entries; those with the last key are of no
/// element.
template <typename Entry, typename Combine>
inline __device__ void for_each_run(const Entry* entries, long long count, const Combine& combine) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += threads) {
    const auto key = entries[i].key();
    if (key == Entry::kLastKey || (i > 0 && entries[i - 1].key() == key)) continue;
    combine(static_cast<long long>(key), i);
  }
}

}  // namespace tendon::device
