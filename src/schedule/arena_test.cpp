#include "schedule/arena.h"

#include <gtest/gtest.h>

#include <random>

namespace tendon::schedule {
namespace {

TEST(PlanArena, BuffersThatDoNotMeetShareMemory) {
  const std::vector<Lifetime> lifetimes = {{128, 0, 1}, {64, 1, 2}, {128, 2, 3}};
  const ArenaLayout layout = plan_arena(lifetimes);
  EXPECT_EQ(layout.bytes, 192);
  EXPECT_EQ(layout.offsets[0], layout.offsets[2]);
}

TEST(PlanArena, TakesTheSmallestGap) {
  // 0 and 1 leave a gap of 64 between them while 3 lives.
  const std::vector<Lifetime> lifetimes = {{256, 0, 9}, {192, 0, 4}, {128, 0, 9}, {64, 5, 9}};
  const ArenaLayout layout = plan_arena(lifetimes);
  EXPECT_EQ(layout.bytes, 576);
  EXPECT_EQ(layout.offsets[3], layout.offsets[1]);
}

TEST(PlanArena, NothingOverlapsInTimeAndSpace) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> lifetimes;
    for (int i = 0; i < 60; ++i) {
      const int first = static_cast<int>(random() % 40);
      lifetimes.push_back({static_cast<std::int64_t>(random() % 1000), first,
                           first + static_cast<int>(random() % 10)});
    }
    const ArenaLayout layout = plan_arena(lifetimes);
    for (std::size_t i = 0; i < lifetimes.size(); ++i) {
      EXPECT_EQ(layout.offsets[i] % kArenaAlignment, 0);
      EXPECT_LE(layout.offsets[i] + lifetimes[i].bytes, layout.bytes);
      for (std::size_t j = 0; j < i; ++j) {
        const bool in_time =
            lifetimes[i].first <= lifetimes[j].last && lifetimes[j].first <= lifetimes[i].last;
        const bool in_space = layout.offsets[i] < layout.offsets[j] + lifetimes[j].bytes &&
                              layout.offsets[j] < layout.offsets[i] + lifetimes[i].bytes;
        EXPECT_FALSE(in_time && in_space);
      }
    }
  }
}

}  // namespace
}  // namespace tendon::schedule
