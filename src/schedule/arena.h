// Where buffers lie in the arena: lifetimes and sizes in, offsets out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tendon::schedule {

/// A buffer in use during the steps [first, last].
struct Lifetime {
  std::int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

inline constexpr std::int64_t kArenaAlignment = 64;

struct ArenaLayout {
  std::vector<std::int64_t> offsets;  // as the lifetimes, each a multiple of kArenaAlignment
  std::int64_t bytes = 0;
};

/// Greedy by size (Pisarchyk and Lee, arXiv 2001.03288, algorithm 3): the largest buffer first,
/// each in the smallest gap that is free for its whole lifetime.
ArenaLayout plan_arena(std::span<const Lifetime> lifetimes);

}  // namespace tendon::schedule
