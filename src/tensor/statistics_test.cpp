#include "tensor/statistics.h"

#include <gtest/gtest.h>

#include <complex>
#include <limits>

namespace tendon::tensor {
namespace {

TEST(Statistics, LeavesNanOut) {
  std::vector<float> values = {std::numeric_limits<float>::quiet_NaN(), -3, 5, 1};
  const auto result = statistics(TensorView::contiguous(values.data(), DType::kFloat32, {4}));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->min, -3);
  EXPECT_EQ(result->max, 5);
  EXPECT_EQ(result->mean, 1);
  EXPECT_EQ(result->nan_count, 1);
}

TEST(Statistics, FollowsStrides) {
  std::vector<std::int64_t> values = {1, 100, 2, 100, 3};
  const TensorView view{values.data(), DType::kInt64, {3}, {2}};
  EXPECT_EQ(statistics(view)->max, 3);
  EXPECT_EQ(*preview(view, 2), "[1, 2, ...]");
  EXPECT_EQ(*preview(view, 3), "[1, 2, 3]");
}

TEST(Statistics, EmptyBoolAndComplex) {
  bool flags[2] = {true, false};
  EXPECT_EQ(statistics(TensorView::contiguous(flags, DType::kBool, {2}))->mean, 0.5);
  EXPECT_EQ(*preview(TensorView::contiguous(flags, DType::kBool, {2}), 8), "[true, false]");
  EXPECT_EQ(statistics(TensorView::contiguous(flags, DType::kBool, {0}))->mean, 0);
  std::complex<float> number(3, -4);
  const TensorView complex = TensorView::contiguous(&number, DType::kComplex64, {});
  EXPECT_EQ(statistics(complex)->max, 5);
  EXPECT_EQ(*preview(complex, 1), "[3-4i]");
}

}  // namespace
}  // namespace tendon::tensor
