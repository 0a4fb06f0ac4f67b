// The loops that reduce tiles: along a tile into one value (rows), or tile by tile into one value
// per element (folds).
#pragma once

#include <cstdint>

#include "backends/cpu/tile.h"
#include "ir/graph.h"

namespace tendon::backends::cpu {

/// What a reduction of one output element knows so far. Which members count depends on the
/// operation. Zero-initialised before init().
struct Accumulator {
  double number = 0;          // sums, products and extremes of floats; the mean
  double second = 0;          // what rounding took from a sum; the sum of squared deviations
  std::int64_t integer = 0;   // the same of integers and bool
  std::int64_t position = 0;  // of the extreme element
  std::int64_t count = 0;     // elements seen
};

/// Reductions of tiles along their elements. The order of the additions depends only on where the
/// tiles of an output element begin and end.
struct RowReduction {
  void (*init)(Accumulator& accumulator) = nullptr;
  /// Elements [position, position + count) of the reduction lie at `tile`, which can be read up to
  /// a whole vector.
  void (*add)(Accumulator& accumulator, const void* tile, std::int64_t position,
              std::int64_t count) = nullptr;
  /// Appends what `other` knows about later elements.
  void (*merge)(Accumulator& accumulator, const Accumulator& other) = nullptr;
  /// Writes one element, in carriers, to `first` (and of moments the second output to `second`).
  void (*finish)(const Accumulator& accumulator, void* first, void* second) = nullptr;
};

/// Reductions of many output elements at once: element i of a tile goes into the i-th of them.
/// `first` and `second` have room for kMaxTileElements of 8 bytes each.
struct FoldReduction {
  void (*init)(void* first, void* second, std::int64_t count) = nullptr;
  /// The tile (of that step) is number `position` of the reduction.
  void (*add)(void* first, void* second, const void* tile, int step, std::int64_t position,
              std::int64_t count) = nullptr;
  /// Replaces the accumulators by results in carriers; `elements` were reduced into each.
  void (*finish)(void* first, void* second, std::int64_t elements, std::int64_t count) = nullptr;
};

struct ReduceTable {
  static constexpr int kOps = static_cast<int>(ir::ReduceOp::kMoments) + 1;
  RowReduction row[kOps][kTileTypeCount] = {};
  FoldReduction fold[kOps][kTileTypeCount] = {};
};

/// By operation and the carrier of the body. Entries without functions: there is no such thing.
const ReduceTable& reduce_table();

}  // namespace tendon::backends::cpu
