#include "tensor/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensor/visit.h"

namespace tendon::tensor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <typename T>
Comparison compare_values(DType dtype, std::vector<T> got, std::vector<T> expected,
                          Tolerance tolerance = {}) {
  const auto count = static_cast<std::int64_t>(got.size());
  auto result = compare(TensorView::contiguous(got.data(), dtype, {count}),
                        TensorView::contiguous(expected.data(), dtype, {count}), tolerance);
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return *result;
}
Comparison compare_floats(std::vector<float> got, std::vector<float> expected,
                          Tolerance tolerance = {}) {
  return compare_values(DType::kFloat32, std::move(got), std::move(expected), tolerance);
}

TEST(Compare, FollowsIsclose) {
  const Tolerance tolerance{.relative = 0.1, .absolute = 0.5};
  EXPECT_TRUE(compare_floats({11.5f}, {10}, tolerance).ok());  // 0.5 + 0.1 * 10
  EXPECT_FALSE(compare_floats({11.51f}, {10}, tolerance).ok());
  EXPECT_TRUE(compare_floats({10}, {11.6f}, tolerance).ok());  // relative to the expected value
  EXPECT_TRUE(compare_floats({kInf, -kInf, kNan}, {kInf, -kInf, kNan}).ok());
  EXPECT_FALSE(compare_floats({1}, {kInf}, tolerance).ok());  // though 0.1 * inf is inf
  EXPECT_FALSE(compare_floats({kInf}, {-kInf}, tolerance).ok());
  EXPECT_FALSE(compare_floats({kNan}, {1}, tolerance).ok());
  EXPECT_FALSE(compare_floats({1}, {kNan}, tolerance).ok());
  EXPECT_TRUE(compare_floats({-0.0f}, {0.0f}).ok());
  EXPECT_TRUE(compare_floats({}, {}).ok());
}

TEST(Compare, ReportsErrorsAndTheFirstMismatch) {
  std::vector<float> got = {1, 2, 3, 4, 50, 60}, expected = {1, 2, 3, 4, 5, 6};
  const auto result = compare(TensorView::contiguous(got.data(), DType::kFloat32, {2, 3}),
                              TensorView::contiguous(expected.data(), DType::kFloat32, {2, 3}), {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->elements, 6);
  EXPECT_EQ(result->mismatches, 2);
  EXPECT_EQ(result->max_absolute_error, 54);
  EXPECT_EQ(result->max_relative_error, 9);
  EXPECT_THAT(result->first_mismatch, Optional(ElementsAre(1, 1)));
  EXPECT_EQ(result->got, "50");
  EXPECT_EQ(result->expected, "5");
}

TEST(Compare, InfiniteErrorsAndNanAreSaid) {
  EXPECT_EQ(compare_floats({kNan}, {1}).max_absolute_error, kInf);
  EXPECT_EQ(compare_floats({kInf}, {1}).max_relative_error, kInf);
  EXPECT_EQ(compare_floats({kNan, kInf}, {kNan, kInf}).max_absolute_error, 0);
  // A zero expected value says nothing about relative errors.
  EXPECT_EQ(compare_floats({1e-9f}, {0}).max_relative_error, 0);
}

TEST(Compare, Cosine) {
  EXPECT_DOUBLE_EQ(compare_floats({1, 2}, {2, 4}).cosine_similarity, 1);
  EXPECT_DOUBLE_EQ(compare_floats({1, 0}, {0, 1}).cosine_similarity, 0);
  EXPECT_DOUBLE_EQ(compare_floats({1, 1}, {-1, -1}).cosine_similarity, -1);
  EXPECT_DOUBLE_EQ(compare_floats({0}, {0}).cosine_similarity, 1);
  EXPECT_DOUBLE_EQ(compare_floats({0}, {1}).cosine_similarity, 0);
  EXPECT_DOUBLE_EQ(compare_floats({kNan, 1}, {kNan, 1}).cosine_similarity, 1);
}

TEST(Compare, IntegersAreExactWhateverTheTolerance) {
  const Tolerance loose{.relative = 10, .absolute = 10};
  EXPECT_FALSE(compare_values<std::int32_t>(DType::kInt32, {1}, {2}, loose).ok());
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  const Comparison far = compare_values<std::int64_t>(DType::kInt64, {kLow}, {-(kLow + 1)}, loose);
  EXPECT_EQ(far.max_absolute_error, 0x1p64);
  // Neighbours beyond 2^53 look equal as doubles.
  const Comparison near =
      compare_values<std::int64_t>(DType::kInt64, {(1ll << 60) + 1}, {1ll << 60});
  EXPECT_EQ(near.mismatches, 1);
  EXPECT_EQ(near.got, "1152921504606846977");
  EXPECT_FALSE(compare_values<std::uint8_t>(DType::kBool, {1}, {0}, loose).ok());
  EXPECT_EQ(compare_values<std::uint8_t>(DType::kBool, {1}, {0}).got, "true");
}

TEST(Compare, HalfAndComplexTypes) {
  EXPECT_TRUE(compare_values<BFloat16>(DType::kBFloat16, {BFloat16(1.0f)}, {BFloat16(1.008f)},
                                       default_tolerance(DType::kBFloat16))
                  .ok());
  EXPECT_FALSE(compare_values<Float16>(DType::kFloat16, {Float16(1.0f)}, {Float16(1.02f)},
                                       default_tolerance(DType::kFloat16))
                   .ok());
  using Complex = std::complex<float>;
  const Comparison result =
      compare_values<Complex>(DType::kComplex64, {{1, 2}}, {{1, 3}}, {.absolute = 0.5});
  EXPECT_EQ(result.max_absolute_error, 1);
  EXPECT_EQ(result.got, "1+2i");
  EXPECT_TRUE(compare_values<Complex>(DType::kComplex64, {{kNan, 0}}, {{0, kNan}}).ok());
  EXPECT_TRUE(compare_values<ComplexHalf>(DType::kComplex32, {{Float16(1.0f), Float16(2.0f)}},
                                          {{Float16(1.0f), Float16(2.0f)}})
                  .ok());
}

TEST(Compare, EveryDTypeFindsItsOwnMismatch) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    std::vector<unsigned char> zeros(4 * dtype_size(dtype), 0), other = zeros;
    other[3 * dtype_size(dtype) + dtype_size(dtype) - 1] = 1;  // the top byte of the last element
    const auto view = [&](std::vector<unsigned char>& data) {
      return TensorView::contiguous(data.data(), dtype, {4});
    };
    const auto result = compare(view(other), view(zeros), {});
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->mismatches, 1) << dtype_name(dtype);
    EXPECT_THAT(result->first_mismatch, Optional(ElementsAre(3))) << dtype_name(dtype);
  }
}

TEST(Compare, StridesDoNotMatterButSizesAndDTypeDo) {
  std::vector<float> rows = {1, 2, 3, 4, 5, 6}, columns = {1, 4, 2, 5, 3, 6};
  const TensorView row_major = TensorView::contiguous(rows.data(), DType::kFloat32, {2, 3});
  EXPECT_TRUE(compare(row_major, {columns.data(), DType::kFloat32, {2, 3}, {1, 2}}, {})->ok());
  const Status sizes =
      compare(row_major, TensorView::contiguous(rows.data(), DType::kFloat32, {3, 2}), {}).status();
  EXPECT_EQ(sizes.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(sizes.message(), HasSubstr("expected float32[3, 2], got float32[2, 3]"));
  EXPECT_FALSE(
      compare(row_major, TensorView::contiguous(rows.data(), DType::kInt32, {2, 3}), {}).ok());
}

}  // namespace
}  // namespace tendon::tensor
