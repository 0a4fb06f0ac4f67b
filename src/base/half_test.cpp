#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tendon {
namespace {

bool half_is_nan(std::uint16_t bits) { return (bits & 0x7fffu) > 0x7c00u; }
bool bfloat16_is_nan(std::uint16_t bits) { return (bits & 0x7fffu) > 0x7f80u; }

TEST(Half, EveryValueSurvivesTheRoundTrip) {
  for (std::uint32_t i = 0; i <= 0xffffu; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    if (half_is_nan(bits)) {
      EXPECT_TRUE(std::isnan(half_to_float(bits)));
      EXPECT_TRUE(half_is_nan(float_to_half(half_to_float(bits))));
    } else {
      ASSERT_EQ(float_to_half(half_to_float(bits)), bits);
    }
  }
}

// Rounding checked against its definition: between two neighbours of the format the midpoint goes
// to the even one, and the floats just beside the midpoint go to their nearer neighbour.
TEST(Half, RoundsToNearestEven) {
  for (std::uint16_t low = 0; low < 0x7bffu; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const float middle = (half_to_float(low) + half_to_float(high)) / 2;
    ASSERT_EQ(float_to_half(middle), low % 2 == 0 ? low : high);
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0f)), low);
    ASSERT_EQ(float_to_half(std::nextafter(middle, 1e9f)), high);
    ASSERT_EQ(float_to_half(-middle), 0x8000u | (low % 2 == 0 ? low : high));
  }
}

TEST(Half, LimitsAndKnownValues) {
  EXPECT_EQ(float_to_half(65504.0f), 0x7bffu);
  EXPECT_EQ(float_to_half(65519.996f), 0x7bffu);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00u);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::infinity()), 0x7c00u);
  EXPECT_EQ(float_to_half(-std::numeric_limits<float>::max()), 0xfc00u);
  EXPECT_EQ(float_to_half(-0.0f), 0x8000u);
  EXPECT_EQ(float_to_half(0x1p-25f), 0u);
  EXPECT_EQ(float_to_half(0x1.000002p-25f), 1u);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0u);
  EXPECT_TRUE(half_is_nan(float_to_half(std::bit_cast<float>(0x7f800001u))));
  EXPECT_EQ(half_to_float(0x3c00u), 1.0f);
  EXPECT_EQ(half_to_float(0x0001u), 0x1p-24f);
  EXPECT_TRUE(std::signbit(half_to_float(0x8000u)));
  static_assert(half_to_float(float_to_half(0.5f)) == 0.5f);
}

TEST(BFloat16, EveryValueSurvivesTheRoundTrip) {
  for (std::uint32_t i = 0; i <= 0xffffu; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    if (bfloat16_is_nan(bits)) {
      EXPECT_TRUE(bfloat16_is_nan(float_to_bfloat16(bfloat16_to_float(bits))));
    } else {
      ASSERT_EQ(float_to_bfloat16(bfloat16_to_float(bits)), bits);
    }
  }
}

TEST(BFloat16, RoundsToNearestEvenAndKeepsNan) {
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x3f808000u)), 0x3f80u);
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x3f818000u)), 0x3f82u);
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x3f808001u)), 0x3f81u);
  EXPECT_EQ(float_to_bfloat16(std::numeric_limits<float>::max()), 0x7f80u);
  // The payload of this NaN lies wholly in the bits that are dropped.
  EXPECT_TRUE(bfloat16_is_nan(float_to_bfloat16(std::bit_cast<float>(0x7f800001u))));
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0xffffffffu)), 0xffffu);
}

}  // namespace
}  // namespace tendon
