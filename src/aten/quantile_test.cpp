// Quantiles and other places between neighbours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "aten/test_operator.h"

namespace tendon::aten::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Call quantile(const Literal& self, const Literal& q, const char* interpolation,
              const char* target = "aten.quantile.default") {
  return {target,
          {{"self", self},
           {"q", q},
           {"dim", std::int64_t{0}},
           {"interpolation", std::string(interpolation)}}};
}

Literal result_of(const Call& call) {
  const Result<std::vector<Literal>> result = run(call);
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return result.ok() ? result->front() : Literal{};
}

TEST(Quantile, LiesBetweenItsNeighbours) {
  const Literal x = floats({4}, {8, 2, 4, 6});
  const Literal q = floats({3}, {0, 0.5, 1});
  EXPECT_EQ(result_of(quantile(x, q, "linear")), floats({3}, {2, 5, 8}));
  EXPECT_EQ(result_of(quantile(x, q, "lower")), floats({3}, {2, 4, 8}));
  EXPECT_EQ(result_of(quantile(x, q, "higher")), floats({3}, {2, 6, 8}));
  // A half is rounded to the even position.
  EXPECT_EQ(result_of(quantile(x, q, "nearest")), floats({3}, {2, 6, 8}));
  EXPECT_EQ(result_of(quantile(x, floats({}, {0.4F}), "midpoint")), floats({}, {5}));
}

TEST(Quantile, NanWinsUnlessItIsIgnored) {
  const Literal x = floats({4}, {8, kNaN, 4, 6});
  const Literal q = floats({}, {0.5});
  EXPECT_EQ(result_of(quantile(x, q, "linear")), floats({}, {kNaN}));
  EXPECT_EQ(result_of(quantile(x, q, "linear", "aten.nanquantile.default")), floats({}, {6}));
  EXPECT_EQ(result_of(quantile(floats({2}, {kNaN, kNaN}), q, "linear", "aten.nanquantile.default")),
            floats({}, {kNaN}));
}

TEST(Quantile, TakesOnlyFractions) {
  const Result<std::vector<Literal>> result =
      run(quantile(floats({3}, {1, 2, 3}), floats({}, {1.5}), "linear"));
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.status().message(), HasSubstr("q values must be in the range [0, 1]"));
}

TEST(Logit, AnEpsBeyondOneHalfKeepsItsLowerBound) {
  const Literal x = floats({2}, {0.5, 0.9F});
  const Literal result = result_of({"aten.logit.default", {{"self", x}, {"eps", 0.6}}});
  EXPECT_NEAR(result.elements[0], 0.405465, 1e-5);
  EXPECT_NEAR(result.elements[1], -0.405465, 1e-5);
}

TEST(TakeAlongDim, CountsFromTheEnd) {
  const Call call = {"aten.take_along_dim.default",
                     {{"self", floats({3}, {1, 2, 3})},
                      {"indices", ints({2}, {-1, -3})},
                      {"dim", std::int64_t{0}}}};
  EXPECT_EQ(result_of(call), floats({2}, {3, 1}));
}

TEST(SoftMarginLoss, OverflowsWhereAHalfExponentialDoes) {
  const Call call = {
      "aten.soft_margin_loss.default",
      {{"self", filled(DType::kFloat16, {1}, 20)}, {"target", filled(DType::kFloat16, {1}, -1)}}};
  EXPECT_EQ(result_of(call), filled(DType::kFloat16, {}, std::numeric_limits<double>::infinity()));
}

}  // namespace
}  // namespace tendon::aten::testing
