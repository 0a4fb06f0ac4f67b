// Inclusive prefix operations: by a thread for each line, element after element, or by a block for
// each line, chunk after chunk. Float sums are kept in float64 and rounded as they are written.
#pragma once

#include "device_std.cuh"

namespace tendon::device {

enum class Prefix { kSum, kProduct, kMax, kMin, kLogSumExp };

inline constexpr int kScanThreads = 256;
inline constexpr int kScanItems = 4;  // neighbouring elements of a thread

template <typename T>
using PrefixNumber = std::conditional_t<std::is_floating_point_v<T>, double, T>;

/// The operation over some elements in a row; `position` is the latest extreme's. Joining is
/// associative (of float sums: up to rounding), and joining with nothing() changes nothing.
template <Prefix prefix, typename T>
struct PrefixState {
  static constexpr bool kExtreme = prefix == Prefix::kMax || prefix == Prefix::kMin;
  using Number = std::conditional_t<kExtreme, T, PrefixNumber<T>>;
  Number number;
  long long position;  // of extremes; otherwise of any element; -1: no element

  static __device__ PrefixState nothing() { return {Number(0), -1}; }
  static __device__ PrefixState of(T x, long long at) { return {static_cast<Number>(x), at}; }

  static __device__ Number join(Number a, Number b) {
    if constexpr (prefix == Prefix::kLogSumExp) {
      if (a != a || b != b) return std::numeric_limits<double>::quiet_NaN();
      const double low = a < b ? a : b;
      const double high = a < b ? b : a;
      // Equal infinities have no difference.
      return low == high && std::isinf(low) ? high : high + ::log1p(::exp(low - high));
    } else if constexpr (std::is_integral_v<T>) {
      const auto x = static_cast<unsigned long long>(a);
      const auto y = static_cast<unsigned long long>(b);
      return static_cast<Number>(prefix == Prefix::kSum ? x + y : x * y);
    } else {
      return prefix == Prefix::kSum ? a + b : a * b;
    }
  }

  /// This state, then `later`.
  __device__ void append(const PrefixState& later) {
    if (later.position < 0) return;
    if (position < 0) {
      *this = later;
    } else if constexpr (kExtreme) {
      const bool takes = later.number != later.number ||
                         (number == number && (prefix == Prefix::kMax ? later.number >= number
                                                                      : later.number <= number));
      if (takes) *this = later;
    } else {
      number = join(number, later.number);
    }
  }
};

/// Appends the states of a block's threads in their order: every thread gets what comes before it,
/// and in `whole` all of them. `parts` has room for kScanThreads states.
template <typename State>
inline __device__ State scan_block(State own, State* parts, State& whole) {
  const int thread = static_cast<int>(threadIdx.x);
  parts[thread] = own;
  __syncthreads();
  for (int distance = 1; distance < kScanThreads; distance *= 2) {
    State joined = thread >= distance ? parts[thread - distance] : State::nothing();
    joined.append(own);
    __syncthreads();
    own = joined;
    parts[thread] = own;
    __syncthreads();
  }
  const State before = thread > 0 ? parts[thread - 1] : State::nothing();
  whole = parts[kScanThreads - 1];
  __syncthreads();
  return before;
}

/// `load(line, at)` gives the element as T; `store(line, at, number, position)` takes the
/// prefix.
template <Prefix prefix, typename T, typename Load, typename Store>
inline __device__ void scan_lines_by_blocks(long long lines, long long length, const Load& load,
                                            const Store& store) {
  using State = PrefixState<prefix, T>;
  __shared__ State parts[kScanThreads];
  for (long long line = blockIdx.x; line < lines; line += gridDim.x) {
    State carried = State::nothing();
    for (long long chunk = 0; chunk < length; chunk += kScanThreads * kScanItems) {
      const long long first = chunk + static_cast<long long>(threadIdx.x) * kScanItems;
      State items[kScanItems];
      State own = State::nothing();
      for (int k = 0; k < kScanItems; ++k) {
        const long long at = first + k;
        items[k] = at < length ? State::of(load(line, at), at) : State::nothing();
        own.append(items[k]);
      }
      State whole = State::nothing();
      State running = carried;
      running.append(scan_block(own, parts, whole));
      for (int k = 0; k < kScanItems; ++k) {
        running.append(items[k]);
        if (first + k < length) store(line, first + k, running.number, running.position);
      }
      carried.append(whole);
    }
  }
}

template <Prefix prefix, typename T, typename Load, typename Store>
inline __device__ void scan_lines_by_threads(long long lines, long long length, const Load& load,
                                             const Store& store) {
  using State = PrefixState<prefix, T>;
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long line = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; line < lines;
       line += threads) {
    State running = State::nothing();
    for (long long at = 0; at < length; ++at) {
      running.append(State::of(load(line, at), at));
      store(line, at, running.number, running.position);
    }
  }
}

}  // namespace tendon::device
