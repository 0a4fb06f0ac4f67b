// The loops of attention, against the plainest ones.
#include "backends/cpu/attention_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/block_product.h"

namespace tendon::backends::cpu {
namespace {

template <typename T>
class AttentionKernelsTest : public ::testing::Test {
 protected:
  const std::size_t slack = static_cast<std::size_t>(vector_lanes<T>());

  /// Small integers, so that sums are exact in any order.
  static std::vector<T> numbers(std::size_t count, int seed) {
    std::vector<T> result(count);
    for (std::size_t i = 0; i < count; ++i)
      result[i] = static_cast<T>((i * 7 + static_cast<std::size_t>(seed)) % 11) - 5;
    return result;
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AttentionKernelsTest, Types);

TYPED_TEST(AttentionKernelsTest, WeighsScoresUnderTheMaximumSoFar) {
  using T = TypeParam;
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  constexpr std::int64_t kKeys = 3, kQueries = 21;
  const auto size = static_cast<std::size_t>(kKeys * kQueries);
  std::vector<T> scores = this->numbers(size, 3);
  scores.resize(size + this->slack);
  std::vector<T> maximum(kQueries + this->slack, T{1}), total(kQueries + this->slack, T{2}),
      factor(kQueries + this->slack);
  // Nothing seen before; nothing seen at all; a score that is none.
  maximum[0] = maximum[1] = kLowest;
  total[0] = total[1] = 0;
  for (std::size_t key = 0; key < kKeys; ++key) scores[key * kQueries + 1] = kLowest;
  scores[kQueries + 2] = std::numeric_limits<T>::quiet_NaN();
  // Far below the maximum.
  scores[3] = -2000;
  const std::vector<T> before = scores;
  weigh<T>({.keys = kKeys,
            .queries = kQueries,
            .scores = scores.data(),
            .maximum = maximum.data(),
            .total = total.data(),
            .factor = factor.data()});
  for (std::size_t query = 0; query < kQueries; ++query) {
    if (query == 1) {
      EXPECT_EQ(maximum[query], kLowest);
      EXPECT_EQ(total[query], 0);
      EXPECT_EQ(scores[query], 0);
      continue;
    }
    if (query == 2) {
      EXPECT_TRUE(std::isnan(total[query]));
      EXPECT_TRUE(std::isnan(scores[kQueries + query]));
      continue;
    }
    const T old = query == 0 ? kLowest : T{1};
    T largest = old;
    for (std::size_t key = 0; key < kKeys; ++key)
      largest = std::max(largest, before[key * kQueries + query]);
    T sum = (query == 0 ? T{0} : T{2}) * std::exp(old - largest);
    for (std::size_t key = 0; key < kKeys; ++key) {
      const T weight = std::exp(before[key * kQueries + query] - largest);
      EXPECT_NEAR(scores[key * kQueries + query], weight, 1e-6) << query;
      sum += weight;
    }
    EXPECT_EQ(maximum[query], largest);
    EXPECT_NEAR(factor[query], std::exp(old - largest), 1e-6);
    EXPECT_NEAR(total[query], sum, 1e-5) << query;
  }
  EXPECT_EQ(scores[3], 0);
}

}  // namespace
}  // namespace tendon::backends::cpu
