#include "ir/stable_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tendon::ir {
namespace {

using ::testing::ElementsAre;
using Small = StableVector<int, 2>;

TEST(StableVector, ElementsStayWhereTheyAre) {
  Small vector;
  vector.push_back(1);
  const int* first = &vector[0];
  for (int i = 2; i <= 100; ++i) vector.push_back(i);
  EXPECT_EQ(&vector[0], first);
  EXPECT_EQ(vector.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(vector[static_cast<std::size_t>(i)], i + 1);
}

TEST(StableVector, RunsLieTogether) {
  Small vector;
  const int three[] = {1, 2, 3};
  EXPECT_EQ(vector.append(three), 0u);
  const std::size_t second = vector.append(three);  // does not fit behind the first
  EXPECT_EQ(second, 4u);
  EXPECT_THAT(vector.slice(second, 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(vector.slice(vector.append(vector.slice(second, 3)), 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(vector.slice(vector.append(std::span<const int>()), 0), ElementsAre());
  const int four[] = {5, 6, 7, 8};
  EXPECT_THAT(vector.slice(vector.append(four), 4), ElementsAre(5, 6, 7, 8));
}

TEST(StableVector, Copies) {
  Small vector;
  for (int i = 0; i < 6; ++i) vector.push_back(i);
  Small copy = vector;
  copy.push_back(100);
  vector.push_back(7);
  EXPECT_THAT(copy.slice(4, 3), ElementsAre(4, 5, 100));
  EXPECT_THAT(vector.slice(4, 3), ElementsAre(4, 5, 7));
  Small moved = std::move(copy);
  EXPECT_EQ(moved.size(), 7u);
  copy = moved;
  copy.push_back(1);
  EXPECT_EQ(copy.size(), 8u);
}

}  // namespace
}  // namespace tendon::ir
