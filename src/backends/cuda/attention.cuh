// Attention without a full matrix of scores: a block takes some queries of one head and walks over
// tiles of keys, keeping the running maximum and sum of each row (online softmax: Milakov and
// Gimelshein, arXiv 1805.02867; in tiles: Dao et al., arXiv 2205.14135).
#pragma once

#include "tiled_product.cuh"

namespace tendon::device {

inline constexpr int kAttentionKeys = 64;  // of a tile

/// 16 neighbouring threads work on the same rows of the result: `rows` of them, the block on
/// 16 * rows, and on 16 * columns columns.
template <typename T, int rows, int columns>
struct AttentionMemory {
  static constexpr int kQueries = 16 * rows;
  static constexpr int kDepth = sizeof(T) == 4 ? 32 : 16;  // of q and k in memory at a time
  static constexpr int kValues = sizeof(T) == 4 ? 16 : 8;  // keys whose values are in memory
  static constexpr int kWidth = 16 * columns;
  static constexpr int kWeightsPitch = kAttentionKeys + 1;
  union {
    struct {
      T q[kDepth][kQueries + 1];
      T k[kDepth][kAttentionKeys + 1];
    };
    T v[kValues][kWidth];
  };
  T weights[kQueries][kWeightsPitch];
};

template <typename T>
inline __device__ T row_maximum(T value) {
  for (int distance = 8; distance > 0; distance /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, value, distance, 16);
    value = other > value ? other : value;
  }
  return value;
}
template <typename T>
inline __device__ T row_sum(T value) {
  for (int distance = 8; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, distance, 16);
  return value;
}

/// Queries [first, first + 16 * rows) of one head, and columns [first_column, first_column +
/// 16 * columns) of the result. `q(l, d)`, `k(s, d)`, `v(s, e)` give elements as T; `score(l, s,
/// product)` the score of a visible pair; `store(l, e, value)` takes the result. Key s is visible
/// to query l if s < keys and, with `causal`, s <= l + offset. A row that is masked whole gives
/// `of_masked_row`.
template <typename T, int rows, int columns, bool causal, typename Q, typename K, typename V,
          typename Score, typename Store>
inline __device__ void attention(long long first, long long first_column, long long queries,
                                 long long keys, long long depth, long long width, long long offset,
                                 T of_masked_row, const Q& q, const K& k, const V& v,
                                 const Score& score, const Store& store) {
  using Memory = AttentionMemory<T, rows, columns>;
  constexpr int kQueries = Memory::kQueries;
  constexpr int kKeys = kAttentionKeys / 16;
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  __shared__ Memory memory;
  const int thread = static_cast<int>(threadIdx.x);
  const int own_row = thread / 16 * rows, lane = thread % 16;

  T maximum[rows], total[rows], result[rows][columns] = {};
  for (int i = 0; i < rows; ++i) {
    maximum[i] = kLowest;
    total[i] = T(0);
  }
  long long last = keys;
  if constexpr (causal) {
    const long long count = queries - first < kQueries ? queries - first : kQueries;
    const long long seen = first + count + offset;
    last = seen < keys ? seen : keys;
  }
  for (long long start = 0; start < last; start += kAttentionKeys) {
    // Scores of the tile: this thread has keys lane, lane + 16, ...
    T scores[rows][kKeys] = {};
    for (long long d = 0; d < depth; d += Memory::kDepth) {
      __syncthreads();
      for (int i = thread; i < kQueries * Memory::kDepth; i += kProductThreads) {
        const long long l = first + i / Memory::kDepth, at = d + i % Memory::kDepth;
        memory.q[i % Memory::kDepth][i / Memory::kDepth] =
            l < queries && at < depth ? q(l, at) : T(0);
      }
      for (int i = thread; i < kAttentionKeys * Memory::kDepth; i += kProductThreads) {
        const long long s = start + i / Memory::kDepth, at = d + i % Memory::kDepth;
        memory.k[i % Memory::kDepth][i / Memory::kDepth] = s < keys && at < depth ? k(s, at) : T(0);
      }
      __syncthreads();
      const int count = depth - d < Memory::kDepth ? static_cast<int>(depth - d) : Memory::kDepth;
      for (int at = 0; at < count; ++at) {
        T key[kKeys];
#pragma unroll
        for (int j = 0; j < kKeys; ++j) key[j] = memory.k[at][lane + 16 * j];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
          const T query = memory.q[at][own_row + i];
#pragma unroll
          for (int j = 0; j < kKeys; ++j) scores[i][j] = multiply_add(query, key[j], scores[i][j]);
        }
      }
    }
    // Scores become weights; what was summed under a smaller maximum is scaled.
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const long long l = first + own_row + i;
      T tile_maximum = maximum[i];
#pragma unroll
      for (int j = 0; j < kKeys; ++j) {
        const long long s = start + lane + 16 * j;
        const bool visible = l < queries && s < keys && (!causal || s <= l + offset);
        scores[i][j] = visible ? score(l, s, scores[i][j]) : kLowest;
        tile_maximum = scores[i][j] > tile_maximum ? scores[i][j] : tile_maximum;
      }
      tile_maximum = row_maximum(tile_maximum);
      T sum = T(0);
#pragma unroll
      for (int j = 0; j < kKeys; ++j) {
        // NaN passes through, also where everything else is masked.
        const T weight = scores[i][j] == kLowest ? T(0) : std::exp(scores[i][j] - tile_maximum);
        memory.weights[own_row + i][lane + 16 * j] = weight;
        sum += weight;
      }
      const T scale = tile_maximum == maximum[i] ? T(1) : std::exp(maximum[i] - tile_maximum);
      total[i] = total[i] * scale + row_sum(sum);
#pragma unroll
      for (int j = 0; j < columns; ++j) result[i][j] *= scale;
      maximum[i] = tile_maximum;
    }
    for (int part = 0; part < kAttentionKeys; part += Memory::kValues) {
      if (start + part >= last) break;
      __syncthreads();
      for (int i = thread; i < Memory::kValues * Memory::kWidth; i += kProductThreads) {
        const long long s = start + part + i / Memory::kWidth;
        const long long e = first_column + i % Memory::kWidth;
        memory.v[i / Memory::kWidth][i % Memory::kWidth] = s < keys && e < width ? v(s, e) : T(0);
      }
      __syncthreads();
#pragma unroll
      for (int at = 0; at < Memory::kValues; ++at) {
        T value[columns];
#pragma unroll
        for (int j = 0; j < columns; ++j) value[j] = memory.v[at][lane + 16 * j];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
          const T weight = memory.weights[own_row + i][part + at];
#pragma unroll
          for (int j = 0; j < columns; ++j)
            result[i][j] = multiply_add(weight, value[j], result[i][j]);
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    const long long l = first + own_row + i;
    const T inverse = total[i] == T(0) ? of_masked_row : T(1) / total[i];
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      const long long e = first_column + lane + 16 * j;
      if (l < queries && e < width) store(l, e, result[i][j] * inverse);
    }
  }
  __syncthreads();  // the memory may be used for the block's next queries
}

}  // namespace tendon::device
