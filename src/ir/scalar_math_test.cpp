#include "ir/scalar_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/philox.h"

namespace tendon::ir {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(ScalarMathTest, FloatsBecomeIntegersByTruncation) {
  EXPECT_EQ((scalar_cast<std::int32_t>(2.9f)), 2);
  EXPECT_EQ((scalar_cast<std::int32_t>(-2.9f)), -2);
  EXPECT_EQ((scalar_cast<std::int64_t>(kNaN)), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ((scalar_cast<std::int64_t>(1e30f)), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ((scalar_cast<std::int32_t>(3e9f)), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ((scalar_cast<std::int8_t>(300.0f)), 44);
  EXPECT_EQ((scalar_cast<std::int16_t>(kInfinity)), 0);
  EXPECT_EQ((scalar_cast<std::uint8_t>(-1.0f)), 255);
  EXPECT_EQ((scalar_cast<std::uint8_t>(300.7)), 44);
  EXPECT_EQ((scalar_cast<std::uint32_t>(4e9)), 4000000000u);
  EXPECT_EQ((scalar_cast<std::uint64_t>(1e19)), 10000000000000000000u);
  EXPECT_EQ((scalar_cast<std::uint64_t>(-1.0)), std::numeric_limits<std::uint64_t>::max());
}

TEST(ScalarMathTest, OtherCasts) {
  EXPECT_EQ((scalar_cast<std::int8_t>(std::int64_t{511})), -1);
  EXPECT_EQ((scalar_cast<std::uint8_t>(std::int32_t{-1})), 255);
  EXPECT_TRUE((scalar_cast<bool>(0.25f)));
  EXPECT_TRUE((scalar_cast<bool>(kNaN)));
  EXPECT_TRUE((scalar_cast<bool>(std::int32_t{256})));
  EXPECT_FALSE((scalar_cast<bool>(-0.0f)));
  EXPECT_EQ((scalar_cast<float>(true)), 1.0f);
  EXPECT_EQ((scalar_cast<float>(std::int64_t{16777217})), 16777216.0f);
  EXPECT_EQ((scalar_cast<float>(scalar_cast<BFloat16>(1.00390625f))), 1.0f);
  EXPECT_EQ((scalar_cast<std::int32_t>(Float16(2.5f))), 2);
  EXPECT_EQ((scalar_cast<float>(scalar_cast<Float16>(70000.0))), kInfinity);
}

TEST(ScalarMathTest, FloatFunctions) {
  EXPECT_EQ((scalar_unary<Op::kRound>(2.5f)), 2.0f);
  EXPECT_EQ((scalar_unary<Op::kRound>(-3.5)), -4.0);
  EXPECT_EQ((scalar_unary<Op::kSign>(-2.0f)), -1.0f);
  EXPECT_EQ((scalar_unary<Op::kSign>(kNaN)), 0.0f);
  EXPECT_EQ((scalar_unary<Op::kSigmoid>(0.0f)), 0.5f);
  EXPECT_EQ((scalar_unary<Op::kSigmoid>(-200.0f)), 0.0f);
  EXPECT_EQ((scalar_unary<Op::kRsqrt>(4.0f)), 0.5f);
  // In single precision, not rounded from double.
  EXPECT_EQ((scalar_unary<Op::kReciprocal>(3.0f)), 1.0f / 3.0f);
  EXPECT_EQ((scalar_binary<Op::kAdd>(16777216.0f, 1.0f)), 16777216.0f);
}

TEST(ScalarMathTest, FloatDivision) {
  EXPECT_EQ((scalar_binary<Op::kRemainder>(-7.0f, 3.0f)), 2.0f);
  EXPECT_EQ((scalar_binary<Op::kRemainder>(7.0f, -3.0f)), -2.0f);
  EXPECT_EQ((scalar_binary<Op::kFmod>(-7.0f, 3.0f)), -1.0f);
  EXPECT_EQ((scalar_binary<Op::kFloorDivide>(-7.0f, 3.0f)), -3.0f);
  EXPECT_EQ((scalar_binary<Op::kFloorDivide>(1.0, 0.1)), 9.0);  // 0.1 is above a tenth
  EXPECT_EQ((scalar_binary<Op::kFloorDivide>(1.0f, 0.0f)), kInfinity);
  EXPECT_TRUE(std::isnan(scalar_binary<Op::kFloorDivide>(0.0f, 0.0f)));
  EXPECT_TRUE(std::signbit(scalar_binary<Op::kFloorDivide>(-0.0f, 2.0f)));
}

TEST(ScalarMathTest, NaNWinsInExtremes) {
  EXPECT_TRUE(std::isnan(scalar_binary<Op::kMinimum>(kNaN, 1.0f)));
  EXPECT_TRUE(std::isnan(scalar_binary<Op::kMinimum>(1.0f, kNaN)));
  EXPECT_TRUE(std::isnan(scalar_binary<Op::kMaximum>(kNaN, 1.0f)));
  EXPECT_TRUE(std::isnan(scalar_binary<Op::kMaximum>(1.0f, kNaN)));
  EXPECT_EQ((scalar_binary<Op::kMinimum>(1.0f, 2.0f)), 1.0f);
  EXPECT_EQ((scalar_binary<Op::kMaximum>(1.0f, 2.0f)), 2.0f);
}

TEST(ScalarMathTest, IntegersWrap) {
  constexpr auto kLeast = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ((scalar_unary<Op::kAbs>(kLeast)), kLeast);
  EXPECT_EQ((scalar_unary<Op::kNegate>(kLeast)), kLeast);
  EXPECT_EQ((scalar_unary<Op::kNegate>(std::uint8_t{1})), 255);
  EXPECT_EQ((scalar_binary<Op::kAdd>(std::int8_t{127}, std::int8_t{1})), -128);
  EXPECT_EQ((scalar_binary<Op::kMultiply>(std::uint16_t{65535}, std::uint16_t{65535})), 1);
  EXPECT_EQ((scalar_binary<Op::kFloorDivide>(kLeast, -1)), kLeast);
  EXPECT_EQ((scalar_binary<Op::kRemainder>(kLeast, -1)), 0);
  EXPECT_EQ((scalar_binary<Op::kFloorDivide>(-7, 2)), -4);
  EXPECT_EQ((scalar_binary<Op::kTruncDivide>(-7, 2)), -3);
  EXPECT_EQ((scalar_binary<Op::kRemainder>(-7, 3)), 2);
  EXPECT_EQ((scalar_binary<Op::kFmod>(-7, 3)), -1);
  EXPECT_EQ((scalar_binary<Op::kFloorDivide>(7, 0)), 0);
  EXPECT_EQ((scalar_binary<Op::kRemainder>(7, 0)), 0);
  EXPECT_EQ((scalar_binary<Op::kPow>(std::int8_t{3}, std::int8_t{5})), -13);
  EXPECT_EQ((scalar_binary<Op::kPow>(2, -1)), 0);
  EXPECT_EQ((scalar_binary<Op::kPow>(-1, -3)), -1);
  EXPECT_EQ((scalar_binary<Op::kPow>(0, 0)), 1);
  EXPECT_EQ((scalar_binary<Op::kGcd>(-12, 18)), 6);
  EXPECT_EQ((scalar_unary<Op::kBitNot>(std::uint8_t{1})), 254);
  EXPECT_EQ((scalar_unary<Op::kFloor>(5)), 5);
}

TEST(ScalarMathTest, Shifts) {
  EXPECT_EQ((scalar_binary<Op::kShiftLeft>(1, 31)), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ((scalar_binary<Op::kShiftLeft>(1, 32)), 0);
  EXPECT_EQ((scalar_binary<Op::kShiftLeft>(1, -1)), 0);
  EXPECT_EQ((scalar_binary<Op::kShiftRight>(-8, 1)), -4);
  EXPECT_EQ((scalar_binary<Op::kShiftRight>(-8, 40)), -1);
  EXPECT_EQ((scalar_binary<Op::kShiftRight>(8, 40)), 0);
  EXPECT_EQ((scalar_binary<Op::kShiftRight>(std::uint8_t{200}, std::uint8_t{3})), 25);
  EXPECT_EQ((scalar_binary<Op::kShiftRight>(std::uint8_t{200}, std::uint8_t{9})), 0);
  EXPECT_EQ((scalar_binary<Op::kShiftLeft>(std::int8_t{-1}, std::int8_t{7})), -128);
}

TEST(ScalarMathTest, Bools) {
  EXPECT_TRUE((scalar_binary<Op::kAdd>(true, true)));
  EXPECT_FALSE((scalar_binary<Op::kMultiply>(true, false)));
  EXPECT_TRUE((scalar_binary<Op::kXor>(true, false)));
  EXPECT_FALSE((scalar_unary<Op::kLogicalNot>(true)));
  EXPECT_TRUE((scalar_compare<Op::kLess>(false, true)));
}

// The known answers of the authors' library (Random123, kat_vectors).
TEST(PhiloxTest, KnownAnswers) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox_block({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox_block({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox_block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  EXPECT_EQ(philox_bits(0, 0, 2), 0xbc57ac4c);
  EXPECT_EQ(philox_bits(-1, -1, -1) >> 32, 0);
}

}  // namespace
}  // namespace tendon::ir
