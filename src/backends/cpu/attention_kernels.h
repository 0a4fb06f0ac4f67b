// What attention does with a block of scores, for the vector unit of this machine.
#pragma once

#include <cstdint>

namespace tendon::backends::cpu {

/// Scores by key and query, [keys, queries] without gaps, of queries that have seen other keys
/// before. Behind the end of each array a whole vector may be read, and of the statistics, written.
template <typename T>
struct ScoreBlock {
  std::int64_t keys = 0, queries = 0;
  T* scores = nullptr;  // become exp(score - maximum)
  // By query, brought up to date with this block:
  T* maximum = nullptr;
  T* total = nullptr;   // sum of exp(score - maximum)
  T* factor = nullptr;  // what sums under the maximum from before are to be multiplied with
};

/// T: float or double.
template <typename T>
void weigh(const ScoreBlock<T>& block);

}  // namespace tendon::backends::cpu
