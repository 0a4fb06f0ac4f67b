#include "schedule/arena.h"

#include <algorithm>
#include <numeric>

namespace tendon::schedule {

namespace {
std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}
}  // namespace

ArenaLayout plan_arena(std::span<const Lifetime> lifetimes) {
  ArenaLayout layout;
  layout.offsets.resize(lifetimes.size(), 0);
  std::vector<std::size_t> by_size(lifetimes.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
    return lifetimes[a].bytes > lifetimes[b].bytes;
  });
  std::vector<std::size_t> placed;  // by offset
  for (std::size_t index : by_size) {
    const Lifetime& lifetime = lifetimes[index];
    const std::int64_t bytes = aligned(lifetime.bytes);
    if (bytes == 0) continue;
    std::int64_t best = -1;
    std::int64_t best_gap = 0;
    std::int64_t end = 0;  // of what overlaps in time, so far
    for (std::size_t other : placed) {
      if (lifetimes[other].last < lifetime.first || lifetimes[other].first > lifetime.last)
        continue;
      const std::int64_t gap = layout.offsets[other] - end;
      if (gap >= bytes && (best < 0 || gap < best_gap)) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, layout.offsets[other] + aligned(lifetimes[other].bytes));
    }
    layout.offsets[index] = best >= 0 ? best : end;
    layout.bytes = std::max(layout.bytes, layout.offsets[index] + bytes);
    const auto at = std::upper_bound(
        placed.begin(), placed.end(), layout.offsets[index],
        [&](std::int64_t offset, std::size_t other) { return offset < layout.offsets[other]; });
    placed.insert(at, index);
  }
  return layout;
}

}  // namespace tendon::schedule
