// Stable sorting: blocks sort tiles in shared memory (bitonic: Batcher, 1968), then runs are merged
// pass by pass, every thread making some neighbouring elements of the result (merge path: Green,
// McColl and Bader, 2012).
#pragma once

#include "device_std.cuh"
#include "ir/sort_keys.h"

namespace tendon::device {

inline constexpr int kSortTile = 2048;
inline constexpr int kMergeItems = 8;  // divides kSortTile

/// A key and the position of its element: all different, so that any sort of them is stable.
struct WideEntry {
  using Key = unsigned long long;
  static constexpr Key kLastKey = ~0ull;
  Key bits;
  long long at;

  static __device__ WideEntry make(Key key, long long position) { return {key, position}; }
  /// Comes after every other.
  static __device__ WideEntry last() { return {kLastKey, 0x7fffffffffffffffll}; }
  __device__ Key key() const { return bits; }
  __device__ long long position() const { return at; }
  __device__ bool operator<(const WideEntry& other) const {
    return bits != other.bits ? bits < other.bits : at < other.at;
  }
};

/// For keys of 32 bits and positions that are less than 2^32 - 1.
struct NarrowEntry {
  using Key = unsigned;
  static constexpr Key kLastKey = ~0u;
  unsigned long long bits;

  static __device__ NarrowEntry make(unsigned long long key, long long position) {
    return {key << 32 | static_cast<unsigned long long>(position)};
  }
  static __device__ NarrowEntry last() { return {~0ull}; }
  __device__ Key key() const { return static_cast<Key>(bits >> 32); }
  __device__ long long position() const { return static_cast<long long>(bits & 0xffffffffull); }
  __device__ bool operator<(const NarrowEntry& other) const { return bits < other.bits; }
};

/// The key of an element; of T's bits, all of them turned for a descending order, so that equal
/// elements stay in their order either way.
template <typename T, bool descending>
inline __device__ unsigned long long sort_key(T x) {
  constexpr unsigned long long kBits = ~0ull >> (64 - 8 * sizeof(T));
  const unsigned long long key = ir::SortKey<T>::of(x);
  return descending ? key ^ kBits : key;
}

/// Sorts `size` entries, a power of two.
template <typename Entry>
inline __device__ void sort_in_block(Entry* entries, int size) {
  for (int width = 2; width <= size; width *= 2) {
    for (int distance = width / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < size / 2; i += static_cast<int>(blockDim.x)) {
        const int low = 2 * i - (i & (distance - 1));
        const int high = low + distance;
        const Entry a = entries[low];
        const Entry b = entries[high];
        if (((low & width) == 0) == (b < a)) {
          entries[low] = b;
          entries[high] = a;
        }
      }
    }
  }
  __syncthreads();
}

/// Lines lie one after the other in `sorted`; of each tile of a line, the first `kept` entries are
/// written. `key(line, position)` gives the key of an element.
template <typename Entry, typename Key>
inline __device__ void sort_tiles(Entry* sorted, long long lines, long long length, long long kept,
                                  const Key& key) {
  __shared__ Entry entries[kSortTile];
  const long long tiles = (length + kSortTile - 1) / kSortTile;
  for (long long task = blockIdx.x; task < lines * tiles; task += gridDim.x) {
    const long long line = task / tiles;
    const long long first = task % tiles * kSortTile;
    const int count = static_cast<int>(length - first < kSortTile ? length - first : kSortTile);
    int size = 1;
    while (size < count) size *= 2;
    for (int i = static_cast<int>(threadIdx.x); i < size; i += static_cast<int>(blockDim.x))
      entries[i] = i < count ? Entry::make(key(line, first + i), first + i) : Entry::last();
    sort_in_block(entries, size);
    for (int i = static_cast<int>(threadIdx.x); i < count && i < kept;
         i += static_cast<int>(blockDim.x)) {
      sorted[line * length + first + i] = entries[i];
    }
    __syncthreads();
  }
}

/// Merges sorted runs of `width` (a multiple of kSortTile) two by two; of each, the first `kept`
/// entries are read and written.
template <typename Entry>
inline __device__ void merge_runs(const Entry* from, Entry* to, long long lines, long long length,
                                  long long width, long long kept) {
  const long long strips = (length + kMergeItems - 1) / kMergeItems;
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long task = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       task < lines * strips; task += threads) {
    const long long first = task % strips * kMergeItems;
    const long long pair = first / (2 * width) * (2 * width);
    const auto run_length = [&](long long begin) {
      const long long rest = length - begin;
      const long long run = rest < 0 ? 0 : rest < width ? rest : width;
      return run < kept ? run : kept;
    };
    const long long left_count = run_length(pair);
    const long long right_count = run_length(pair + width);
    const long long whole = left_count + right_count < kept ? left_count + right_count : kept;
    const long long skipped = first - pair;
    if (skipped >= whole) continue;
    const Entry* left = from + task / strips * length + pair;
    const Entry* right = left + width;
    // How many of the first `skipped` come from the left.
    long long low = skipped > right_count ? skipped - right_count : 0;
    long long high = skipped < left_count ? skipped : left_count;
    while (low < high) {
      const long long middle = (low + high) / 2;
      if (left[middle] < right[skipped - 1 - middle]) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    long long i = low;
    long long j = skipped - low;
    Entry* out = to + task / strips * length + first;
    for (int k = 0; k < kMergeItems && skipped + k < whole; ++k) {
      const bool takes_left = j >= right_count || (i < left_count && left[i] < right[j]);
      out[k] = takes_left ? left[i++] : right[j++];
    }
  }
}

}  // namespace tendon::device
