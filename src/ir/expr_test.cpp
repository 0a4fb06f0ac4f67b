#include "ir/expr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tendon::ir {
namespace {

constexpr DType kI64 = DType::kInt64;
constexpr DType kF32 = DType::kFloat32;

Size symbol(const std::string& name, std::int64_t lower = 1, std::int64_t upper = kUnbounded) {
  return Size::symbol(std::make_shared<const Symbol>(Symbol{name, lower, upper, false, {}}));
}

class ExprTest : public ::testing::Test {
 protected:
  ExprId number(std::int64_t value) { return pool.constant(kI64, value); }
  ExprId real(double value, DType dtype = kF32) { return pool.constant(dtype, value); }
  ExprId truth(bool value) { return pool.constant(DType::kBool, std::int64_t{value}); }
  ExprId add(ExprId a, ExprId b) { return pool.binary(Op::kAdd, a, b); }
  ExprId subtract(ExprId a, ExprId b) { return pool.binary(Op::kSubtract, a, b); }
  ExprId multiply(ExprId a, ExprId b) { return pool.binary(Op::kMultiply, a, b); }
  ExprId divide(ExprId a, ExprId b) { return pool.binary(Op::kFloorDivide, a, b); }
  ExprId remainder(ExprId a, ExprId b) { return pool.binary(Op::kRemainder, a, b); }
  ExprId less(ExprId a, ExprId b) { return pool.binary(Op::kLess, a, b); }
  ExprId both(ExprId a, ExprId b) { return pool.binary(Op::kAnd, a, b); }
  ExprId either(ExprId a, ExprId b) { return pool.binary(Op::kOr, a, b); }
  ExprId negation(ExprId a) { return pool.unary(Op::kLogicalNot, a); }
  ExprId load(ValueId value, DType dtype, std::vector<ExprId> positions) {
    return pool.load(value, dtype, positions);
  }
  ExprId scalar(ValueId value, DType dtype) { return pool.load(value, dtype, {}); }
  void extents(std::vector<Size> sizes) { pool.set_extents(sizes); }
  ExprId index(int axis) { return pool.index(axis); }
  std::string text(ExprId id) { return pool.to_string(id); }

  ExprPool pool;
};

// --- interning -----------------------------------------------------------------------------------

TEST_F(ExprTest, EqualExpressionsHaveEqualIds) {
  extents({Size(4), Size(5)});
  const ExprId a = add(index(0), number(1));
  const ExprId b = add(number(1), index(0));
  EXPECT_EQ(a, b);
  EXPECT_EQ(load(3, kF32, {a}), load(3, kF32, {b}));
  EXPECT_NE(load(3, kF32, {a}), load(4, kF32, {a}));
  EXPECT_NE(load(3, kF32, {a}), load(3, DType::kFloat64, {a}));
  const Size s0 = symbol("s0");
  EXPECT_EQ(pool.size(s0 + Size(1)), add(pool.size(s0), number(1)));
  EXPECT_NE(real(0.0), real(-0.0));
}

TEST_F(ExprTest, ManyNodesStayFindable) {
  std::vector<ExprId> ids;
  for (int i = 0; i < 50'000; ++i) ids.push_back(pool.constant(DType::kInt32, std::int64_t{i}));
  for (int i = 0; i < 50'000; ++i) {
    ASSERT_EQ(pool.constant(DType::kInt32, std::int64_t{i}), ids[static_cast<std::size_t>(i)]);
  }
}

TEST_F(ExprTest, ReferencesSurviveGrowth) {
  extents({Size(100), Size(100)});
  const ExprId position[] = {index(0), index(1)};
  const ExprId id = pool.load(1, kF32, position);
  const ExprNode& node = pool.node(id);
  const auto arguments = pool.arguments(id);
  const Size s0 = symbol("s0");
  const Size& size = pool.size_of(pool.size(s0));
  for (int i = 0; i < 100'000; ++i) pool.load(i, kF32, arguments);  // the pool's own arguments
  EXPECT_EQ(node.op, Op::kLoad);
  EXPECT_EQ(node.payload, 1);
  EXPECT_THAT(arguments, ::testing::ElementsAre(index(0), index(1)));
  EXPECT_EQ(size, s0);
}

TEST_F(ExprTest, CopiesAreIndependent) {
  extents({Size(7)});
  const ExprId a = add(index(0), number(1));
  ExprPool copy = pool;
  const ExprId b = copy.binary(Op::kMultiply, a, copy.constant(kI64, std::int64_t{2}));
  EXPECT_EQ(copy.to_string(b), "2*i0 + 2");
  EXPECT_EQ(multiply(a, number(3)), b + 1 - 1);  // the same next id, another node
  EXPECT_EQ(text(multiply(a, number(3))), "3*i0 + 3");
}

// --- constants -----------------------------------------------------------------------------------

TEST_F(ExprTest, ConstantsTakeTheirTypesCast) {
  EXPECT_EQ(pool.as_integer(pool.constant(DType::kInt8, std::int64_t{300})), 44);
  EXPECT_EQ(pool.as_integer(pool.constant(DType::kUInt8, std::int64_t{-1})), 255);
  EXPECT_EQ(pool.as_integer(pool.constant(DType::kBool, 0.5)), 1);
  EXPECT_EQ(pool.as_integer(pool.constant(kI64, -2.9)), -2);
  EXPECT_EQ(pool.as_number(real(0.1)), static_cast<double>(0.1f));
  EXPECT_EQ(pool.as_number(real(65520, DType::kFloat16)), std::numeric_limits<double>::infinity());
  EXPECT_EQ(pool.as_number(real(1.0 + 1.0 / 256, DType::kBFloat16)), 1.0);
  EXPECT_EQ(pool.as_number(pool.constant(DType::kUInt64, std::int64_t{-1})), 0x1p64);
  EXPECT_EQ(pool.as_number(pool.constant(kF32, (std::int64_t{1} << 24) + 1)), 0x1p24);
  EXPECT_EQ(pool.as_integer(real(1.0)), std::nullopt);
}

TEST_F(ExprTest, FloatConstantsFoldInTheirPrecision) {
  EXPECT_EQ(add(real(0x1p24), real(1)), real(0x1p24));
  EXPECT_EQ(pool.as_number(add(real(0x1p24, DType::kFloat64), real(1, DType::kFloat64))),
            0x1p24 + 1);
  EXPECT_EQ(pool.as_number(pool.binary(Op::kDivide, real(1), real(3))),
            static_cast<double>(1.0f / 3.0f));
  EXPECT_EQ(pool.unary(Op::kRound, real(2.5)), real(2));
  EXPECT_EQ(pool.unary(Op::kRound, real(-0.5)), real(-0.0));
  EXPECT_EQ(pool.unary(Op::kRound, real(3.5)), real(4));
  EXPECT_EQ(pool.unary(Op::kSqrt, real(9)), real(3));
  EXPECT_EQ(pool.node(pool.unary(Op::kExp, real(1))).op, Op::kExp);  // the runtime's business
  const double nan = std::nan("");
  EXPECT_EQ(pool.as_integer(less(real(nan), real(1))), 0);
  EXPECT_EQ(pool.as_integer(pool.binary(Op::kNotEqual, real(nan), real(nan))), 1);
  EXPECT_TRUE(std::isnan(*pool.as_number(pool.binary(Op::kMaximum, real(nan), real(1)))));
  EXPECT_EQ(pool.as_integer(pool.unary(Op::kIsNan, real(nan))), 1);
}

TEST_F(ExprTest, IntegerConstantsWrapAndDivideLikePython) {
  const auto i32 = [&](std::int64_t v) { return pool.constant(DType::kInt32, v); };
  const auto i8 = [&](std::int64_t v) { return pool.constant(DType::kInt8, v); };
  EXPECT_EQ(add(i8(100), i8(100)), i8(-56));
  EXPECT_EQ(multiply(i32(1 << 30), i32(4)), i32(0));
  EXPECT_EQ(divide(i32(-7), i32(2)), i32(-4));
  EXPECT_EQ(remainder(i32(-7), i32(2)), i32(1));
  EXPECT_EQ(remainder(i32(7), i32(-2)), i32(-1));
  EXPECT_EQ(pool.binary(Op::kTruncDivide, i32(-7), i32(2)), i32(-3));
  EXPECT_EQ(pool.binary(Op::kFmod, i32(-7), i32(2)), i32(-1));
  EXPECT_EQ(divide(i32(5), i32(0)), i32(0));
  EXPECT_EQ(remainder(i32(5), i32(0)), i32(0));
  EXPECT_EQ(divide(i8(-128), i8(-1)), i8(-128));
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(divide(number(least), number(-1)), number(least));
  EXPECT_EQ(pool.unary(Op::kAbs, i8(-128)), i8(-128));
  const ExprId largest = pool.constant(DType::kUInt64, std::int64_t{-1});
  EXPECT_EQ(pool.as_integer(less(pool.constant(DType::kUInt64, std::int64_t{1}), largest)), 1);
  EXPECT_EQ(divide(largest, pool.constant(DType::kUInt64, std::int64_t{2})),
            pool.constant(DType::kUInt64, std::numeric_limits<std::int64_t>::max()));
}

// --- algebra -------------------------------------------------------------------------------------

TEST_F(ExprTest, FloatIdentitiesKeepEveryBit) {
  const ExprId x = scalar(0, kF32);
  EXPECT_EQ(multiply(x, real(1)), x);
  EXPECT_EQ(multiply(real(1), x), x);
  EXPECT_EQ(pool.binary(Op::kDivide, x, real(1)), x);
  EXPECT_EQ(subtract(x, real(0)), x);
  EXPECT_EQ(add(x, real(-0.0)), x);
  EXPECT_NE(add(x, real(0)), x);          // -0 + 0 is 0
  EXPECT_NE(subtract(x, real(-0.0)), x);  // -0 - -0 is 0
  EXPECT_NE(multiply(x, real(0)), real(0));
  EXPECT_NE(subtract(x, x), real(0));
  EXPECT_EQ(pool.unary(Op::kNegate, pool.unary(Op::kNegate, x)), x);
  const ExprId y = scalar(1, kF32);
  EXPECT_EQ(add(x, pool.unary(Op::kNegate, y)), subtract(x, y));
  EXPECT_EQ(subtract(x, pool.unary(Op::kNegate, y)), add(x, y));
  EXPECT_EQ(add(x, y), add(y, x));
  EXPECT_NE(add(add(x, real(1)), real(1)), add(x, real(2)));
  EXPECT_EQ(pool.binary(Op::kDivide, x, real(8)), multiply(x, real(0.125)));
  EXPECT_EQ(pool.node(pool.binary(Op::kDivide, x, real(3))).op, Op::kDivide);
  EXPECT_EQ(pool.node(pool.binary(Op::kDivide, x, real(0x1p127))).op, Op::kDivide);
  EXPECT_EQ(pool.node(pool.binary(Op::kEqual, x, x)).op, Op::kEqual);  // NaN
  EXPECT_EQ(less(x, x), truth(false));
}

TEST_F(ExprTest, IntegerIdentities) {
  const DType i32 = DType::kInt32;
  const auto c = [&](std::int64_t v) { return pool.constant(i32, v); };
  const ExprId x = scalar(0, i32);
  const ExprId y = scalar(1, i32);
  EXPECT_EQ(add(x, c(0)), x);
  EXPECT_EQ(multiply(x, c(1)), x);
  EXPECT_EQ(multiply(x, c(0)), c(0));
  EXPECT_EQ(subtract(x, x), c(0));
  EXPECT_EQ(add(add(x, c(3)), c(4)), add(x, c(7)));
  EXPECT_EQ(subtract(add(x, c(3)), c(3)), x);
  EXPECT_EQ(multiply(multiply(x, c(3)), c(5)), multiply(x, c(15)));
  EXPECT_EQ(add(x, pool.unary(Op::kNegate, y)), subtract(x, y));
  EXPECT_EQ(pool.binary(Op::kAnd, x, c(-1)), x);
  EXPECT_EQ(pool.binary(Op::kAnd, x, c(0)), c(0));
  EXPECT_EQ(pool.binary(Op::kXor, x, x), c(0));
  EXPECT_EQ(remainder(x, c(1)), c(0));
  EXPECT_EQ(divide(x, c(1)), x);
  const ExprId u = scalar(2, DType::kUInt8);
  const auto u8 = [&](std::int64_t v) { return pool.constant(DType::kUInt8, v); };
  EXPECT_EQ(pool.binary(Op::kMinimum, u, u8(255)), u);
  EXPECT_EQ(pool.binary(Op::kMaximum, u, u8(0)), u);
  EXPECT_EQ(pool.binary(Op::kLessEqual, u, u8(255)), truth(true));
  EXPECT_EQ(pool.binary(Op::kMinimum, pool.binary(Op::kMinimum, x, c(5)), c(3)),
            pool.binary(Op::kMinimum, x, c(3)));
}

TEST_F(ExprTest, WrappingSumsOfDataCancel) {
  const ExprId x = scalar(0, kI64);
  const std::int64_t big = std::int64_t{1} << 62;
  EXPECT_EQ(text(add(multiply(x, number(big)), multiply(x, number(big)))),
            text(multiply(x, number(2 * static_cast<std::uint64_t>(big)))));
  EXPECT_EQ(multiply(multiply(x, number(big)), number(4)), number(0));
  // (x + 1) > x does not hold for the largest x, nor is (4x)/4 x.
  EXPECT_EQ(pool.as_integer(less(x, add(x, number(1)))), std::nullopt);
  EXPECT_NE(divide(multiply(x, number(4)), number(4)), x);
  EXPECT_EQ(pool.binary(Op::kEqual, x, add(x, number(1))), truth(false));
}

TEST_F(ExprTest, CastChains) {
  const ExprId half = scalar(0, DType::kFloat16);
  const ExprId f32 = scalar(1, kF32);
  const ExprId i32 = scalar(2, DType::kInt32);
  const ExprId i64 = scalar(3, kI64);
  const ExprId boolean = scalar(4, DType::kBool);
  const auto chain = [&](ExprId x, DType a, DType b) { return pool.cast(b, pool.cast(a, x)); };
  EXPECT_EQ(pool.cast(kF32, f32), f32);
  EXPECT_EQ(chain(half, kF32, DType::kFloat16), half);
  EXPECT_EQ(chain(f32, DType::kFloat64, kF32), f32);
  EXPECT_EQ(chain(i32, kI64, DType::kInt32), i32);
  EXPECT_EQ(chain(boolean, kF32, DType::kBool), boolean);
  EXPECT_EQ(chain(i32, DType::kFloat64, DType::kInt32), i32);
  EXPECT_EQ(chain(half, kF32, DType::kFloat64), pool.cast(DType::kFloat64, half));
  EXPECT_EQ(chain(i64, DType::kInt32, DType::kInt8), pool.cast(DType::kInt8, i64));
  // Roundings stay.
  EXPECT_NE(chain(f32, DType::kFloat16, kF32), f32);
  EXPECT_NE(chain(i32, kF32, DType::kInt32), i32);
  EXPECT_NE(chain(i64, DType::kInt32, kI64), i64);
  EXPECT_NE(chain(half, DType::kBFloat16, kF32), pool.cast(kF32, half));
  EXPECT_NE(chain(scalar(5, DType::kFloat64), kF32, DType::kFloat16),
            pool.cast(DType::kFloat16, scalar(5, DType::kFloat64)));
  extents({Size(1000)});
  EXPECT_EQ(chain(index(0), DType::kInt32, kI64), index(0));
  EXPECT_EQ(chain(index(0), kF32, kI64), index(0));
}

TEST_F(ExprTest, Selects) {
  const ExprId c = scalar(0, DType::kBool);
  const ExprId d = scalar(1, DType::kBool);
  const ExprId x = scalar(2, kF32);
  const ExprId y = scalar(3, kF32);
  const ExprId z = scalar(4, kF32);
  EXPECT_EQ(pool.select(truth(true), x, y), x);
  EXPECT_EQ(pool.select(truth(false), x, y), y);
  EXPECT_EQ(pool.select(c, x, x), x);
  EXPECT_EQ(pool.select(negation(c), x, y), pool.select(c, y, x));
  EXPECT_EQ(pool.select(c, pool.select(c, x, y), z), pool.select(c, x, z));
  EXPECT_EQ(pool.select(c, x, pool.select(c, y, z)), pool.select(c, x, z));
  extents({Size(10)});
  const ExprId low = pool.binary(Op::kLess, index(0), number(3));
  const ExprId lower = pool.binary(Op::kLess, index(0), number(2));
  const ExprId high = pool.binary(Op::kLess, number(2), index(0));
  EXPECT_EQ(pool.select(low, pool.select(high, x, y), z), pool.select(low, y, z));
  EXPECT_EQ(pool.select(low, x, pool.select(high, y, z)), pool.select(low, x, y));
  EXPECT_EQ(pool.select(lower, pool.select(low, x, y), z), pool.select(lower, x, z));
  EXPECT_EQ(pool.select(low, x, pool.select(lower, y, z)), pool.select(low, x, z));
  EXPECT_NE(pool.select(low, pool.select(lower, x, y), z), pool.select(low, x, z));
  EXPECT_NE(pool.select(lower, x, pool.select(low, y, z)), pool.select(lower, x, y));
  EXPECT_EQ(pool.select(c, truth(true), truth(false)), c);
  EXPECT_EQ(pool.select(c, truth(false), truth(true)), negation(c));
  EXPECT_EQ(pool.select(c, d, truth(false)), both(c, d));
  EXPECT_EQ(pool.select(c, x, pool.select(d, x, y)), pool.select(either(c, d), x, y));
  EXPECT_EQ(pool.select(c, pool.select(d, x, y), y), pool.select(both(c, d), x, y));
}

TEST_F(ExprTest, Logic) {
  const ExprId c = scalar(0, DType::kBool);
  const ExprId d = scalar(1, DType::kBool);
  const ExprId x = scalar(2, DType::kInt32);
  const ExprId y = scalar(3, DType::kInt32);
  const ExprId f = scalar(4, kF32);
  EXPECT_EQ(negation(negation(c)), c);
  EXPECT_EQ(both(c, truth(true)), c);
  EXPECT_EQ(both(c, truth(false)), truth(false));
  EXPECT_EQ(both(c, negation(c)), truth(false));
  EXPECT_EQ(either(c, negation(c)), truth(true));
  EXPECT_EQ(both(both(c, d), c), both(c, d));
  EXPECT_EQ(both(c, both(d, c)), both(d, c));
  EXPECT_EQ(negation(less(x, y)), pool.binary(Op::kLessEqual, y, x));
  EXPECT_EQ(pool.node(negation(less(f, f + 0))).op, Op::kConstant);
  EXPECT_EQ(pool.node(negation(less(f, real(1)))).op, Op::kLogicalNot);  // NaN
  EXPECT_EQ(negation(pool.binary(Op::kEqual, f, real(1))), pool.binary(Op::kNotEqual, f, real(1)));
  EXPECT_EQ(pool.binary(Op::kNotEqual, pool.cast(kI64, c), number(0)), c);
  EXPECT_EQ(pool.binary(Op::kEqual, pool.cast(kI64, c), number(0)), negation(c));
  EXPECT_EQ(pool.binary(Op::kEqual, pool.cast(kI64, c), number(7)), truth(false));
  EXPECT_EQ(pool.binary(Op::kMultiply, c, d), both(c, d));
  EXPECT_EQ(pool.binary(Op::kAdd, c, d), either(c, d));
}

TEST_F(ExprTest, ComparisonsOfPositions) {
  const Size s0 = symbol("s0");
  extents({Size(10), s0});
  EXPECT_EQ(less(index(0), number(10)), truth(true));
  EXPECT_EQ(less(index(0), number(0)), truth(false));
  EXPECT_EQ(less(index(1), pool.size(s0)), truth(true));
  EXPECT_EQ(less(add(index(1), number(3)), pool.size(s0 + Size(3))), truth(true));
  EXPECT_EQ(pool.binary(Op::kLessEqual, pool.size(s0), index(1)), truth(false));
  EXPECT_EQ(text(less(index(1), pool.size(s0 - Size(1)))), "i1 < s0 - 1");
  // One form for one meaning.
  EXPECT_EQ(pool.binary(Op::kLessEqual, number(0), subtract(index(0), number(2))),
            less(number(1), index(0)));
  EXPECT_EQ(less(multiply(index(0), number(4)), number(9)), less(index(0), number(3)));
  EXPECT_EQ(pool.binary(Op::kEqual, multiply(index(0), number(2)), number(5)), truth(false));
  EXPECT_EQ(negation(less(index(0), number(3))), less(number(2), index(0)));
  // Regions.
  EXPECT_EQ(both(less(index(0), number(3)), less(index(0), number(5))), less(index(0), number(3)));
  EXPECT_EQ(either(less(index(0), number(3)), less(index(0), number(5))),
            less(index(0), number(5)));
  EXPECT_EQ(both(less(index(0), number(3)), less(number(2), index(0))), truth(false));
  EXPECT_EQ(either(less(index(0), number(3)), less(number(2), index(0))), truth(true));
}

// --- affine forms and divisions ------------------------------------------------------------------

TEST_F(ExprTest, AffineFormsMeet) {
  const Size s0 = symbol("s0");
  extents({Size(10), Size(20)});
  const ExprId a = multiply(add(index(0), index(1)), pool.size(s0));
  const ExprId b = add(multiply(pool.size(s0), index(1)), multiply(index(0), pool.size(s0)));
  EXPECT_EQ(a, b);
  EXPECT_EQ(text(a), "s0*i0 + s0*i1");
  EXPECT_EQ(subtract(add(a, number(3)), b), number(3));
  EXPECT_EQ(text(subtract(number(9), index(0))), "9 - i0");
  EXPECT_EQ(pool.unary(Op::kNegate, subtract(index(0), index(1))), subtract(index(1), index(0)));
  const auto form = pool.affine(add(a, number(5)));
  EXPECT_EQ(form.constant, Size(5));
  ASSERT_EQ(form.terms.size(), 2u);
  EXPECT_EQ(form.terms[0].coefficient, s0);
  EXPECT_EQ(pool.from_affine(form), add(a, number(5)));
}

TEST_F(ExprTest, DivisionsOfSumsDisappear) {
  const Size s0 = symbol("s0");
  const Size s1 = symbol("s1");
  extents({s0, Size(4), s1});
  const ExprId flat = add(multiply(index(0), number(4)), index(1));
  EXPECT_EQ(divide(flat, number(4)), index(0));
  EXPECT_EQ(remainder(flat, number(4)), index(1));
  const ExprId wide = add(multiply(index(0), pool.size(s1)), index(2));
  EXPECT_EQ(divide(wide, pool.size(s1)), index(0));
  EXPECT_EQ(remainder(wide, pool.size(s1)), index(2));
  EXPECT_EQ(divide(wide, pool.size(s0 * s1)), number(0));
  EXPECT_EQ(remainder(wide, pool.size(s0 * s1)), wide);
  // (i0*s1 + i2) over [2 s1] blocks.
  EXPECT_EQ(divide(wide, pool.size(Size(2) * s1)), divide(index(0), number(2)));
  EXPECT_EQ(remainder(add(index(1), number(400)), number(4)), index(1));
  EXPECT_EQ(divide(subtract(index(1), number(4)), number(4)), number(-1));
  EXPECT_EQ(remainder(subtract(index(1), number(4)), number(4)), index(1));
  // The last axis backwards.
  EXPECT_EQ(remainder(subtract(pool.size(s1 - Size(1)), index(2)), pool.size(s1)),
            subtract(pool.size(s1 - Size(1)), index(2)));
}

TEST_F(ExprTest, NestedDivisions) {
  extents({Size(1000)});
  const ExprId i = index(0);
  EXPECT_EQ(divide(divide(i, number(3)), number(4)), divide(i, number(12)));
  EXPECT_EQ(remainder(remainder(i, number(12)), number(4)), remainder(i, number(4)));
  EXPECT_EQ(divide(remainder(i, number(12)), number(4)),
            remainder(divide(i, number(4)), number(3)));
  EXPECT_EQ(add(multiply(divide(i, number(7)), number(7)), remainder(i, number(7))), i);
  EXPECT_EQ(subtract(i, multiply(divide(i, number(7)), number(7))), remainder(i, number(7)));
  // Three digits put together.
  const ExprId low = remainder(i, number(4));
  const ExprId middle = remainder(divide(i, number(4)), number(5));
  const ExprId high = divide(i, number(20));
  EXPECT_EQ(add(add(multiply(high, number(20)), multiply(middle, number(4))), low), i);
  EXPECT_EQ(add(multiply(middle, number(4)), low), remainder(i, number(20)));
  EXPECT_EQ(remainder(add(remainder(i, number(7)), number(1)), number(7)),
            remainder(add(i, number(1)), number(7)));
  // Of data: no sum, nothing wraps.
  const ExprId x = scalar(0, kI64);
  EXPECT_EQ(remainder(remainder(x, number(12)), number(4)), remainder(x, number(4)));
  EXPECT_EQ(divide(divide(x, number(3)), number(4)), divide(x, number(12)));
}

TEST_F(ExprTest, SymbolicViews) {
  const Size s0 = symbol("s0");
  const Size s1 = symbol("s1", 2);
  // Every second element, then the row it is in: 2 * i stays below the axis.
  extents({ceil_div(s0, Size(2)), s1 - Size(1)});
  const ExprId every_second = multiply(index(0), number(2));
  EXPECT_EQ(remainder(every_second, pool.size(s0)), every_second);
  EXPECT_EQ(pool.check_index(every_second, {s0}), every_second);
  // Row-major over [.., s1 - 1], where the sign of a stride takes thought: s1*s1 - s1.
  const ExprId row = multiply(index(0), pool.size(s1 * s1 - s1));
  EXPECT_EQ(divide(add(row, index(1)), pool.size(s1 * s1 - s1)), index(0));
  // Backwards, from the end of a merged axis.
  extents({Size(12), s1});
  const ExprId flat = add(multiply(subtract(number(11), index(0)), pool.size(s1)), index(1));
  EXPECT_EQ(divide(flat, pool.size(Size(2) * s1)),
            divide(subtract(number(11), index(0)), number(2)));
  // A merged axis split at another place.
  extents({Size(3), Size(4)});
  const ExprId four = add(multiply(index(0), number(4)), index(1));
  const ExprId low = remainder(four, number(2));
  const ExprId middle = remainder(divide(four, number(2)), number(3));
  const ExprId high = divide(four, number(6));
  EXPECT_EQ(add(add(low, multiply(middle, number(2))), multiply(high, number(6))), four);
}

TEST_F(ExprTest, HugeNumbersDoNotMeetSizes) {
  // The sum wraps; as a Size it would have no value.
  const Size s0 = symbol("s0");
  const ExprId huge = number(std::numeric_limits<std::int64_t>::max());
  const ExprId sum = add(pool.size(s0), huge);
  EXPECT_EQ(pool.node(sum).op, Op::kAdd);
  EXPECT_EQ(pool.node(multiply(pool.size(s0), huge)).op, Op::kMultiply);
  EXPECT_EQ(text(sum), "s0 + 9223372036854775807");
  EXPECT_EQ(pool.node(divide(huge, pool.size(s0))).op, Op::kFloorDivide);
}

TEST_F(ExprTest, BoundsFollowExtents) {
  const auto bounds = [&](ExprId id) {
    const Bounds b = pool.bounds(id);
    return std::pair(b.lower, b.upper);
  };
  const Size s0 = symbol("s0", 2, 64);
  extents({Size(10), s0, symbol("s1")});
  EXPECT_EQ(bounds(index(0)), std::pair(0L, 9L));
  EXPECT_EQ(bounds(index(1)), std::pair(0L, 63L));
  EXPECT_EQ(bounds(index(2)), std::pair(0L, kUnbounded));
  EXPECT_EQ(bounds(pool.size(s0)), std::pair(2L, 64L));
  const ExprId x = scalar(0, kI64);
  EXPECT_EQ(bounds(x), std::pair(-kUnbounded, kUnbounded));
  EXPECT_EQ(bounds(remainder(x, number(5))), std::pair(0L, 4L));
  EXPECT_EQ(bounds(pool.cast(kI64, scalar(1, DType::kUInt8))), std::pair(0L, 255L));
  EXPECT_EQ(bounds(pool.cast(kI64, scalar(1, DType::kBool))), std::pair(0L, 1L));
  const ExprId checked = pool.check_index(x, IndexCheck{Size(7)});
  EXPECT_EQ(bounds(checked), std::pair(0L, 6L));
  EXPECT_EQ(bounds(subtract(multiply(index(0), number(3)), checked)), std::pair(-6L, 27L));
  EXPECT_EQ(bounds(pool.select(scalar(2, DType::kBool), index(0), number(50))), std::pair(0L, 50L));
  EXPECT_EQ(bounds(pool.binary(Op::kMaximum, x, number(3))), std::pair(3L, kUnbounded));
  EXPECT_EQ(bounds(add(pool.binary(Op::kMaximum, x, number(3)), number(1))),
            std::pair(-kUnbounded, kUnbounded));  // may wrap
  EXPECT_EQ(bounds(divide(subtract(index(0), number(5)), number(2))), std::pair(-3L, 2L));
  const ExprId i = index(0);
  extents({Size(3)});
  EXPECT_EQ(bounds(i), std::pair(0L, 2L));
}

TEST_F(ExprTest, AnAxisOfSizeOneIsZero) {
  extents({Size(1), Size(2)});
  EXPECT_EQ(index(0), number(0));
  EXPECT_NE(index(1), number(0));
}

TEST_F(ExprTest, IndexChecksThatHoldGoAway) {
  const Size s0 = symbol("s0");
  extents({Size(10), s0});
  EXPECT_EQ(pool.check_index(index(0), {Size(10)}), index(0));
  EXPECT_EQ(pool.check_index(index(1), {s0}), index(1));
  EXPECT_EQ(pool.check_index(number(-1), {s0}), pool.size(s0 - Size(1)));
  EXPECT_EQ(pool.check_index(subtract(index(0), number(10)), {Size(10)}), index(0));
  EXPECT_EQ(text(pool.check_index(subtract(index(0), number(3)), {Size(10)})),
            "select(i0 < 3, i0 + 7, i0 - 3)");
  const ExprId x = scalar(0, kI64);
  const ExprId checked = pool.check_index(x, {s0});
  EXPECT_EQ(text(checked), "check_index(load(%0), s0)");
  EXPECT_EQ(pool.check_index(checked, {s0}), checked);
  EXPECT_EQ(text(pool.check_index(number(10), {Size(10)})), "check_index(10, 10)");
  EXPECT_NE(pool.check_index(x, {s0, false}), checked);
}

// --- rewriting -----------------------------------------------------------------------------------

TEST_F(ExprTest, MaskedLoads) {
  extents({Size(10)});
  const ExprId position[] = {index(0)};
  EXPECT_EQ(pool.masked_load(1, kF32, truth(true), position), pool.load(1, kF32, position));
  EXPECT_EQ(pool.masked_load(1, kF32, truth(false), position), real(0));
  const ExprId c = scalar(0, DType::kBool);
  const ExprId d = scalar(1, DType::kBool);
  EXPECT_EQ(pool.select(c, pool.masked_load(1, kF32, d, position), real(0)),
            pool.masked_load(1, kF32, both(c, d), position));
}

TEST_F(ExprTest, SubstitutingIndicesMasksEverythingThatReads) {
  extents({Size(4)});
  ExprPool other;
  other.set_extents(std::vector<Size>{Size(10)});
  const ExprId i = other.index(0);
  const ExprId row[] = {other.check_index(other.load(7, kI64, std::vector<ExprId>{i}), {Size(5)})};
  const ExprId body =
      other.binary(Op::kAdd, other.load(8, kF32, row), other.load(9, kF32, std::vector<ExprId>{i}));
  const ExprId mask = less(index(0), number(2));
  const ExprId position[] = {multiply(index(0), number(3))};
  EXPECT_EQ(text(pool.substitute_indices(other, body, position)),
            "add(load(%8, check_index(load(%7, 3*i0), 5)), load(%9, 3*i0))");
  EXPECT_EQ(text(pool.substitute_indices(other, body, position, mask)),
            "add(masked_load(%8, i0 < 2, check_index(masked_load(%7, i0 < 2, 3*i0), 5)), "
            "masked_load(%9, i0 < 2, 3*i0))");
  EXPECT_EQ(pool.substitute_indices(other, body, position, truth(false)), real(0));
  // Masks of masks.
  extents({Size(4)});
  const ExprId masked = pool.substitute_indices(other, body, position, mask);
  const ExprId same[] = {index(0)};
  const ExprId narrower = pool.substitute_indices(pool, masked, same, less(index(0), number(1)));
  EXPECT_EQ(text(narrower),
            "add(masked_load(%8, i0 < 1, check_index(masked_load(%7, i0 < 1, 3*i0), 5)), "
            "masked_load(%9, i0 < 1, 3*i0))");
}

TEST_F(ExprTest, RewriteReplacesAndSimplifies) {
  extents({Size(4)});
  const ExprId x = load(1, kF32, {index(0)});
  const ExprId y = load(2, kF32, {index(0)});
  const ExprId body = add(multiply(x, y), multiply(x, x));
  const ExprId result = pool.rewrite(
      pool, body,
      [&](const ExprPool&, ExprId id, std::span<const ExprId>) -> std::optional<ExprId> {
        if (id == y) return real(1);
        return std::nullopt;
      });
  EXPECT_EQ(result, add(x, multiply(x, x)));
  // Nested rewriting inside the replacement.
  const ExprId nested =
      pool.rewrite(pool, body, [&](const ExprPool& from, ExprId id, std::span<const ExprId>) {
        return from.node(id).op == Op::kLoad
                   ? std::optional(pool.rewrite(from, from.arguments(id)[0], nullptr))
                   : std::nullopt;
      });
  EXPECT_EQ(text(nested), "2*(i0*i0)");
}

TEST_F(ExprTest, TopologicalOrderHasArgumentsFirst) {
  extents({Size(4)});
  const ExprId x = load(1, kF32, {index(0)});
  const ExprId e = pool.unary(Op::kExp, x);
  const ExprId root = pool.binary(Op::kDivide, e, add(e, x));
  EXPECT_THAT(pool.topological(root), ::testing::ElementsAre(index(0), x, e, add(e, x), root));
}

TEST_F(ExprTest, DeepAndSharedExpressionsAreWalkedOnce) {
  ExprId x = scalar(0, kF32);
  for (int i = 0; i < 100'000; ++i) x = pool.unary(i % 2 == 0 ? Op::kExp : Op::kLog, x);
  EXPECT_EQ(pool.topological(x).size(), 100'001u);
  ExprPool other;
  EXPECT_EQ(other.topological(other.rewrite(pool, x, nullptr)).size(), 100'001u);
  EXPECT_LT(text(x).size(), 1'500'000u);
  ExprId doubled = scalar(1, kF32);
  for (int i = 0; i < 200; ++i) doubled = add(pool.unary(Op::kExp, doubled), doubled);
  EXPECT_LT(text(doubled).size(), 20'000u);
  ExprId integers = scalar(2, kI64);
  for (int i = 0; i < 200; ++i) {
    integers = multiply(add(integers, number(1)), add(integers, number(2)));
  }
  EXPECT_EQ(pool.bounds(integers).upper, kUnbounded);
}

// --- text ----------------------------------------------------------------------------------------

TEST_F(ExprTest, Text) {
  const Size s0 = symbol("s0");
  extents({Size(10), Size(20), s0});
  EXPECT_EQ(
      text(add(load(3, kF32, {index(0), add(multiply(index(1), number(2)), number(1))}), real(1))),
      "add(load(%3, i0, 2*i1 + 1), 1)");
  EXPECT_EQ(text(real(0.1)), "0.1");
  EXPECT_EQ(text(real(-std::numeric_limits<double>::infinity())), "-inf");
  EXPECT_EQ(text(multiply(index(2), pool.size(s0 + Size(1)))), "(s0 + 1)*i2");
  EXPECT_EQ(text(remainder(add(index(1), number(3)), number(7))), "(i1 + 3) % 7");
  EXPECT_EQ(text(pool.cast(kF32, index(0))), "float32(i0)");
  const ExprId x = scalar(1, kI64);
  EXPECT_EQ(text(multiply(add(x, index(0)), x)), "(i0 + load(%1))*load(%1)");
  EXPECT_EQ(text(truth(true)), "true");
  const ExprId e =
      pool.unary(Op::kExp, add(load(1, kF32, {index(0), index(1)}), load(2, kF32, {index(0)})));
  EXPECT_EQ(text(multiply(e, e)),
            "t0 = exp(add(load(%1, i0, i1), load(%2, i0))); multiply(t0, t0)");
  for (int i = 0; i < kOpCount; ++i) EXPECT_FALSE(op_name(static_cast<Op>(i)).empty());
}

}  // namespace
}  // namespace tendon::ir
