// Walking a tile row by row.
#pragma once

#include <algorithm>

#include "backends/cpu/tile_evaluator.h"

namespace tendon::backends::cpu {

/// Points [begin, begin + count) of the space, and the axis positions of the first.
struct TileEvaluator::Tile {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  bool single_row = true;  // the innermost axis does not wrap
  int outermost = 0;       // axes before this one stay where they are
  std::int64_t first[kMaxAxes];

  /// Of the first point.
  std::int64_t offset(const std::int64_t* strides, int rank) const {
    std::int64_t sum = 0;
    for (int k = 0; k < rank; ++k) sum += first[k] * strides[k];
    return sum;
  }
};

inline TileEvaluator::Tile TileEvaluator::make_tile(std::int64_t begin, std::int64_t count) const {
  Tile tile;
  tile.begin = begin;
  tile.count = count;
  std::int64_t rest = begin;
  for (int k = rank_ - 1; k > 0; --k) {
    tile.first[k] = rest % extents_[k];
    rest /= extents_[k];
  }
  tile.first[0] = rest;
  tile.single_row = tile.first[rank_ - 1] + count <= extents_[rank_ - 1];
  tile.outermost = rank_ - 1;
  // A carry out of an axis moves the one before it.
  for (std::int64_t carry = tile.first[rank_ - 1] + count - 1; tile.outermost > 0;) {
    carry /= extents_[tile.outermost];
    if (carry == 0) break;
    carry += tile.first[--tile.outermost];
  }
  return tile;
}

/// function(position in the tile, elements, offset by `strides`) for every piece of a row.
template <typename F>
void TileEvaluator::for_each_row(const Tile& tile, const std::int64_t* strides, F function) const {
  const int last = rank_ - 1;
  std::int64_t offset = tile.offset(strides, rank_);
  std::int64_t n = std::min(tile.count, extents_[last] - tile.first[last]);
  function(std::int64_t{0}, n, offset);
  if (n == tile.count) return;
  std::int64_t index[kMaxAxes];
  std::copy_n(tile.first, last, index);
  offset -= tile.first[last] * strides[last];
  for (std::int64_t position = n; position < tile.count; position += n) {
    for (int k = last - 1; k >= 0; --k) {
      if (++index[k] < extents_[k]) {
        offset += strides[k];
        break;
      }
      offset -= strides[k] * (extents_[k] - 1);
      index[k] = 0;
    }
    n = std::min(tile.count - position, extents_[last]);
    function(position, n, offset);
  }
}

}  // namespace tendon::backends::cpu
