// Products of blocks, against the plainest loops.
#include "backends/cpu/block_product.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tendon::backends::cpu {
namespace {

template <typename T>
class BlockProductTest : public ::testing::Test {
 protected:
  static constexpr T kUntouched = 99;
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
TYPED_TEST_SUITE(BlockProductTest, Types);

TYPED_TEST(BlockProductTest, MultipliesBlocksOfAnySize) {
  using T = TypeParam;
  constexpr std::int64_t kDepth = 3, kGap = 2;
  for (const bool transposed : {false, true}) {
    for (std::int64_t m = 1; m <= 14; ++m) {
      for (std::int64_t n = 1; n <= 80; n += m == 7 ? 1 : 13) {
        const std::int64_t row = n + kGap;
        const auto a = this->numbers(static_cast<std::size_t>(m * kDepth), 1);
        const auto b = this->numbers(static_cast<std::size_t>(kDepth * row) + this->slack, 2);
        std::vector<T> c(static_cast<std::size_t>(m * row) + this->slack, this->kUntouched);
        BlockProduct<T> product{.m = m,
                                .n = n,
                                .k = kDepth,
                                .a = a.data(),
                                .a_row = transposed ? 1 : kDepth,
                                .a_column = transposed ? m : 1,
                                .b = b.data(),
                                .b_row = row,
                                .c = c.data(),
                                .c_row = row,
                                .alpha = 2};
        multiply(product);
        product.alpha = 1;
        product.next_b = b.data();
        product.accumulate = true;
        multiply(product);
        std::vector<T> expected(c.size(), this->kUntouched);
        for (std::int64_t i = 0; i < m; ++i) {
          for (std::int64_t j = 0; j < n; ++j) {
            T sum = 0;
            for (std::int64_t k = 0; k < kDepth; ++k) {
              sum += a[static_cast<std::size_t>(i * product.a_row + k * product.a_column)] *
                     b[static_cast<std::size_t>(k * row + j)];
            }
            expected[static_cast<std::size_t>(i * row + j)] = 3 * sum;
          }
        }
        ASSERT_EQ(c, expected) << m << " by " << n;
      }
    }
  }
}

}  // namespace
}  // namespace tendon::backends::cpu
