#include "archive/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>

namespace tendon::archive {
namespace {

using ::testing::HasSubstr;

/// The document of {"x": TEXT}, and its x.
struct Parsed {
  explicit Parsed(const std::string& text) { parse_json(document, "{\"x\":" + text + "}"); }
  const Json& x() const { return member(document, "x"); }
  rapidjson::Document document;
};

std::string error_of(const std::string& text) {
  try {
    const Parsed parsed(text);
    return "";
  } catch (const FormatError& error) {
    return error.what();
  }
}

TEST(Json, IntegersKeepAllTheirBits) {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{2147483648},
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    const Parsed parsed(std::to_string(value));
    ASSERT_TRUE(parsed.x().IsInt64()) << value;
    EXPECT_EQ(parsed.x().GetInt64(), value);
  }
  const Parsed large("18446744073709551615");
  EXPECT_FALSE(large.x().IsInt64());
  EXPECT_EQ(large.x().GetUint64(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(Parsed("18446744073709551616").x().GetDouble(), 18446744073709551616.0);
}

TEST(Json, RealNumbersAreTheNearestDoubles) {
  for (const double value : {0.1, 1e-5, 1.0 / 3, 5e-324, 2.2250738585072014e-308,
                             1.7976931348623157e308, -0.0, 123456789012345678.0}) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.17e", value);
    const Parsed parsed(text);
    EXPECT_EQ(parsed.x().GetDouble(), value) << text;
    EXPECT_EQ(std::signbit(parsed.x().GetDouble()), std::signbit(value));
  }
  // Halfway between two doubles, and a digit more.
  EXPECT_EQ(Parsed("9007199254740993.0").x().GetDouble(), 9007199254740992.0);
  EXPECT_EQ(Parsed("9007199254740993.0000000000000000000001").x().GetDouble(), 9007199254740994.0);
}

TEST(Json, PythonsWordsAreNumbers) {
  EXPECT_TRUE(std::isnan(Parsed("NaN").x().GetDouble()));
  EXPECT_EQ(Parsed("Infinity").x().GetDouble(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(Parsed("-Infinity").x().GetDouble(), -std::numeric_limits<double>::infinity());
}

TEST(Json, ExtremeNumbersAreNoTrap) {
  EXPECT_EQ(Parsed("1e-999").x().GetDouble(), 0.0);
  EXPECT_EQ(Parsed("0.00000000000000000000000000000e-563432665").x().GetDouble(), 0.0);
  EXPECT_EQ(Parsed("0e5").x().GetDouble(), 0.0);
  EXPECT_THAT(error_of("1e999"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of(std::string(5000, '9')), HasSubstr("not JSON"));
  for (const char* text :
       {"1.", "-", "+1", ".5", "01", "1e", "1e+", "0x10", "--1", "nan", "Inf1"}) {
    EXPECT_THAT(error_of(text), HasSubstr("not JSON")) << text;
  }
}

TEST(Json, ErrorsSayWhere) {
  EXPECT_THAT(error_of("[1,2"), HasSubstr("byte 9"));
  EXPECT_THAT(error_of("1}{"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("\"\\u12\""), HasSubstr("not JSON"));
}

TEST(Json, NestingTakesNoStack) {
  const std::string deep(1'000'000, '[');
  EXPECT_THAT(error_of(deep), HasSubstr("not JSON"));
  EXPECT_EQ(error_of(deep + std::string(1'000'000, ']')), "");
}

TEST(Json, OtherKindsOfValuesThrow) {
  const Parsed parsed("\"text\"");
  EXPECT_THROW(parsed.x().GetInt64(), FormatError);
  EXPECT_THROW(parsed.x().GetArray(), FormatError);
  EXPECT_THROW(member(parsed.x(), "y"), FormatError);
  EXPECT_THROW(member(parsed.document, "y"), FormatError);
  EXPECT_EQ(optional_member(parsed.document, "y"), nullptr);
  EXPECT_EQ(text_of(parsed.x()), "text");
}

}  // namespace
}  // namespace tendon::archive
