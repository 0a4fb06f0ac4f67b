#include "tensor/random_fill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "tensor/statistics.h"

namespace tendon::tensor {
namespace {

std::vector<float> normal(std::int64_t count, std::uint64_t seed, std::uint64_t stream,
                          double scale = 1) {
  std::vector<float> values(static_cast<std::size_t>(count));
  EXPECT_TRUE(fill_normal(TensorView::contiguous(values.data(), DType::kFloat32, {count}), seed,
                          stream, scale)
                  .ok());
  return values;
}

TEST(RandomFill, NormalHasTheMomentsAndTailsOfANormal) {
  const auto values = normal(1'000'001, 1, 0, 2.0);
  double sum = 0, squares = 0, cubes = 0, fourths = 0;
  std::int64_t beyond_two = 0;
  for (float value : values) {
    const double x = value / 2.0;
    sum += x, squares += x * x, cubes += x * x * x, fourths += x * x * x * x;
    beyond_two += std::abs(x) > 2;
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0, 0.005);
  EXPECT_NEAR(squares / count, 1, 0.01);
  EXPECT_NEAR(cubes / count, 0, 0.02);
  EXPECT_NEAR(fourths / count, 3, 0.05);
  EXPECT_NEAR(static_cast<double>(beyond_two) / count, 0.0455, 0.001);
}

TEST(RandomFill, AnElementDependsOnlyOnSeedStreamAndIndex) {
  const auto longer = normal(100'001, 7, 3), shorter = normal(101, 7, 3);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
  EXPECT_NE(normal(8, 7, 3), normal(8, 7, 4));
  EXPECT_NE(normal(8, 7, 3), normal(8, 8, 3));
  // Streams are not shifted copies of each other.
  const auto other = normal(1000, 7, 4);
  for (float value : other) {
    EXPECT_EQ(std::count(longer.begin(), longer.begin() + 1000, value), 0);
  }
}

TEST(RandomFill, HalfTypesAreTheRoundedFloats) {
  const auto floats = normal(100, 5, 0);
  std::vector<BFloat16> halves(100);
  ASSERT_TRUE(
      fill_normal(TensorView::contiguous(halves.data(), DType::kBFloat16, {100}), 5, 0).ok());
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(halves[i].bits, BFloat16(floats[i]).bits);
}

TEST(RandomFill, IntegersCoverTheirRangeEvenly) {
  std::vector<std::int32_t> values(60'000);
  ASSERT_TRUE(
      fill_integers(TensorView::contiguous(values.data(), DType::kInt32, {60'000}), 1, 0, -2, 4)
          .ok());
  for (int value = -2; value < 4; ++value) {
    EXPECT_NEAR(static_cast<double>(std::count(values.begin(), values.end(), value)), 10'000, 500);
  }
}

TEST(RandomFill, RefusesWhatDoesNotFit) {
  std::uint8_t data[4] = {};
  const auto integers = [&](DType dtype, std::int64_t low, std::int64_t high) {
    return fill_integers(TensorView::contiguous(data, dtype, {4}), 1, 0, low, high).code();
  };
  EXPECT_EQ(integers(DType::kUInt8, 0, 256), StatusCode::kOk);
  EXPECT_EQ(integers(DType::kUInt8, 0, 257), StatusCode::kInvalidArgument);
  EXPECT_EQ(integers(DType::kUInt8, -1, 2), StatusCode::kInvalidArgument);
  EXPECT_EQ(integers(DType::kInt8, 3, 3), StatusCode::kInvalidArgument);
  EXPECT_EQ(integers(DType::kBool, 0, 2), StatusCode::kOk);
  EXPECT_EQ(integers(DType::kBool, 0, 3), StatusCode::kInvalidArgument);
  EXPECT_EQ(integers(DType::kFloat16, 0, 2), StatusCode::kInvalidArgument);
  EXPECT_EQ(fill_normal(TensorView::contiguous(data, DType::kUInt8, {4}), 1, 0).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(fill_normal({data, DType::kFloat16, {1, 2}, {2, 2}}, 1, 0).code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tendon::tensor
