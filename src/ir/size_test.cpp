#include "ir/size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <unordered_set>

namespace tendon::ir {

// How googletest prints a Size.
void PrintTo(const Size& size, std::ostream* out) { *out << size.to_string(); }

namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMinInt = std::numeric_limits<std::int64_t>::min();

SymbolRef make_symbol(std::string name, std::int64_t lower = 0, std::int64_t upper = kUnbounded,
                      bool from_data = false) {
  return std::make_shared<Symbol>(Symbol{std::move(name), lower, upper, from_data, std::nullopt});
}

class SizeTest : public ::testing::Test {
 protected:
  SymbolRef a_symbol = make_symbol("a", 1, 100);
  SymbolRef b_symbol = make_symbol("b", 1, 50);
  SymbolRef s_symbol = make_symbol("s");
  Size a = Size::symbol(a_symbol);
  Size b = Size::symbol(b_symbol);
  Size s = Size::symbol(s_symbol);

  SymbolLookup values(std::int64_t a_value, std::int64_t b_value, std::int64_t s_value = 7) const {
    return [=, this](const Symbol& symbol) -> std::optional<std::int64_t> {
      if (&symbol == a_symbol.get()) return a_value;
      if (&symbol == b_symbol.get()) return b_value;
      if (&symbol == s_symbol.get()) return s_value;
      return std::nullopt;
    };
  }
};

TEST_F(SizeTest, ConstantsFold) {
  EXPECT_EQ(Size(3) + Size(4), Size(7));
  EXPECT_EQ(Size(3) - Size(4), Size(-1));
  EXPECT_EQ(Size(3) * Size(4), Size(12));
  EXPECT_EQ(floor_div(-7, 2), Size(-4));
  EXPECT_EQ(ceil_div(7, 2), Size(4));
  EXPECT_EQ(ceil_div(-7, 2), Size(-3));
  EXPECT_EQ(mod(-7, 3), Size(2));
  EXPECT_EQ(mod(7, -3), Size(-2));
  EXPECT_EQ(Size::function(SizeFunction::kTruncDiv, {-7, 2}), Size(-3));
  EXPECT_EQ(Size::function(SizeFunction::kPow, {3, 4}), Size(81));
  EXPECT_EQ(Size::function(SizeFunction::kSelect, {2, 5, 6}), Size(5));
  EXPECT_EQ(max(3, 4), Size(4));
  EXPECT_EQ(less(3, 4), Size(1));
  EXPECT_EQ(logical_not(5), Size(0));
  EXPECT_TRUE((Size(3) + Size(4)).is_constant());
}

TEST_F(SizeTest, PolynomialsAreCanonical) {
  EXPECT_EQ(a + Size(1) - Size(1), a);
  EXPECT_EQ(a + b, b + a);
  EXPECT_EQ((a + b) * (a - b), a * a - b * b);
  EXPECT_EQ((a + Size(1)) * (a + Size(1)), a * a + Size(2) * a + Size(1));
  EXPECT_EQ(a - a, Size(0));
  EXPECT_EQ(a * Size(0), Size(0));
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(a == a + Size(1));
  EXPECT_EQ((a + b).hash(), (b + a).hash());
  // The same symbol, asked for twice.
  EXPECT_EQ(Size::symbol(a_symbol) * Size::symbol(a_symbol), a * a);
  EXPECT_EQ(a.as_symbol(), a_symbol);
  EXPECT_EQ((a + Size(1)).as_symbol(), nullptr);
  EXPECT_EQ((Size(2) * a).as_symbol(), nullptr);
  EXPECT_EQ(Size(2).as_symbol(), nullptr);
}

TEST_F(SizeTest, SymbolsOfOneNameStayApart) {
  const Size other = Size::symbol(make_symbol("a", 1, 100));
  EXPECT_FALSE(a == other);
  EXPECT_FALSE((a - other).is_constant());
}

TEST_F(SizeTest, Text) {
  EXPECT_EQ(Size(-3).to_string(), "-3");
  EXPECT_EQ((Size(2) + Size(4) * s).to_string(), "4*s + 2");
  EXPECT_EQ((b - a * b * a - Size(1)).to_string(), "-a*a*b + b - 1");
  EXPECT_EQ(floor_div(s, 2).to_string(), "floor_div(s, 2)");
  EXPECT_EQ(less(s, 4).to_string(), "less_equal(s, 3)");
  EXPECT_EQ(less_equal(s, 4).to_string(), "less_equal(s, 4)");
  EXPECT_EQ(less_equal(4, s).to_string(), "less(3, s)");
  EXPECT_EQ(logical_not(equal(s, a)).to_string(), "not_equal(a, s)");
  EXPECT_EQ(max(s, a).to_string(), "max(a, s)");
  EXPECT_EQ(to_string(Shape{s, 3, a + Size(1)}), "[s, 3, a + 1]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST_F(SizeTest, ReadsAsSource) {
  const auto text = [](const Symbol& of) { return "symbols[" + of.name + "]"; };
  EXPECT_EQ(Size(7).to_source(text), "7LL");
  EXPECT_EQ(Size(-7).to_source(text), "(-7LL)");
  EXPECT_EQ((Size(2) + Size(-4) * s * s).to_source(text),
            "((-4LL) * symbols[s] * symbols[s] + 2LL)");
  EXPECT_EQ(floor_div(s, 3).to_source(text), "(size_floor_div((symbols[s]), 3LL))");
}

TEST_F(SizeTest, FloorDivSimplifies) {
  EXPECT_EQ(floor_div(Size(4) * s, 2), Size(2) * s);
  EXPECT_EQ(floor_div(a * b, a), b);
  EXPECT_EQ(floor_div(a * b + a, a), b + Size(1));
  EXPECT_EQ(floor_div(s, 1), s);
  EXPECT_EQ(floor_div(floor_div(s, 2), 3), floor_div(s, 6));
  EXPECT_EQ(floor_div(floor_div(s, 2) + Size(1), 3), floor_div(s + Size(2), 6));
  EXPECT_EQ(floor_div(Size(2) * s + Size(1), 4), floor_div(s, 2));
  EXPECT_EQ(floor_div(s - Size(1), 2) + Size(1), floor_div(s + Size(1), 2));
  EXPECT_EQ(floor_div(a, 101), Size(0));
  EXPECT_EQ(floor_div(s, -2), floor_div(Size(0) - s, 2));
  EXPECT_EQ(ceil_div(Size(4) * s, 4), s);
  EXPECT_EQ(ceil_div(s, 4), floor_div(s + Size(3), 4));
  // 0 <= a - 1 < a.
  EXPECT_EQ(floor_div(a - Size(1), a), Size(0));
  EXPECT_EQ(Size::function(SizeFunction::kTruncDiv, {s, 4}), floor_div(s, 4));
}

TEST_F(SizeTest, ModSimplifies) {
  EXPECT_EQ(mod(Size(4) * s, 2), Size(0));
  EXPECT_EQ(mod(Size(4) * s + Size(3), 2), Size(1));
  EXPECT_EQ(mod(s + Size(8), 4), mod(s, 4));
  EXPECT_EQ(mod(mod(s, 12), 4), mod(s, 4));
  EXPECT_EQ(mod(a * b, b), Size(0));
  EXPECT_EQ(mod(a, 101), a);
  EXPECT_EQ(mod(Size(2) * s + Size(1), 4), Size(2) * mod(s, 2) + Size(1));
  EXPECT_EQ(mod(a - Size(1), a), a - Size(1));
}

TEST_F(SizeTest, ExtremesUseOrder) {
  EXPECT_EQ(max(s, 0), s);
  EXPECT_EQ(max(a, 1), a);
  EXPECT_EQ(min(s, kMaxInt), s);
  EXPECT_EQ(max(s, s + Size(1)), s + Size(1));
  EXPECT_EQ(min(s, s + Size(1)), s);
  EXPECT_EQ(max(a, b), max(b, a));
  EXPECT_EQ(max(max(a, b), a), max(a, b));
  EXPECT_EQ(max(max(a, b), s), max(a, max(s, b)));
  EXPECT_EQ(min(a, 100), a);
  EXPECT_FALSE(min(a, 99) == a);
}

TEST_F(SizeTest, ComparisonsFoldWhereRangesDecide) {
  EXPECT_EQ(less(a, 101), Size(1));
  EXPECT_EQ(less(a, 1), Size(0));
  EXPECT_EQ(less_equal(1, a), Size(1));
  EXPECT_EQ(less(s, s + Size(1)), Size(1));
  EXPECT_EQ(equal(a, 0), Size(0));
  EXPECT_EQ(equal(a + Size(1), Size(1) + a), Size(1));
  EXPECT_EQ(equal(Size(2) * s, 5), Size(0));  // parity
  EXPECT_EQ(equal(Size(2) * s, 6), equal(3, s));
  EXPECT_FALSE(less(a, 50).is_constant());
  // A condition and its opposite.
  EXPECT_EQ(less(a, b) + less_equal(b, a), Size(1));
  EXPECT_EQ(logical_not(less(a, b)), less_equal(b, a));
  EXPECT_EQ(logical_and(less(a, b), less_equal(b, a)), Size(0));
  EXPECT_EQ(Size::function(SizeFunction::kOr, {less(a, b), less_equal(b, a)}), Size(1));
  EXPECT_EQ(logical_and(less(a, b), 1), less(a, b));
  EXPECT_EQ(Size::function(SizeFunction::kSelect, {less(a, b), 1, 0}), less(a, b));
  EXPECT_EQ(Size::function(SizeFunction::kSelect, {less_equal(b, a), s, a}),
            Size::function(SizeFunction::kSelect, {less(a, b), a, s}));
  EXPECT_EQ(Size::function(SizeFunction::kSelect, {less(a, b), s, s}), s);
}

TEST_F(SizeTest, ProvesOrder) {
  EXPECT_EQ(provably_less(a, a + Size(1)), true);
  EXPECT_EQ(provably_less(a + Size(1), a), false);
  EXPECT_EQ(provably_less(a, b), std::nullopt);
  EXPECT_EQ(provably_less(a, 101), true);
  EXPECT_EQ(provably_less_equal(s, kMaxInt), true);
  EXPECT_EQ(provably_less(a, 100), std::nullopt);
  EXPECT_EQ(provably_equal(s, s), true);
  EXPECT_EQ(provably_equal(s, s + Size(1)), false);
  EXPECT_EQ(provably_equal(s, a), std::nullopt);
  const Size fixed = Size::symbol(make_symbol("f", 5, 5));
  EXPECT_EQ(provably_equal(fixed, 5), true);
}

TEST_F(SizeTest, DividesExactly) {
  EXPECT_EQ(divide_exactly(Size(4) * s, 2), Size(2) * s);
  EXPECT_EQ(divide_exactly(Size(4) * s + Size(1), 2), std::nullopt);
  EXPECT_EQ(divide_exactly(s * a, s), a);
  EXPECT_EQ(divide_exactly(s * a, Size(0) - s), Size(0) - a);
  EXPECT_EQ(divide_exactly(s * a + Size(1), s), std::nullopt);
  EXPECT_EQ(divide_exactly(a * a - b * b, a + b), a - b);
  EXPECT_EQ(divide_exactly((a + b) * (s + Size(2)), s + Size(2)), a + b);
  EXPECT_EQ(divide_exactly(a * a + b, a + b), std::nullopt);
  EXPECT_EQ(divide_exactly(0, s), Size(0));
  EXPECT_EQ(divide_exactly(s, 0), std::nullopt);
  EXPECT_EQ(divide_exactly(6, 3), Size(2));
  EXPECT_EQ(divide_exactly(6, 4), std::nullopt);
  EXPECT_EQ(divide_exactly(kMinInt, -1), std::nullopt);
}

TEST_F(SizeTest, Bounds) {
  const auto expect = [](const Size& size, std::int64_t lower, std::int64_t upper) {
    EXPECT_EQ(size.bounds().lower, lower) << size.to_string();
    EXPECT_EQ(size.bounds().upper, upper) << size.to_string();
  };
  expect(Size(5), 5, 5);
  expect(a, 1, 100);
  expect(Size(2) * a + Size(1), 3, 201);
  expect(a - b, -49, 99);
  expect(a * b, 1, 5000);
  expect(s, 0, kUnbounded);
  expect(Size(0) - s, -kUnbounded, 0);
  expect(s + a, 1, kUnbounded);
  expect((a - b) * (a - b), -9702, 12202);  // not as tight as it might be
  expect(a * a - a, 0, 9900);
  expect(s * s - s + Size(1), -kUnbounded, kUnbounded);  // s may be 0
  expect((s + Size(3)) * (s + Size(3)) - (s + Size(3)), 6, kUnbounded);
  expect(s - Size(2) * floor_div(s, 2), 0, 1);
  expect(floor_div(s + Size(1), 2) * a - s * a, -kUnbounded, 50);
  expect(Size(2) * floor_div(s + Size(1), 2) - s, 0, 1);
  expect(floor_div(Size(2) * s + Size(2), 3) - s, -kUnbounded, 0);
  expect(floor_div(a, 8), 0, 12);
  expect(floor_div(s, 8), 0, kUnbounded);
  expect(floor_div(a, b), 0, 100);
  expect(mod(s, 8), 0, 7);
  expect(max(a, b), 1, 100);
  expect(min(s, a), 0, 100);
  expect(less(a, b), 0, 1);
  EXPECT_FALSE(s.bounds().finite());
  EXPECT_TRUE(a.bounds().finite());
  const Size signed_symbol = Size::symbol(make_symbol("x", kMinInt, kMaxInt));
  expect(signed_symbol * signed_symbol, 0, kUnbounded);
}

TEST_F(SizeTest, EvaluatesWithChecks) {
  EXPECT_EQ((a * b + Size(2)).evaluate(values(3, 4)), 14);
  EXPECT_EQ(floor_div(s, a).evaluate(values(3, 4, 7)), 2);
  EXPECT_EQ(floor_div(s, a).evaluate(values(0, 4, 7)), std::nullopt);
  EXPECT_EQ((s * s).evaluate(values(1, 1, std::int64_t{1} << 40)), std::nullopt);
  EXPECT_EQ((s + Size(1)).evaluate(values(1, 1, kMaxInt)), std::nullopt);
  EXPECT_EQ(Size::symbol(make_symbol("unknown")).evaluate(values(1, 1)), std::nullopt);
  // The branch that is not taken does not matter.
  const Size guarded =
      Size::function(SizeFunction::kSelect, {less(a, b), floor_div(s, a - Size(3)), 9});
  EXPECT_EQ(guarded.evaluate(values(3, 2)), 9);
  EXPECT_EQ(guarded.evaluate(values(3, 4)), std::nullopt);
}

TEST_F(SizeTest, OverflowNeverGivesANumber) {
  const Size huge = Size(kMaxInt) * Size(2);
  EXPECT_FALSE(huge.is_constant());
  EXPECT_EQ(huge.evaluate(values(1, 1)), std::nullopt);
  EXPECT_EQ(huge.to_string(), "overflow");
  EXPECT_FALSE((Size(kMaxInt) + Size(1)) - (Size(kMaxInt) + Size(5)) == Size(0));
  EXPECT_EQ((huge + s).evaluate(values(1, 1)), std::nullopt);
  EXPECT_EQ(max(huge, s).evaluate(values(1, 1)), std::nullopt);
  EXPECT_EQ(huge * Size(0), Size(0));
  EXPECT_EQ((Size(kMaxInt) * s * Size(2)).evaluate(values(1, 1, 0)), std::nullopt);
  EXPECT_EQ(element_count(Shape{kMaxInt, kMaxInt, 0}), Size(0));
  EXPECT_EQ(floor_div(kMinInt, -1).evaluate(values(1, 1)), std::nullopt);
  EXPECT_EQ(floor_div(3, 0).evaluate(values(1, 1)), std::nullopt);
  EXPECT_EQ(provably_less_equal(huge, 1), std::nullopt);
  EXPECT_EQ(Size::function(SizeFunction::kNot, {1, 2}).evaluate(values(1, 1)), std::nullopt);
}

TEST_F(SizeTest, Substitutes) {
  const auto a_is = [&](Size size) {
    return [this, size](const Symbol& symbol) -> std::optional<Size> {
      if (&symbol == a_symbol.get()) return size;
      return std::nullopt;
    };
  };
  EXPECT_EQ((a * b + Size(1)).substitute(a_is(3)), Size(3) * b + Size(1));
  EXPECT_EQ(floor_div(a + s, 2).substitute(a_is(s)), s);
  EXPECT_EQ(max(a, b).substitute(a_is(200)), Size(200));
  EXPECT_EQ(s.substitute(a_is(3)), s);
}

TEST_F(SizeTest, VisitsSymbolsOnce) {
  std::vector<std::string> names;
  (max(s, a) * b + a + floor_div(b + s, 3)).for_each_symbol([&](const SymbolRef& symbol) {
    names.push_back(symbol->name);
  });
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("a", "b", "s"));
  const Size u = Size::symbol(make_symbol("u", 0, 10, true));
  EXPECT_TRUE((a + floor_div(u, 2)).depends_on_data());
  EXPECT_FALSE((a + floor_div(s, 2)).depends_on_data());
}

TEST_F(SizeTest, Shapes) {
  const Shape shape{s, 3, a};
  EXPECT_EQ(element_count(shape), Size(3) * s * a);
  EXPECT_EQ(contiguous_strides(shape), (Shape{Size(3) * a, a, 1}));
  EXPECT_EQ(element_count(Shape{}), Size(1));
  EXPECT_FALSE(is_constant(shape));
  EXPECT_TRUE(is_constant(Shape{2, 3}));
}

// A tree of 2^60 nodes in 60 objects, and a product with 3^40 terms: neither takes time.
TEST_F(SizeTest, SharedAndHugeExpressionsStayCheap) {
  Size size = s + a;
  for (int i = 0; i < 60; ++i) size = max(floor_div(size + Size(1), 3), floor_div(size, 2));
  EXPECT_TRUE(size.evaluate(values(3, 4)).has_value());
  EXPECT_FALSE(size.to_string().empty());
  EXPECT_EQ(size.substitute([](const Symbol&) { return std::optional<Size>(); }), size);
  size.for_each_symbol([](const SymbolRef&) {});

  Size product(1);
  for (int i = 0; i < 40; ++i) product = product * (s + a + Size(i));
  EXPECT_EQ(product.evaluate(values(1, 1, -1)), 0);
}

/// A random expression, built as a Size and, beside it, computed step by step.
class RandomExpression {
 public:
  struct Built {
    Size size;
    std::vector<std::optional<std::int64_t>> values;  // for each assignment
  };

  explicit RandomExpression(unsigned seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) {
      const std::int64_t lower = pick(-3, 3);
      const std::int64_t upper = lower + pick(0, 9);
      symbols_.push_back(make_symbol(std::string(1, static_cast<char>('x' + i)), lower, upper));
    }
    for (int k = 0; k < kAssignments; ++k) {
      auto& assignment = assignments_.emplace_back();
      for (const auto& symbol : symbols_) {
        assignment[symbol.get()] = pick(symbol->lower, symbol->upper);
      }
    }
  }

  Built build(int depth) {
    if (depth == 0 || pick(0, 5) == 0) return leaf();
    const int kind = static_cast<int>(pick(0, 19));
    if (kind < 9) {
      const Built x = build(depth - 1);
      const Built y = build(depth - 1);
      const int operation = kind % 3;
      return {operation == 0   ? x.size + y.size
              : operation == 1 ? x.size - y.size
                               : x.size * y.size,
              combine({x, y}, [operation](const auto& v) -> std::optional<std::int64_t> {
                return operation == 0 ? v[0] + v[1] : operation == 1 ? v[0] - v[1] : v[0] * v[1];
              })};
    }
    const auto function = static_cast<SizeFunction>(pick(0, 13));
    const int arguments = function == SizeFunction::kNot      ? 1
                          : function == SizeFunction::kSelect ? 3
                                                              : 2;
    std::vector<Built> parts;
    std::vector<Size> sizes;
    for (int i = 0; i < arguments; ++i) {
      const bool exponent = function == SizeFunction::kPow && i == 1;
      parts.push_back(exponent ? constant(pick(0, 3)) : build(depth - 1));
      sizes.push_back(parts.back().size);
    }
    return {Size::function(function, sizes),
            combine(parts, [function](const auto& v) { return direct(function, v); })};
  }

  SymbolLookup lookup(int assignment) const {
    return [this, assignment](const Symbol& symbol) -> std::optional<std::int64_t> {
      return assignments_[static_cast<std::size_t>(assignment)].at(&symbol);
    };
  }
  std::optional<Size> substituted(const Symbol& symbol, int assignment) const {
    return Size(assignments_[static_cast<std::size_t>(assignment)].at(&symbol));
  }

  static constexpr int kAssignments = 8;

 private:
  std::int64_t pick(std::int64_t lower, std::int64_t upper) {
    return std::uniform_int_distribution<std::int64_t>(lower, upper)(random_);
  }
  Built constant(std::int64_t value) const {
    return {Size(value), std::vector<std::optional<std::int64_t>>(kAssignments, value)};
  }
  Built leaf() {
    if (pick(0, 2) == 0) return constant(pick(-6, 6));
    const auto& symbol = symbols_[static_cast<std::size_t>(pick(0, 2))];
    Built built{Size::symbol(symbol), {}};
    for (const auto& assignment : assignments_) built.values.push_back(assignment.at(symbol.get()));
    return built;
  }
  template <typename Function>
  static std::vector<std::optional<std::int64_t>> combine(const std::vector<Built>& parts,
                                                          const Function& function) {
    std::vector<std::optional<std::int64_t>> values;
    for (int k = 0; k < kAssignments; ++k) {
      std::vector<std::int64_t> arguments;
      for (const Built& part : parts) {
        const auto value = part.values[static_cast<std::size_t>(k)];
        if (!value || std::abs(*value) > 1'000'000) break;
        arguments.push_back(*value);
      }
      values.push_back(arguments.size() == parts.size() ? function(arguments) : std::nullopt);
    }
    return values;
  }
  static std::optional<std::int64_t> direct(SizeFunction function,
                                            const std::vector<std::int64_t>& v) {
    switch (function) {
      case SizeFunction::kFloorDiv:
        if (v[1] == 0) return std::nullopt;
        return static_cast<std::int64_t>(
            std::floor(static_cast<double>(v[0]) / static_cast<double>(v[1])));
      case SizeFunction::kTruncDiv:
        if (v[1] == 0) return std::nullopt;
        return v[0] / v[1];
      case SizeFunction::kMod:
        if (v[1] == 0) return std::nullopt;
        return v[0] - v[1] * *direct(SizeFunction::kFloorDiv, v);
      case SizeFunction::kMax:
        return std::max(v[0], v[1]);
      case SizeFunction::kMin:
        return std::min(v[0], v[1]);
      case SizeFunction::kPow: {
        std::int64_t product = 1;
        for (std::int64_t i = 0; i < v[1]; ++i) {
          if (__builtin_mul_overflow(product, v[0], &product)) return std::nullopt;
        }
        return product;
      }
      case SizeFunction::kEqual:
        return v[0] == v[1];
      case SizeFunction::kNotEqual:
        return v[0] != v[1];
      case SizeFunction::kLess:
        return v[0] < v[1];
      case SizeFunction::kLessEqual:
        return v[0] <= v[1];
      case SizeFunction::kAnd:
        return v[0] != 0 && v[1] != 0;
      case SizeFunction::kOr:
        return v[0] != 0 || v[1] != 0;
      case SizeFunction::kNot:
        return v[0] == 0;
      case SizeFunction::kSelect:
        return v[0] != 0 ? v[1] : v[2];
    }
    return std::nullopt;
  }

  std::mt19937 random_;
  std::vector<SymbolRef> symbols_;
  std::vector<std::map<const Symbol*, std::int64_t>> assignments_;
};

TEST(SizePropertyTest, CanonicalFormMeansTheSame) {
  int compared = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    RandomExpression random(seed);
    const auto built = random.build(4);
    const Bounds bounds = built.size.bounds();
    for (int k = 0; k < RandomExpression::kAssignments; ++k) {
      const auto expected = built.values[static_cast<std::size_t>(k)];
      if (!expected) continue;
      ++compared;
      ASSERT_EQ(built.size.evaluate(random.lookup(k)), expected)
          << "seed " << seed << ": " << built.size.to_string();
      ASSERT_LE(bounds.lower, *expected) << "seed " << seed << ": " << built.size.to_string();
      ASSERT_GE(bounds.upper, *expected) << "seed " << seed << ": " << built.size.to_string();
      const Size number = built.size.substitute(
          [&](const Symbol& symbol) { return random.substituted(symbol, k); });
      ASSERT_EQ(number, Size(*expected)) << "seed " << seed << ": " << built.size.to_string();
    }
  }
  EXPECT_GT(compared, 20'000);
}

TEST(SizePropertyTest, EqualityAndProofsAreSound) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomExpression random(seed);
    const auto x = random.build(3);
    const auto y = random.build(3);
    // What overflowed equals only itself.
    if (x.size.to_string() == "overflow" || y.size.to_string() == "overflow") continue;
    EXPECT_EQ(x.size + y.size, y.size + x.size);
    EXPECT_EQ((x.size + y.size).hash(), (y.size + x.size).hash());
    EXPECT_EQ(x.size * y.size, y.size * x.size);
    EXPECT_EQ(x.size + y.size - y.size, x.size);
    const auto same = provably_equal(x.size, y.size);
    const auto below = provably_less(x.size, y.size);
    for (std::size_t k = 0; k < x.values.size(); ++k) {
      if (!x.values[k] || !y.values[k]) continue;
      if (x.size == y.size) {
        EXPECT_EQ(x.values[k], y.values[k]);
      }
      if (same) {
        EXPECT_EQ(*same, *x.values[k] == *y.values[k]) << seed;
      }
      if (below) {
        EXPECT_EQ(*below, *x.values[k] < *y.values[k]) << seed;
      }
    }
  }
}

}  // namespace
}  // namespace tendon::ir
