// Reductions by groups of threads: 1, 2, 4, ..., 32 lanes of a warp, or whole blocks. Parts are
// merged in a fixed order, so that the same inputs give the same bits.
#pragma once

#include "device_std.cuh"

namespace tendon::device {

enum class Reduction { kSum, kProduct, kMin, kMax, kAny, kAll, kArgMin, kArgMax, kMoments };

/// Whether x comes before the present extreme: NaN is the most extreme.
template <bool minimum, typename T>
inline __device__ bool more_extreme(T x, T present) {
  if constexpr (std::is_floating_point_v<T>) {
    if (present != present) return false;
    if (x != x) return true;
  }
  return minimum ? x < present : present < x;
}

/// What no element is beyond.
template <bool minimum, typename T>
inline __device__ T extreme_start() {
  if constexpr (std::is_floating_point_v<T>) {
    return minimum ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
  } else {
    return minimum ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
  }
}

template <Reduction reduction, typename T>
struct Accumulator {
  static constexpr bool kMinimum = reduction == Reduction::kMin || reduction == Reduction::kArgMin;
  T value;
  __device__ void start() {
    if constexpr (reduction == Reduction::kSum || reduction == Reduction::kAny) value = T(0);
    if constexpr (reduction == Reduction::kProduct || reduction == Reduction::kAll) value = T(1);
    if constexpr (reduction == Reduction::kMin || reduction == Reduction::kMax)
      value = extreme_start<kMinimum, T>();
  }
  __device__ void add(T x, long long) {
    if constexpr (reduction == Reduction::kAny) {
      value = value || x;
    } else if constexpr (reduction == Reduction::kAll) {
      value = value && x;
    } else if constexpr (reduction == Reduction::kSum && std::is_integral_v<T>) {
      value = static_cast<T>(static_cast<unsigned long long>(value) +
                             static_cast<unsigned long long>(x));
    } else if constexpr (reduction == Reduction::kProduct && std::is_integral_v<T>) {
      value = static_cast<T>(static_cast<unsigned long long>(value) *
                             static_cast<unsigned long long>(x));
    } else if constexpr (reduction == Reduction::kSum) {
      value = value + x;
    } else if constexpr (reduction == Reduction::kProduct) {
      value = value * x;
    } else {
      if (more_extreme<kMinimum>(x, value)) value = x;
    }
  }
  __device__ void merge(const Accumulator& other) { add(other.value, 0); }
  __device__ T result() const { return value; }
};

/// The first of the most extreme elements.
template <Reduction reduction, typename T>
requires(reduction == Reduction::kArgMin ||
         reduction == Reduction::kArgMax) struct Accumulator<reduction, T> {
  static constexpr bool kMinimum = reduction == Reduction::kArgMin;
  T value;
  long long position;  // -1: no element yet
  __device__ void start() {
    value = T(0);
    position = -1;
  }
  __device__ void add(T x, long long at) {
    if (at < 0) return;
    const bool equal = !more_extreme<kMinimum>(x, value) && !more_extreme<kMinimum>(value, x);
    if (position < 0 || more_extreme<kMinimum>(x, value) || (equal && at < position)) {
      value = x;
      position = at;
    }
  }
  __device__ void merge(const Accumulator& other) { add(other.value, other.position); }
  __device__ long long result() const { return position < 0 ? 0 : position; }
};

/// Mean and sum of squared deviations, one element after the other (Welford, 1962), parts merged as
/// Chan, Golub and LeVeque do (1979).
template <typename T>
struct Accumulator<Reduction::kMoments, T> {
  T mean, deviations;
  T count;
  __device__ void start() { mean = deviations = count = T(0); }
  __device__ void add(T x, long long) {
    count += T(1);
    const T delta = x - mean;
    mean += delta / count;
    deviations += delta * (x - mean);
  }
  __device__ void merge(const Accumulator& other) {
    if (other.count == T(0)) return;
    if (count == T(0)) {
      *this = other;
      return;
    }
    const T total = count + other.count;
    const T delta = other.mean - mean;
    mean += delta * (other.count / total);
    deviations += other.deviations + delta * delta * (count * other.count / total);
    count = total;
  }
  __device__ T result() const { return count == T(0) ? std::numeric_limits<T>::quiet_NaN() : mean; }
  __device__ T second() const { return deviations; }
};

template <typename T>
inline __device__ T shuffle_down(unsigned lanes, T value, int distance, int width) {
  constexpr int kWords = (sizeof(T) + 3) / 4;
  int words[kWords] = {};
  memcpy(words, &value, sizeof(T));
  for (int i = 0; i < kWords; ++i) words[i] = __shfl_down_sync(lanes, words[i], distance, width);
  memcpy(&value, words, sizeof(T));
  return value;
}
template <typename T>
inline __device__ T shuffle_from(unsigned lanes, T value, int lane, int width) {
  constexpr int kWords = (sizeof(T) + 3) / 4;
  int words[kWords] = {};
  memcpy(words, &value, sizeof(T));
  for (int i = 0; i < kWords; ++i) words[i] = __shfl_sync(lanes, words[i], lane, width);
  memcpy(&value, words, sizeof(T));
  return value;
}

/// The lanes of this thread's warp that work with it.
template <int group>
inline __device__ unsigned group_lanes() {
  if constexpr (group >= 32) return 0xffffffffu;
  const unsigned first = (threadIdx.x % 32) / group * group;
  return ((1u << group) - 1u) << first;
}

template <int group>
inline __device__ void group_sync() {
  if constexpr (group > 32) {
    __syncthreads();
  } else if constexpr (group > 1) {
    __syncwarp(group_lanes<group>());
  }
}

/// Merges the accumulators of a group; every thread of it gets the whole. Groups of more than 32
/// are blocks: `shared` holds an accumulator for each of their warps.
template <int group, typename A>
inline __device__ A reduce_group(A accumulator, char* shared) {
  if constexpr (group == 1) return accumulator;
  constexpr int kWidth = group < 32 ? group : 32;
  const unsigned lanes = group_lanes<kWidth>();
  for (int distance = kWidth / 2; distance > 0; distance /= 2) {
    const A other = shuffle_down(lanes, accumulator, distance, kWidth);
    if (static_cast<int>(threadIdx.x % kWidth) < distance) accumulator.merge(other);
  }
  if constexpr (group <= 32) {
    return shuffle_from(lanes, accumulator, 0, kWidth);
  } else {
    A* parts = reinterpret_cast<A*>(shared);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = accumulator;
    __syncthreads();
    A whole = parts[0];
    for (int warp = 1; warp < group / 32; ++warp) whole.merge(parts[warp]);
    __syncthreads();  // `shared` is free again
    return whole;
  }
}

}  // namespace tendon::device
