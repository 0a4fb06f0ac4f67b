// Products of matrices of any type and layout: a block computes a tile of the product, walking
// along the inner axis through slices of both operands in shared memory. Sums are made in the order
// of the inner axis, whatever the grid.
#pragma once

#include "device_std.cuh"

namespace tendon::device {

inline __device__ float multiply_add(float a, float b, float sum) { return __fmaf_rn(a, b, sum); }
inline __device__ double multiply_add(double a, double b, double sum) {
  return __fma_rn(a, b, sum);
}
inline __device__ unsigned multiply_add(unsigned a, unsigned b, unsigned sum) {
  return a * b + sum;
}
inline __device__ unsigned long long multiply_add(unsigned long long a, unsigned long long b,
                                                  unsigned long long sum) {
  return a * b + sum;
}

inline constexpr int kProductThreads = 256;

/// A tile is kRows by kColumns; every thread has kThreadRows by kThreadColumns of it.
template <int rows, int columns, int thread_rows, int thread_columns>
struct ProductTile {
  static constexpr int kRows = rows, kColumns = columns;
  static constexpr int kThreadRows = thread_rows, kThreadColumns = thread_columns;
  static constexpr int kRowThreads = rows / thread_rows;
  static constexpr int kColumnThreads = columns / thread_columns;
  static_assert(kRowThreads * kColumnThreads == kProductThreads);
};

/// Who reads which elements of a slice of kLines rows (or columns) by kDepth positions of the inner
/// axis: neighbouring threads read neighbours along the inner axis, or neighbouring lines.
template <int kLines, int kDepth, bool along_inner>
struct SliceShares {
  static constexpr int kSlots = (kLines * kDepth + kProductThreads - 1) / kProductThreads;
  static constexpr int kPitch = kLines + 1;

  static __device__ int line_of(int slot) {
    const int at = static_cast<int>(threadIdx.x) + slot * kProductThreads;
    return along_inner ? at / kDepth : at % kLines;
  }
  static __device__ int depth_of(int slot) {
    const int at = static_cast<int>(threadIdx.x) + slot * kProductThreads;
    return along_inner ? at % kDepth : at / kLines;
  }
  static __device__ bool used(int slot) {
    return static_cast<int>(threadIdx.x) + slot * kProductThreads < kLines * kDepth;
  }
};

/// What is worked out once for all elements of a row or column: positions along other axes.
struct ProductLine {
  long long at[4];
};

/// The tile that begins at (first_row, first_column) of a product of `rows` by `columns` over
/// `inner`. `a_line(row)` and `b_line(column)` prepare a ProductLine; `a(line, k)` and `b(line, k)`
/// give the element at a position along the inner axis as a Sum; `store(row, column, sum)` takes
/// the result.
template <typename Sum, typename Tile, bool a_along_inner, bool b_along_inner, typename ALine,
          typename A, typename BLine, typename B, typename Store>
inline __device__ void tiled_product(long long first_row, long long first_column, long long rows,
                                     long long columns, long long inner, const ALine& a_line,
                                     const A& a, const BLine& b_line, const B& b,
                                     const Store& store) {
  constexpr int kDepth = 16;
  using Rows = SliceShares<Tile::kRows, kDepth, a_along_inner>;
  using Columns = SliceShares<Tile::kColumns, kDepth, b_along_inner>;
  __shared__ Sum a_slice[kDepth * Rows::kPitch];
  __shared__ Sum b_slice[kDepth * Columns::kPitch];
  const int row_thread = static_cast<int>(threadIdx.x) / Tile::kColumnThreads;
  const int column_thread = static_cast<int>(threadIdx.x) % Tile::kColumnThreads;
  Sum sums[Tile::kThreadRows][Tile::kThreadColumns] = {};

  // Lines outside stand for the last one inside, and are not used.
  ProductLine a_lines[Rows::kSlots];
  ProductLine b_lines[Columns::kSlots];
#pragma unroll
  for (int slot = 0; slot < Rows::kSlots; ++slot) {
    const long long row = first_row + Rows::line_of(slot);
    a_lines[slot] = a_line(row < rows ? row : rows - 1);
  }
#pragma unroll
  for (int slot = 0; slot < Columns::kSlots; ++slot) {
    const long long column = first_column + Columns::line_of(slot);
    b_lines[slot] = b_line(column < columns ? column : columns - 1);
  }

  for (long long start = 0; start < inner; start += kDepth) {
    Sum a_values[Rows::kSlots], b_values[Columns::kSlots];
#pragma unroll
    for (int slot = 0; slot < Rows::kSlots; ++slot) {
      const long long at = start + Rows::depth_of(slot);
      const bool inside = Rows::used(slot) && at < inner && first_row + Rows::line_of(slot) < rows;
      a_values[slot] = inside ? a(a_lines[slot], at) : Sum(0);
    }
#pragma unroll
    for (int slot = 0; slot < Columns::kSlots; ++slot) {
      const long long at = start + Columns::depth_of(slot);
      const bool inside =
          Columns::used(slot) && at < inner && first_column + Columns::line_of(slot) < columns;
      b_values[slot] = inside ? b(b_lines[slot], at) : Sum(0);
    }
    __syncthreads();  // the last slices have been used
#pragma unroll
    for (int slot = 0; slot < Rows::kSlots; ++slot) {
      if (Rows::used(slot))
        a_slice[Rows::depth_of(slot) * Rows::kPitch + Rows::line_of(slot)] = a_values[slot];
    }
#pragma unroll
    for (int slot = 0; slot < Columns::kSlots; ++slot) {
      if (Columns::used(slot))
        b_slice[Columns::depth_of(slot) * Columns::kPitch + Columns::line_of(slot)] =
            b_values[slot];
    }
    __syncthreads();
    const int depth = inner - start < kDepth ? static_cast<int>(inner - start) : kDepth;
    for (int k = 0; k < depth; ++k) {
      Sum a_parts[Tile::kThreadRows], b_parts[Tile::kThreadColumns];
#pragma unroll
      for (int i = 0; i < Tile::kThreadRows; ++i)
        a_parts[i] = a_slice[k * Rows::kPitch + row_thread + i * Tile::kRowThreads];
#pragma unroll
      for (int j = 0; j < Tile::kThreadColumns; ++j)
        b_parts[j] = b_slice[k * Columns::kPitch + column_thread + j * Tile::kColumnThreads];
#pragma unroll
      for (int i = 0; i < Tile::kThreadRows; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::kThreadColumns; ++j)
          sums[i][j] = multiply_add(a_parts[i], b_parts[j], sums[i][j]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < Tile::kThreadRows; ++i) {
    const long long row = first_row + row_thread + i * Tile::kRowThreads;
#pragma unroll
    for (int j = 0; j < Tile::kThreadColumns; ++j) {
      const long long column = first_column + column_thread + j * Tile::kColumnThreads;
      if (row < rows && column < columns) store(row, column, sums[i][j]);
    }
  }
  __syncthreads();  // slices may be used for the block's next tile
}

}  // namespace tendon::device
