#include <gtest/gtest.h>

#include <complex>

#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

constexpr DType kAll[] = {DType::kBool,    DType::kUInt8,   DType::kInt8,      DType::kInt16,
                          DType::kInt32,   DType::kInt64,   DType::kFloat16,   DType::kBFloat16,
                          DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128};

Tensor tensor(DType dtype, int rank = 1) {
  return Tensor{0, dtype, Shape(static_cast<std::size_t>(rank), Size(2))};
}

TEST(Promote, IsCommutativeIdempotentAndMonotone) {
  for (DType a : kAll) {
    EXPECT_EQ(promote(a, a), a);
    for (DType b : kAll) {
      const DType both = promote(a, b);
      EXPECT_EQ(both, promote(b, a)) << dtype_name(a) << " " << dtype_name(b);
      // Nothing is gained by promoting again.
      EXPECT_EQ(promote(both, a), both) << dtype_name(a) << " " << dtype_name(b);
      EXPECT_EQ(promote(both, b), both) << dtype_name(a) << " " << dtype_name(b);
    }
  }
}

TEST(Promote, FollowsPyTorchsTable) {
  EXPECT_EQ(promote(DType::kUInt8, DType::kInt8), DType::kInt16);
  EXPECT_EQ(promote(DType::kUInt8, DType::kInt16), DType::kInt16);
  EXPECT_EQ(promote(DType::kInt32, DType::kInt64), DType::kInt64);
  EXPECT_EQ(promote(DType::kBool, DType::kUInt8), DType::kUInt8);
  EXPECT_EQ(promote(DType::kInt64, DType::kFloat16), DType::kFloat16);
  EXPECT_EQ(promote(DType::kFloat16, DType::kBFloat16), DType::kFloat32);
  EXPECT_EQ(promote(DType::kBFloat16, DType::kFloat64), DType::kFloat64);
  EXPECT_EQ(promote(DType::kFloat64, DType::kComplex64), DType::kComplex128);
  EXPECT_EQ(promote(DType::kInt64, DType::kComplex64), DType::kComplex64);
}

TEST(ResultType, TensorsWithAxesDecideWithinACategory) {
  EXPECT_EQ(result_type({tensor(DType::kInt32), tensor(DType::kInt64, 0)}), DType::kInt32);
  EXPECT_EQ(result_type({tensor(DType::kFloat16), tensor(DType::kFloat64, 0)}), DType::kFloat16);
  EXPECT_EQ(result_type({tensor(DType::kInt32, 0), tensor(DType::kInt64, 0)}), DType::kInt64);
}

TEST(ResultType, AHigherCategoryOfLowerRankWins) {
  EXPECT_EQ(result_type({tensor(DType::kInt32), tensor(DType::kFloat16, 0)}), DType::kFloat16);
  EXPECT_EQ(result_type({tensor(DType::kBool), tensor(DType::kUInt8, 0)}), DType::kUInt8);
  EXPECT_EQ(result_type({tensor(DType::kInt64), tensor(DType::kComplex64, 0)}), DType::kComplex64);
}

TEST(ResultType, NumbersOnlyRaiseTheCategory) {
  const Scalar integer(std::int64_t{3}), real(0.5), flag(true),
      imaginary(std::complex<double>(0, 1));
  EXPECT_EQ(result_type({tensor(DType::kUInt8), integer}), DType::kUInt8);
  EXPECT_EQ(result_type({tensor(DType::kBool), integer}), DType::kInt64);
  EXPECT_EQ(result_type({tensor(DType::kInt64), real}), DType::kFloat32);
  EXPECT_EQ(result_type({tensor(DType::kBFloat16), real}), DType::kBFloat16);
  EXPECT_EQ(result_type({tensor(DType::kFloat64, 0), real}), DType::kFloat64);
  EXPECT_EQ(result_type({tensor(DType::kInt8), flag}), DType::kInt8);
  EXPECT_EQ(result_type({tensor(DType::kFloat64), imaginary}), DType::kComplex128);
  EXPECT_EQ(result_type({tensor(DType::kFloat32), imaginary}), DType::kComplex64);
  EXPECT_EQ(result_type({tensor(DType::kInt32), imaginary}), DType::kComplex64);
}

TEST(ScalarType, ItemsAreNumbersOfTheirKind) {
  EXPECT_EQ(scalar_type(Scalar(tensor(DType::kFloat64, 0))), DType::kFloat32);
  EXPECT_EQ(scalar_type(Scalar(tensor(DType::kInt8, 0))), DType::kInt64);
  EXPECT_EQ(scalar_type(Scalar(Size(4))), DType::kInt64);
}

TEST(WrapAxis, TakesNegativeAxesAndNamesTheRange) {
  EXPECT_EQ(wrap_axis(-1, 3), 2);
  EXPECT_EQ(wrap_axis(0, 0), 0);
  EXPECT_EQ(wrap_axis(-1, 0), 0);
  try {
    wrap_axis(3, 3);
    FAIL();
  } catch (const InvalidProgram& error) {
    EXPECT_STREQ(error.what(),
                 "Dimension out of range (expected to be in range of [-3, 2], but got 3)");
  }
}

}  // namespace
}  // namespace tendon::aten
