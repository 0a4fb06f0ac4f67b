// Positions of true elements in three passes: count them in chunks, add up, place.
#pragma once

#include "define_symbol.cuh"
#include "scan.cuh"

namespace tendon::device {

inline constexpr int kCompactThreads = kScanThreads;
inline constexpr int kCompactChunk = 8 * kCompactThreads;

/// `flag(point)` says whether an element is true.
template <typename Flag>
inline __device__ void count_chunks(long long points, long long* counts, const Flag& flag) {
  const long long chunks = (points + kCompactChunk - 1) / kCompactChunk;
  for (long long chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    int count = 0;
    for (int k = 0; k < kCompactChunk; k += kCompactThreads) {
      const long long point = chunk * kCompactChunk + k + threadIdx.x;
      count += __syncthreads_count(point < points && flag(point) ? 1 : 0);
    }
    if (threadIdx.x == 0) counts[chunk] = count;
  }
}

/// For one block: makes of each chunk's count the number of true elements before it; returns the
/// number of all.
inline __device__ long long add_counts(long long points, long long* counts) {
  using State = PrefixState<Prefix::kSum, long long>;
  __shared__ State parts[kScanThreads];
  const long long chunks = (points + kCompactChunk - 1) / kCompactChunk;
  State carried = State::of(0, 0);
  for (long long first = 0; first < chunks; first += kScanThreads) {
    const long long chunk = first + threadIdx.x;
    State whole = State::nothing();
    State before = carried;
    before.append(
        scan_block(chunk < chunks ? State::of(counts[chunk], 0) : State::nothing(), parts, whole));
    if (chunk < chunks) counts[chunk] = before.number;
    carried.append(whole);
  }
  return carried.number;
}

/// `store(rank, point)` takes the position of true element number `rank` < limit.
template <typename Flag, typename Store>
inline __device__ void place_positions(long long points, const long long* starts, long long limit,
                                       const Flag& flag, const Store& store) {
  __shared__ int counts[kCompactThreads / 32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);
  const long long chunks = (points + kCompactChunk - 1) / kCompactChunk;
  for (long long chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    long long rank = starts[chunk];
    for (int k = 0; k < kCompactChunk; k += kCompactThreads) {
      const long long point = chunk * kCompactChunk + k + threadIdx.x;
      const bool is_true = point < points && flag(point);
      const unsigned lanes = __ballot_sync(0xffffffffu, is_true);
      if (lane == 0) counts[warp] = __popc(lanes);
      __syncthreads();
      long long own = rank + __popc(lanes & ((1u << lane) - 1u));
      for (int other = 0; other < kCompactThreads / 32; ++other) {
        if (other < warp) own += counts[other];
        rank += counts[other];
      }
      if (is_true && own < limit) store(own, point);
      __syncthreads();
    }
  }
}

}  // namespace tendon::device
