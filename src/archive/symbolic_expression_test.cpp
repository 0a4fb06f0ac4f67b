#include "archive/symbolic_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace tendon::archive {
namespace {

using ::testing::HasSubstr;

class Expressions : public ::testing::Test {
 protected:
  Expressions() {
    names_.symbol = [this](const std::string& name) -> Result<ir::Size> {
      auto& symbol = symbols_[name];
      if (symbol == nullptr) {
        auto made = std::make_shared<ir::Symbol>();
        made->name = name;
        made->lower = name[0] == 'u' ? -1000 : 1;
        made->from_data = name[0] == 'u';
        symbol = made;
      }
      return ir::Size::symbol(symbol);
    };
    names_.input = [this](const InputNumber& number) -> Result<ir::Size> {
      asked_.push_back(number);
      return names_.symbol("s0");
    };
  }

  Result<ir::Size> parse(std::string_view text) { return parse_symbolic(text, names_); }
  ir::Size size(std::string_view text) {
    auto result = parse(text);
    EXPECT_TRUE(result.ok()) << text << ": " << result.status().to_string();
    return result.ok() ? *result : ir::Size(-12345);
  }
  /// The value where s0, s1, u0 are as given.
  std::int64_t value(std::string_view text, std::int64_t s0 = 0, std::int64_t s1 = 0,
                     std::int64_t u0 = 0) {
    const auto result = size(text).evaluate([&](const ir::Symbol& symbol) {
      return std::optional(symbol.name == "s0" ? s0 : symbol.name == "s1" ? s1 : u0);
    });
    EXPECT_TRUE(result.has_value()) << text;
    return result.value_or(-12345);
  }
  void expect_error(std::string_view text, StatusCode code, const std::string& message) {
    const auto result = parse(text);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.status().code(), code) << result.status().to_string();
    EXPECT_THAT(result.status().message(), HasSubstr(message));
  }

  SymbolicNames names_;
  std::map<std::string, ir::SymbolRef> symbols_;
  std::vector<InputNumber> asked_;
};

TEST_F(Expressions, SreprAndInfixFormsAreTheSameSize) {
  const ir::Size s0 = size("s0");
  EXPECT_EQ(size("Symbol('s0', positive=True, integer=True)"), s0);
  EXPECT_EQ(size("Mul(Integer(2), Symbol('s0', positive=True, integer=True))"), s0 * 2);
  EXPECT_EQ(size("Add(Symbol('s0', integer=True), Integer(-1))"), s0 - 1);
  EXPECT_EQ(size("2*s0 - 1"), s0 * 2 - 1);
  EXPECT_EQ(size("Min(Integer(8), Mul(Integer(32), Symbol(\"s0\")))"), ir::min(8, s0 * 32));
  EXPECT_EQ(size("Pow(Symbol('s0'), Integer(2))"), s0 * s0);
  EXPECT_EQ(size("FloorDiv(s0 + 1, 2)"), ir::floor_div(s0 + 1, 2));
  EXPECT_EQ(size("(s0 + 1)//2"), ir::floor_div(s0 + 1, 2));
  EXPECT_EQ(size("Mod(s0, 4)"), ir::mod(s0, 4));
  EXPECT_EQ(size("ModularIndexing(s0, 4, 8)"), ir::mod(ir::floor_div(s0, 4), 8));
  EXPECT_EQ(size("CleanDiv(6*s0, 3)"), s0 * 2);
  EXPECT_EQ(size("Identity(s0)"), s0);
}

TEST_F(Expressions, OperatorsBindAsInPython) {
  EXPECT_EQ(value("2 + 3*4 - 1"), 13);
  EXPECT_EQ(value("-2**2"), -4);
  EXPECT_EQ(value("2**3**2"), 512);
  EXPECT_EQ(value("(-s0) % 5", 7), 3);
  EXPECT_EQ(value("-s0 // 2", 7), -4);
  EXPECT_EQ(value("not s0 == 3 and s1 > 2 or s0 == 100", 4, 3), 1);
  EXPECT_EQ(value("1 <= s0 < s1", 3, 4), 1);
  EXPECT_EQ(value("1 <= s0 < s1", 4, 4), 0);
  EXPECT_EQ(value("Or(Eq(s0, 1), And(Ne(s1, 2), Not(Lt(u0, 0))))", 2, 3, 5), 1);
}

TEST_F(Expressions, RelationsOfBothNamings) {
  EXPECT_EQ(value("GreaterThan(Symbol('u0', integer=True), Integer(0))", 0, 0, 0), 1);
  EXPECT_EQ(value("StrictGreaterThan(u0, 0)", 0, 0, 0), 0);
  EXPECT_EQ(value("LessThan(u0, 16)", 0, 0, 16), 1);
  EXPECT_EQ(value("Where(u0 > 3, s0, s1)", 10, 20, 4), 10);
  EXPECT_EQ(value("Where(u0 > 3, s0, s1)", 10, 20, 3), 20);
}

TEST_F(Expressions, QuotientsRoundLikeFloatingPoint) {
  for (const std::int64_t u : {-1001, -1000, -21, -7, -3, -1, 0, 1, 2, 3, 5, 6, 7, 9, 1000, 1001}) {
    for (const std::int64_t s : {1, 2, 3, 4, 7, 10, 1000}) {
      const double quotient = static_cast<double>(u) / static_cast<double>(s);
      EXPECT_EQ(value("FloorToInt(IntTrueDiv(u0, s0))", s, 0, u), std::floor(quotient));
      EXPECT_EQ(value("CeilToInt(IntTrueDiv(u0, s0))", s, 0, u), std::ceil(quotient));
      EXPECT_EQ(value("TruncToInt(IntTrueDiv(u0, s0))", s, 0, u), std::trunc(quotient));
      EXPECT_EQ(value("RoundToInt(IntTrueDiv(u0, s0))", s, 0, u), std::nearbyint(quotient))
          << u << " / " << s;
    }
  }
  const std::int64_t large = (std::int64_t{1} << 40) - 1;
  EXPECT_EQ(value("FloorToInt(IntTrueDiv(s0, s1))", large, large + 1), 0);
}

TEST_F(Expressions, ScalesWithFewBitsStayExact) {
  const char* text =
      "TruncToInt(Mul(Float('2.5', precision=53), ToFloat(Symbol('s0', positive=True, "
      "integer=True))))";
  for (std::int64_t s = 1; s < 100; ++s) {
    EXPECT_EQ(value(text, s), static_cast<std::int64_t>(2.5 * static_cast<double>(s)));
  }
  EXPECT_EQ(size("FloorToInt(2.0*ToFloat(s0))"), size("2*s0"));
  EXPECT_EQ(value("FloorToInt(0.5*s0 + 0.25)", 7), 3);
  EXPECT_EQ(size("Mul(Rational(1, 2), Mul(Integer(4), s0))"), size("2*s0"));
  EXPECT_EQ(size("4*s0*s1/(2*s1)"), size("2*s0"));
}

TEST_F(Expressions, RoundingThatMightDecideIsRefused) {
  // 10 * 0.3 rounds up to 3.0 in floating point, but is below 3 exactly.
  expect_error("TruncToInt(Mul(Float('0.3'), ToFloat(s0)))", StatusCode::kUnimplemented,
               "floating-point rounding");
  // 49 * (1 / 49) is below 1 in floating point.
  expect_error("TruncToInt(Mul(s0, IntTrueDiv(1, s0)))", StatusCode::kUnimplemented, "rounding");
  expect_error("TruncToInt(OpaqueUnaryFn_sqrt(ToFloat(s0)))", StatusCode::kUnimplemented,
               "rounding");
  expect_error("FloorToInt(IntTrueDiv(s0, u0))", StatusCode::kUnimplemented, "rounding");
}

TEST_F(Expressions, InputsOfGuards) {
  EXPECT_EQ(size("L['images'][0].size()[2]"), size("s0"));
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].path, "['images'][0]");
  EXPECT_EQ(asked_[0].kind, InputNumber::Kind::kSize);
  EXPECT_EQ(asked_[0].axis, 2);
  EXPECT_EQ(size("(2*(L[\"a\"].size()[3] // 2)) == L['a'].stride()[0]"), size("2*(s0//2) == s0"));
  EXPECT_EQ(asked_[1].path, "['a']");
  EXPECT_EQ(asked_[2].kind, InputNumber::Kind::kStride);
  size("L['n'] > L['x'].storage_offset() + L['x'].ndim");
  EXPECT_EQ(asked_[3].kind, InputNumber::Kind::kValue);
  EXPECT_EQ(asked_[4].kind, InputNumber::Kind::kStorageOffset);
  EXPECT_EQ(asked_[5].kind, InputNumber::Kind::kRank);
}

TEST_F(Expressions, BrokenTextIsDataLoss) {
  for (const char* text : {"",
                           "   ",
                           "(",
                           ")",
                           "s0 +",
                           "2 2",
                           "Add(",
                           "Add(s0,",
                           "Add()",
                           "Symbol(s0)",
                           "Symbol('s0",
                           "Mul(s0, 2))",
                           "99999999999999999999",
                           "s0 ==",
                           "L[",
                           "L['a']",
                           "L['a'].size()",
                           "L['a'].size()[",
                           "L['a'].shape[0]",
                           "'s0'",
                           "@",
                           "Float('x')",
                           "Eq(s0)"}) {
    const auto result =
        parse_symbolic(text, {names_.symbol, [](const InputNumber&) -> Result<ir::Size> {
                                return Status(StatusCode::kDataLoss, "no input");
                              }});
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.status().code(), StatusCode::kDataLoss) << text;
    EXPECT_THAT(result.status().message(), HasSubstr("expression '"));
  }
}

TEST_F(Expressions, UnknownFunctionsAreNamed) {
  expect_error("IsNonOverlappingAndDenseIndicator(s0, 1)", StatusCode::kUnimplemented,
               "'IsNonOverlappingAndDenseIndicator'");
}

TEST_F(Expressions, HostileTextNeitherOverflowsTheStackNorTakesLong) {
  for (const char* unit : {"(", "-", "not ", "~", "Max(", "s0**", "1 if "}) {
    std::string text;
    while (text.size() < 16000) text += unit;
    EXPECT_FALSE(parse(text).ok());
  }
  std::string sum = "s0";
  for (int i = 1; i < 3000; ++i) sum += "+s" + std::to_string(i);
  EXPECT_FALSE(parse(sum + std::string(20000, ' ')).ok());
}

TEST_F(Expressions, ErrorsSayWhere) {
  expect_error("Add(s0, ?)", StatusCode::kDataLoss, "character 9");
}

}  // namespace
}  // namespace tendon::archive
