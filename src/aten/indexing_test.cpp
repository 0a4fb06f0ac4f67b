// What advanced indexing and its relatives do, case by case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "aten/test_operator.h"

namespace tendon::aten::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Literal kV = ints({5}, {10, 20, 30, 40, 50});
const Literal kW = floats({5}, {10, 20, 30, 40, 50});
const Literal kA = counting({3, 4});
const Literal kB = counting({2, 3, 4});
const Literal kC = counting({2, 3, 4, 5});
const Literal kDiagonal = bools({3, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0});

Literal vector(std::vector<double> elements) {
  const auto size = static_cast<std::int64_t>(elements.size());
  return ints({size}, std::move(elements));
}
Literal mask(std::vector<double> elements) {
  const auto size = static_cast<std::int64_t>(elements.size());
  return bools({size}, std::move(elements));
}
Literal reals(std::vector<double> elements) {
  const auto size = static_cast<std::int64_t>(elements.size());
  return floats({size}, std::move(elements));
}
Literal scalar(double value) { return ints({}, {value}); }
Literal of(DType dtype, Literal literal) {
  literal.dtype = dtype;
  return literal;
}

Call index(const Literal& self, List list) {
  return {"aten.index.Tensor", {{"self", self}, {"indices", std::move(list)}}};
}
Call put(const Literal& self, List list, const Literal& values, bool accumulate = false) {
  return {"aten.index_put.default",
          {{"self", self},
           {"indices", std::move(list)},
           {"values", values},
           {"accumulate", accumulate}}};
}
Call nonzero(const Literal& self) { return {"aten.nonzero.default", {{"self", self}}}; }
Call masked_select(const Literal& self, const Literal& mask) {
  return {"aten.masked_select.default", {{"self", self}, {"mask", mask}}};
}
Call masked_scatter(const Literal& self, const Literal& mask, const Literal& source) {
  return {"aten.masked_scatter.default", {{"self", self}, {"mask", mask}, {"source", source}}};
}
Call along(const char* target, const Literal& self, std::int64_t dim, const Literal& index) {
  return {target, {{"self", self}, {"dim", dim}, {"index", index}}};
}
Call with(Call call, const char* name, CallArgument argument) {
  call.arguments.emplace_back(name, std::move(argument));
  return call;
}
Call index_select(const Literal& self, std::int64_t dim, const Literal& at) {
  return along("aten.index_select.default", self, dim, at);
}
Call gather(const Literal& self, std::int64_t dim, const Literal& at) {
  return along("aten.gather.default", self, dim, at);
}
Call scatter(const Literal& self, std::int64_t dim, const Literal& at, const Literal& src) {
  return with(along("aten.scatter.src", self, dim, at), "src", src);
}
Call scatter_reduce(const Literal& self, const Literal& at, const Literal& src, const char* reduce,
                    bool include_self) {
  return with(with(with(along("aten.scatter_reduce.two", self, 0, at), "src", src), "reduce",
                   std::string(reduce)),
              "include_self", include_self);
}
Call take(const Literal& self, const Literal& at) {
  return {"aten.take.default", {{"self", self}, {"index", at}}};
}
Call put_flat(const Literal& self, const Literal& at, const Literal& source, bool accumulate) {
  return {"aten.put.default",
          {{"self", self}, {"index", at}, {"source", source}, {"accumulate", accumulate}}};
}

/// A tensor, or a part of the message of the error.
using Expected = std::variant<Literal, std::string>;

struct Row {
  const char* id;
  Call call;
  Expected expected;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    const Result<std::vector<Literal>> result = run(row.call);
    if (const auto* message = std::get_if<std::string>(&row.expected)) {
      ASSERT_FALSE(result.ok()) << to_string(result->front());
      EXPECT_THAT(result.status().message(), HasSubstr(*message));
      continue;
    }
    ASSERT_TRUE(result.ok()) << result.status().to_string();
    const auto& expected = std::get<Literal>(row.expected);
    EXPECT_EQ(result->front(), expected)
        << "got " << to_string(result->front()) << "\nexpected " << to_string(expected);
  }
}

TEST(Indexing, PositionsAndPlacement) {
  check({
      {"IX01", index(kV, {vector({0, -1, 2})}), vector({10, 50, 30})},
      {"IX02", index(kV, {ints({2, 2}, {0, 1, 1, 4})}), ints({2, 2}, {10, 20, 20, 50})},
      {"IX03", index(kV, {scalar(3)}), scalar(40)},
      {"IX04", index(kA, {std::nullopt, vector({3, 0})}), ints({3, 2}, {3, 0, 7, 4, 11, 8})},
      {"IX05", index(kA, {vector({0, 2}), vector({1, 3})}), vector({1, 11})},
      {"IX06", index(kA, {ints({2, 1}, {0, 2}), vector({1, 3})}), ints({2, 2}, {1, 3, 9, 11})},
      {"IX07", index(kA, {vector({1}), vector({0, 1, 2})}), vector({4, 5, 6})},
      {"IX08", index(kA, {vector({0, 1}), vector({0, 1, 2})}),
       "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]"},
      {"IX09", index(kB, {std::nullopt, vector({0, 2}), vector({3, 1})}),
       ints({2, 2}, {3, 9, 15, 21})},
      {"IX10", index(kB, {vector({0, 1}), std::nullopt, vector({3, 0})}),
       ints({2, 3}, {3, 7, 11, 12, 16, 20})},
      {"IX14", index(kB, {scalar(0), std::nullopt, vector({0, 1})}),
       ints({2, 3}, {0, 4, 8, 1, 5, 9})},
      {"IX22", index(kA, {of(DType::kInt32, vector({0, 2}))}),
       ints({2, 4}, {0, 1, 2, 3, 8, 9, 10, 11})},
      {"IX44 in range", index(kA, {vector({-3})}), ints({1, 4}, {0, 1, 2, 3})},
      {"IX50", index(filled(DType::kFloat32, {10, 0}, 0), {vector({}), vector({})}), reals({})},
      {"IX51", index(kA, {ints({0, 2}, {})}), ints({0, 2, 4}, {})},
      {"IX48", index(filled(DType::kFloat32, {10, 0}, 0), {vector({1, 2})}), floats({2, 0}, {})},
      {"IX52", index(filled(DType::kFloat32, {3, 0}, 0), {vector({7})}), floats({1, 0}, {})},
      {"IX53", index(filled(DType::kFloat32, {2, 3, 4, 5}, 0), {std::nullopt, ints({0, 6}, {})}),
       floats({2, 0, 6, 4, 5}, {})},
      {"IX54", index(floats({2}, {kNaN, -0.0}), {vector({1, 0})}), reals({-0.0, kNaN})},
      {"IX54 complex", index({DType::kComplex64, {2}, {1, 2, 3, 4}}, {vector({1, 0})}),
       Literal{DType::kComplex64, {2}, {3, 4, 1, 2}}},
  });
  const auto shape_of = [](const Call& call) { return run(call)->front().sizes; };
  const Literal square = ints({2, 2}, {0, 1, 1, 0});
  EXPECT_EQ(shape_of(index(kC, {std::nullopt, square, square, std::nullopt})),
            (Sizes{2, 2, 2, 5}));  // IX11
  const Literal ix12 = run(index(kC, {vector({0, 1}), std::nullopt, vector({2, 3})}))->front();
  EXPECT_EQ(ix12.sizes, (Sizes{2, 3, 5}));
  EXPECT_EQ(ix12.elements[7], 32);
  EXPECT_EQ(ix12.elements[29], 119);
  const Literal ix13 =
      run(index(kC, {std::nullopt, vector({0, 2}), std::nullopt, vector({4, 1})}))->front();
  EXPECT_EQ(ix13.sizes, (Sizes{2, 2, 4}));
  EXPECT_EQ(ix13.elements[11], 56);
  const Literal ix15 = run(index(kC, {vector({1, 0})}))->front();
  EXPECT_EQ(ix15.sizes, (Sizes{2, 3, 4, 5}));
  EXPECT_EQ(ix15.elements[0], 60);
}

TEST(Indexing, Errors) {
  const std::string wrong_type = "tensors used as indices must be long, int, byte or bool tensors";
  check({
      {"IX16", index(kA, {vector({0}), vector({0}), vector({0})}),
       "too many indices for tensor of dimension 2 (got 3)"},
      {"IX17", index(scalar(5), {vector({0})}),
       "too many indices for tensor of dimension 0 (got 1)"},
      {"IX18", index(kA, {}), "at least one index must be provided"},
      {"IX19", index(kA, {reals({0.5})}), wrong_type},
      {"IX20", index(kA, {reals({})}), wrong_type},
      {"IX21", index(kA, {of(DType::kInt16, vector({0}))}), wrong_type},
      {"IX38", index(kA, {mask({1, 0})}),
       "The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [3, 4] "
       "at index 0"},
      {"IX39", index(kB, {std::nullopt, filled(DType::kBool, {3, 5}, 1)}),
       "The shape of the mask [3, 5] at index 1 does not match the shape of the indexed tensor [2, "
       "3, 4] at index 2"},
      {"IX40", index(kA, {mask({1})}), "The shape of the mask [1] at index 0"},
      {"IX41", index(kA, {of(DType::kUInt8, ints({0, 2}, {}))}), "The shape of the mask [0, 2]"},
      {"IX42", index(kA, {kDiagonal, vector({0})}), "too many indices for tensor of dimension 2"},
      {"IX44", index(kA, {vector({-4})}), "index -4 is out of bounds for dimension 0 with size 3"},
      {"IX45", index(kA, {std::nullopt, vector({4})}),
       "index 4 is out of bounds for dimension 0 with size 4"},
      {"IX46", index(kA, {vector({0}), vector({4})}),
       "index 4 is out of bounds for dimension 1 with size 4"},
      {"IX47", index(floats({0, 4}, {}), {vector({0})}),
       "index is out of bounds for dimension with size 0"},
      {"IX49", index(floats({10, 0}, {}), {std::nullopt, vector({0, 1})}),
       "index is out of bounds for dimension with size 0"},
      {"IP36",
       {"aten._unsafe_index.Tensor", {{"self", kA}, {"indices", List{kDiagonal}}}},
       "_unsafe_index found unexpected index type Bool"},
      {"IP37", put(kV, {filled(DType::kBool, {5, 2}, 1)}, scalar(1)),
       "too many indices for tensor of dimension 1"},
  });
}

TEST(Indexing, Masks) {
  const auto bytes = [](std::vector<double> elements) {
    return of(DType::kUInt8, vector(std::move(elements)));
  };
  check({
      {"IX23", index(kV, {bytes({1, 0, 1, 0, 0})}), vector({10, 30})},
      {"IX24", index(kV, {bytes({2, 0, 0, 0, 7})}), vector({10, 50})},
      {"IX25", index(kA, {mask({1, 0, 1})}), ints({2, 4}, {0, 1, 2, 3, 8, 9, 10, 11})},
      {"IX26", index(kA, {std::nullopt, mask({0, 1, 1, 0})}), ints({3, 2}, {1, 2, 5, 6, 9, 10})},
      {"IX27", index(kA, {kDiagonal}), vector({0, 5, 10})},
      {"IX28", index(kB, {std::nullopt, bools({3, 4}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})}),
       ints({2, 2}, {0, 11, 12, 23})},
      {"IX29", index(kB, {bools({2, 3}, {0, 1, 0, 1, 0, 1})}),
       ints({3, 4}, {4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23})},
      {"IX30", index(kA, {mask({1, 0, 1}), mask({1, 0, 0, 1})}), vector({0, 11})},
      {"IX31", index(kA, {mask({1, 0, 1}), mask({1, 1, 0, 1})}),
       "shape mismatch: indexing tensors could not be broadcast together"},
      {"IX32", index(kA, {mask({0, 1, 0}), mask({1, 1, 0, 1})}), vector({4, 5, 7})},
      {"IX33", index(kA, {mask({1, 0, 1}), vector({1})}), vector({1, 9})},
      {"IX34", index(kA, {mask({1, 0, 1}), ints({3, 1}, {0, 3, 1})}),
       ints({3, 2}, {0, 8, 3, 11, 1, 9})},
      {"IX37", index(kA, {mask({0, 0, 0})}), ints({0, 4}, {})},
  });
  const Literal ix35 =
      run(index(kC, {bools({2, 3}, {1, 0, 1, 0, 1, 0}), std::nullopt, vector({4, 0, 1})}))->front();
  EXPECT_EQ(ix35.sizes, (Sizes{3, 4}));
  const Literal v573 = counting({5, 7, 3});
  const Literal ix36 =
      run(index(v573, {mask({1, 0, 1, 0, 1}), std::nullopt, mask({1, 1, 1})}))->front();
  EXPECT_EQ(ix36.sizes, (Sizes{3, 7}));
  EXPECT_EQ(ix36.elements[7], 2 * 21 + 1);
}

TEST(Indexing, Put) {
  const Literal minus = scalar(-1);
  const std::string types =
      "Index put requires the source and destination dtypes match, got Float for the destination "
      "and Long for the source.";
  const auto half = [](DType dtype, double value) { return filled(dtype, {1}, value); };
  check({
      {"IP01", put(kW, {vector({1, 3})}, reals({1, 2})), reals({10, 1, 30, 2, 50})},
      {"IP02", put(kA, {vector({0, 2})}, vector({100, 101, 102, 103})),
       ints({3, 4}, {100, 101, 102, 103, 4, 5, 6, 7, 100, 101, 102, 103})},
      {"IP03", put(kA, {vector({0, 2})}, ints({2, 1}, {7, 8})),
       ints({3, 4}, {7, 7, 7, 7, 4, 5, 6, 7, 8, 8, 8, 8})},
      {"IP04", put(kW, {vector({1, 3})}, floats({1, 2}, {1, 2})),
       "shape mismatch: value tensor of shape [1, 2] cannot be broadcast to indexing result of "
       "shape [2]"},
      {"IP05",
       put(kB, {vector({0, 1}), std::nullopt, vector({3, 0})},
           ints({2, 3}, {100, 101, 102, 200, 201, 202})),
       ints({2, 3, 4}, {0,   1,  2,  100, 4,   5,  6,  101, 8,   9,  10, 102,
                        200, 13, 14, 15,  201, 17, 18, 19,  202, 21, 22, 23})},
      {"IP06", put(kW, {vector({1, 3})}, vector({1, 2})), types},
      {"IP07", put(kW, {vector({1, 3})}, scalar(1)), types},
      {"IP08", put(kW, {vector({0, 0, 0})}, reals({1, 2, 3})), reals({3, 20, 30, 40, 50})},
      {"IP09", put(kW, {vector({0, 0, -5})}, reals({1, 2, 3}), true), reals({16, 20, 30, 40, 50})},
      {"IP10", put(mask({0, 0}), {vector({0, 0})}, mask({1, 0}), true), mask({1, 0})},
      {"IP11",
       put(of(DType::kInt8, vector({100})), {vector({0, 0})}, of(DType::kInt8, vector({100, 60})),
           true),
       of(DType::kInt8, vector({4}))},
      {"IP12",
       put(half(DType::kFloat16, 2048), {vector({0, 0})}, filled(DType::kFloat16, {2}, 1), true),
       half(DType::kFloat16, 2048)},
      {"IP13",
       put(half(DType::kBFloat16, 256), {vector({0, 0})}, filled(DType::kBFloat16, {2}, 1), true),
       half(DType::kBFloat16, 256)},
      {"IP14", put(reals({16777216}), {vector({0, 0})}, reals({1, 1}), true), reals({16777216})},
      {"IP15",
       put({DType::kComplex64, {1}, {1, 1}}, {vector({0, 0})},
           {DType::kComplex64, {2}, {0, 2, 3, 0}}, true),
       Literal{DType::kComplex64, {1}, {4, 3}}},
      {"IP16", put(kA, {kDiagonal}, minus), ints({3, 4}, {-1, 1, 2, 3, 4, -1, 6, 7, 8, 9, -1, 11})},
      {"IP17", put(kA, {kDiagonal}, vector({1, 2, 3})),
       ints({3, 4}, {1, 1, 2, 3, 4, 2, 6, 7, 8, 9, 3, 11})},
      {"IP18", put(kA, {kDiagonal}, vector({1, 2})),
       "shape mismatch: value tensor of shape [2] cannot be broadcast to indexing result of shape"},
      {"IP19", put(kA, {kDiagonal}, ints({1, 1, 1}, {7})),
       ints({3, 4}, {7, 1, 2, 3, 4, 7, 6, 7, 8, 9, 7, 11})},
      {"IP20", put(kA, {kDiagonal}, floats({}, {2.75})),
       ints({3, 4}, {2, 1, 2, 3, 4, 2, 6, 7, 8, 9, 2, 11})},
      {"IP21", put(kA, {kDiagonal}, floats({}, {2.75}), true),
       "got Long for the destination and Float for the source."},
      {"IP22", put(kA, {kDiagonal}, floats({}, {1e30})),
       "value cannot be converted to type int64_t without overflow"},
      {"IP23", put(ints({2, 2}, {0, 1, 2, 3}), {mask({1, 0}), std::nullopt}, minus),
       ints({2, 2}, {-1, -1, 2, 3})},
      {"IP24", put(kA, {mask({1, 0, 1}), vector({1})}, scalar(-7)),
       ints({3, 4}, {0, -7, 2, 3, 4, 5, 6, 7, 8, -7, 10, 11})},
      {"IP25", put(kA, {kDiagonal}, vector({100, 200, 300}), true),
       ints({3, 4}, {100, 1, 2, 3, 4, 205, 6, 7, 8, 9, 310, 11})},
      {"IP26",
       put(filled(DType::kFloat32, {5, 2}, 0), {vector({0, 1, 2, 3}), vector({1})}, floats({}, {1}),
           true),
       floats({5, 2}, {0, 1, 0, 1, 0, 1, 0, 1, 0, 0})},
      {"IP27", put(kW, {vector({})}, reals({1})), kW},
      {"IP28", put(kW, {vector({})}, reals({1, 2, 3})),
       "shape mismatch: value tensor of shape [3] cannot be broadcast to indexing result of shape "
       "[0]"},
      {"IP29", put(kW, {vector({0, 9})}, reals({1, 2})),
       "index 9 is out of bounds for dimension 0 with size 5"},
      {"IP30", put(floats({0, 3}, {}), {vector({0})}, floats({}, {1})),
       "index is out of bounds for dimension with size 0"},
      {"IP34", put(reals({1, 2}), {vector({0, 0})}, reals({kNaN, 1}), true), reals({kNaN, 2})},
      {"IP35", put(reals({0}), {vector({0, 0, 0})}, reals({1e8, 1, -1e8}), true), reals({0})},
  });
}

TEST(Indexing, MaskSelection) {
  const Literal a_transposed = ints({2, 2}, {0, 4, 1, 5});
  check({
      {"NZ01", nonzero(ints({2, 2}, {0, 3, 5, 0})), ints({2, 2}, {0, 1, 1, 0})},
      {"NZ02", nonzero(scalar(7)), ints({1, 0}, {})},
      {"NZ02 zero", nonzero(scalar(0)), ints({0, 0}, {})},
      {"NZ03", nonzero(reals({kNaN, -0.0, 0.0, 1e-45, kInfinity})), ints({3, 1}, {0, 3, 4})},
      {"NZ04", nonzero(filled(DType::kFloat32, {3, 4}, 0)), ints({0, 2}, {})},
      {"NZ04 empty", nonzero(floats({0, 4}, {})), ints({0, 2}, {})},
      {"NZ05", nonzero(ints({2, 2}, {0, 1, 1, 1})), ints({3, 2}, {0, 1, 1, 0, 1, 1})},
      {"NZ06",
       with({"aten.nonzero_static.default", {{"self", ints({2, 2}, {0, 7, 0, 9})}}}, "size",
            std::int64_t{3}),
       ints({3, 2}, {0, 1, 1, 1, -1, -1})},
      {"NZ06 short",
       with({"aten.nonzero_static.default", {{"self", ints({2, 2}, {0, 7, 0, 9})}}}, "size",
            std::int64_t{1}),
       ints({1, 2}, {0, 1})},
      {"NZ06 fill",
       with(with({"aten.nonzero_static.default", {{"self", ints({2, 2}, {0, 7, 0, 9})}}}, "size",
                 std::int64_t{3}),
            "fill_value", std::int64_t{99}),
       ints({3, 2}, {0, 1, 1, 1, 99, 99})},
      {"NZ07", with({"aten.nonzero_static.default", {{"self", kV}}}, "size", std::int64_t{-1}),
       "nonzero_static: 'size' must be an non-negative integer"},
      {"MS01", masked_select(kA, kDiagonal), vector({0, 5, 10})},
      {"MS02", masked_select(kA, mask({1, 0, 0, 1})), vector({0, 3, 4, 7, 8, 11})},
      {"MS03", masked_select(ints({2, 1}, {1, 2}), mask({1, 0, 1})), vector({1, 1, 2, 2})},
      {"MS04", masked_select(scalar(5), bools({}, {1})), vector({5})},
      {"MS04 none", masked_select(scalar(5), bools({}, {0})), vector({})},
      {"MS05", masked_select(a_transposed, bools({2, 2}, {0, 1, 1, 0})), vector({4, 1})},
      {"MS06", masked_select(kA, kA), "masked_select: expected BoolTensor for mask"},
      {"SC01", masked_scatter(kA, kDiagonal, vector({100, 200, 300, 400})),
       ints({3, 4}, {100, 1, 2, 3, 4, 200, 6, 7, 8, 9, 300, 11})},
      {"SC02", masked_scatter(kA, kDiagonal, vector({100, 200})),
       "Number of elements of source < number of ones in mask"},
      {"SC03", masked_scatter(kA, kDiagonal, reals({1, 2, 3})),
       "masked_scatter: expected self and source to have same dtypes but gotLong and Float"},
      {"SC04", masked_scatter(vector({1, 2, 3}), bools({2, 1}, {1, 0}), vector({7, 8, 9})),
       ints({2, 3}, {7, 8, 9, 1, 2, 3})},
      {"SC06", masked_scatter(kA, kDiagonal, ints({2, 2}, {1, 3, 2, 4})),
       ints({3, 4}, {1, 1, 2, 3, 4, 3, 6, 7, 8, 9, 2, 11})},
  });
}

TEST(Indexing, MaskedFill) {
  const auto fill = [](const Literal& self, const Literal& mask, CallArgument value) {
    const bool tensor = std::holds_alternative<Literal>(value);
    return Call{tensor ? "aten.masked_fill.Tensor" : "aten.masked_fill.Scalar",
                {{"self", self}, {"mask", mask}, {"value", std::move(value)}}};
  };
  const auto diagonal = [](double value) {
    return ints({3, 4}, {value, 1, 2, 3, 4, value, 6, 7, 8, 9, value, 11});
  };
  const auto bytes = [](double element) { return of(DType::kInt8, vector({element})); };
  check({
      {"MF01", fill(kA, kDiagonal, 2.75), diagonal(2)},
      {"MF01 negative", fill(kA, kDiagonal, -2.75), diagonal(-2)},
      {"MF03", fill(vector({1, 2, 3}), bools({2, 1}, {1, 0}), std::int64_t{0}),
       ints({2, 3}, {0, 0, 0, 1, 2, 3})},
      {"MF04", fill(kA, kDiagonal, vector({3})),
       "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with 1 "
       "dimension(s)."},
      {"MF05", fill(bytes(1), mask({1}), std::int64_t{300}),
       "value cannot be converted to type int8_t without overflow"},
      {"MF05 tensor", fill(bytes(1), mask({1}), scalar(300)),
       "value cannot be converted to type int8_t without overflow"},
      {"MF05 fits", fill(bytes(1), mask({1}), std::int64_t{-128}), bytes(-128)},
      {"MF05 unsigned", fill(of(DType::kUInt8, vector({1})), mask({1}), std::int64_t{-1}),
       of(DType::kUInt8, vector({255}))},
      {"MF05 float16", fill(filled(DType::kFloat16, {1}, 1), mask({1}), 1e6),
       "value cannot be converted to type at::Half without overflow"},
      {"MF05 infinity", fill(filled(DType::kFloat16, {1}, 1), mask({1}), -kInfinity),
       filled(DType::kFloat16, {1}, -kInfinity)},
      {"MF07", fill(kA, of(DType::kUInt8, kDiagonal), std::int64_t{0}),
       "masked_fill_ only supports boolean masks, but got mask with dtype"},
  });
}

TEST(Indexing, Where) {
  const auto where = [](const Literal& condition, const Literal& self, const Literal& other) {
    return Call{"aten.where.self", {{"condition", condition}, {"self", self}, {"other", other}}};
  };
  check({
      {"WH01", where(mask({1, 0}), vector({1, 2}), reals({0.5, 0.5})), reals({1, 0.5})},
      {"WH02",
       {"aten.where.ScalarOther",
        {{"condition", mask({1})}, {"self", filled(DType::kFloat16, {1}, 1)}, {"other", 2.0}}},
       filled(DType::kFloat16, {1}, 1)},
      {"WH02 float", where(mask({1}), reals({1}), filled(DType::kFloat64, {}, 2)), reals({1})},
      {"WH02 integer", where(mask({1}), of(DType::kInt8, vector({1})), scalar(1000)),
       of(DType::kInt8, vector({1}))},
      {"WH03", where(mask({1, 0}), reals({1, kNaN}), reals({kNaN, 2})), reals({1, 2})},
      {"WH04", where(vector({1}), reals({1}), reals({2})),
       "where expected condition to be a boolean tensor, but got a tensor with dtype Long"},
      {"WH05", where(bools({2, 1}, {1, 0}), vector({1, 2, 3}), scalar(9)),
       ints({2, 3}, {1, 2, 3, 9, 9, 9})},
  });
}

TEST(Indexing, GatherAndSelect) {
  check({
      {"IS01", index_select(kA, 0, vector({2, 0, 2})),
       ints({3, 4}, {8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11})},
      {"IS02", index_select(kA, 0, vector({-1})), "index out of range in self"},
      {"IS03", index_select(kA, 1, vector({4})),
       "INDICES element is out of DATA bounds, id=4 axis_dim=4"},
      {"IS04", index_select(kA, 0, scalar(1)), ints({1, 4}, {4, 5, 6, 7})},
      {"IS04 matrix", index_select(kA, 0, ints({1, 1}, {1})),
       "index_select(): Index is supposed to be a vector"},
      {"IS05", index_select(scalar(7), 0, vector({0})), scalar(7)},
      {"IS05 two", index_select(scalar(7), 0, vector({0, 0})),
       "index_select(): Index to scalar can have only 1 value, got 2 value(s)"},
      {"GA01", gather(kA, 1, ints({2, 2}, {0, 3, 1, 1})), ints({2, 2}, {0, 3, 5, 5})},
      {"GA02", gather(kA, 0, ints({1, 4}, {2, 1, 0, 2})), ints({1, 4}, {8, 5, 2, 11})},
      {"GA03", gather(kA, 0, ints({1, 1}, {-1})),
       "index -1 is out of bounds for dimension 0 with size 3"},
      {"GA04", gather(kA, 1, ints({4, 1}, {0, 0, 0, 0})),
       "Size does not match at dimension 0 expected index [4, 1] to be no larger than self [3, 4] "
       "apart from dimension 1"},
      {"GA05", gather(kA, 1, vector({0})),
       "Index tensor must have the same number of dimensions as input tensor"},
      {"GA06", gather(kA, 1, reals({})), vector({})},
      {"GA07", gather(kA, 1, filled(DType::kInt64, {3, 7}, 0)),
       ints({3, 7}, {0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8})},
      {"TK01", take(kA, ints({2, 2}, {0, -1, 5, 11})), ints({2, 2}, {0, 11, 5, 11})},
      {"TK02", take(ints({4, 3}, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}), vector({1, 2})),
       vector({4, 8})},
      {"TK03", take(kA, vector({12})),
       "out of range: tried to access index 12 on a tensor of 12 elements."},
      {"TK04", take(vector({}), vector({0})), "take(): tried to take from an empty tensor"},
  });
}

TEST(Indexing, Scatter) {
  const Literal zeros = filled(DType::kInt64, {3, 4}, 0);
  const Literal row = vector({1, 1, 1});
  const auto reduce = [&](const char* name) {
    return with(with(along("aten.scatter.reduce", row, 0, vector({1, 1})), "src", vector({3, 2})),
                "reduce", std::string(name));
  };
  check({
      {"SR01", scatter(zeros, 1, ints({2, 2}, {0, 2, 3, 1}), ints({2, 2}, {1, 2, 3, 4})),
       ints({3, 4}, {1, 0, 2, 0, 0, 4, 0, 3, 0, 0, 0, 0})},
      {"SR02", scatter(zeros, 1, ints({1, 4}, {1, 1, 1, 1}), ints({1, 4}, {1, 2, 3, 4})),
       ints({3, 4}, {0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})},
      {"SR03",
       with(along("aten.scatter.value", zeros, 0, ints({1, 4}, {2, 0, 1, 2})), "value",
            std::int64_t{9}),
       ints({3, 4}, {0, 9, 0, 0, 0, 0, 9, 0, 9, 0, 0, 9})},
      {"SR04", scatter(zeros, 1, ints({1, 1}, {0}), filled(DType::kInt64, {5, 6}, 7)),
       ints({3, 4}, {7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})},
      {"SR05", scatter(zeros, 1, ints({1, 3}, {0, 1, 2}), ints({1, 2}, {1, 2})),
       "Expected index [1, 3] to be no larger than self [3, 4] apart from dimension 1 and to be no "
       "larger size than src [1, 2]"},
      {"SR06", scatter(zeros, 1, ints({1, 1}, {4}), ints({1, 1}, {1})),
       "index 4 is out of bounds for dimension 1 with size 4"},
      {"SR07 add", reduce("add"), vector({1, 6, 1})},
      {"SR07 multiply", reduce("multiply"), vector({1, 6, 1})},
      {"SR08", reduce("amax"), "reduce argument must be either add or multiply."},
      {"SR10", scatter(kW, 0, vector({0}), vector({1})),
       "scatter(): Expected self.dtype to be equal to src.dtype"},
      {"SA01",
       with(along("aten.scatter_add.default", reals({1, 1, 1, 1}), 0, vector({0, 1, 1, 3})), "src",
            reals({1, 2, 3, 4})),
       reals({2, 6, 1, 5})},
      {"SA02",
       with(
           along("aten.scatter_add.default", filled(DType::kFloat16, {1}, 2048), 0, vector({0, 0})),
           "src", filled(DType::kFloat16, {2}, 1)),
       filled(DType::kFloat16, {1}, 2050)},
  });
}

TEST(Indexing, ScatterReduce) {
  const Literal self = reals({1, 2, 3, 4}), at = vector({0, 0, 2}), src = reals({5, 7, -1});
  const Literal whole = vector({1, 2}), pair = vector({0, 0}), numbers = vector({2, -9});
  const auto bytes = [](std::vector<double> elements) {
    return of(DType::kInt8, vector(std::move(elements)));
  };
  const auto third = static_cast<double>(13.0F / 3.0F);
  check({
      {"RD01", scatter_reduce(self, at, src, "sum", true), reals({13, 2, 2, 4})},
      {"RD01 without", scatter_reduce(self, at, src, "sum", false), reals({12, 2, -1, 4})},
      {"RD02", scatter_reduce(self, at, src, "prod", true), reals({35, 2, -3, 4})},
      {"RD02 without", scatter_reduce(self, at, src, "prod", false), reals({35, 2, -1, 4})},
      {"RD03", scatter_reduce(self, at, src, "amax", true), reals({7, 2, 3, 4})},
      {"RD03 without", scatter_reduce(self, at, src, "amax", false), reals({7, 2, -1, 4})},
      {"RD04", scatter_reduce(self, at, src, "amin", true), reals({1, 2, -1, 4})},
      {"RD04 without", scatter_reduce(self, at, src, "amin", false), reals({5, 2, -1, 4})},
      {"RD05", scatter_reduce(self, at, src, "mean", true), reals({third, 2, 1, 4})},
      {"RD05 without", scatter_reduce(self, at, src, "mean", false), reals({6, 2, -1, 4})},
      {"RD06", scatter_reduce(whole, pair, numbers, "mean", true), vector({-2, 2})},
      {"RD06 without", scatter_reduce(whole, pair, numbers, "mean", false), vector({-4, 2})},
      {"RD07", scatter_reduce(reals({1}), vector({0}), reals({kNaN}), "amax", true), reals({kNaN})},
      {"RD07 self", scatter_reduce(reals({kNaN}), vector({0}), reals({1}), "amax", true),
       reals({kNaN})},
      {"RD08", scatter_reduce(reals({kNaN}), vector({0}), reals({5}), "amin", false), reals({5})},
      {"RD09", scatter_reduce(self, at, src, "max", true),
       "reduce argument must be either sum, prod, mean, amax or amin."},
      {"RD10", scatter_reduce(bytes({100}), vector({0, 0}), bytes({100, 100}), "mean", true),
       bytes({14})},
  });
}

TEST(Indexing, SlicesAndFlatPositions) {
  const auto index_add = [](const Literal& self, const Literal& at, const Literal& source) {
    return with(along("aten.index_add.default", self, 0, at), "source", source);
  };
  const auto index_copy = [](const Literal& self, const Literal& at, const Literal& source) {
    return with(along("aten.index_copy.default", self, 0, at), "source", source);
  };
  const Literal zeros = filled(DType::kFloat32, {3, 4}, 0);
  const Literal ones = filled(DType::kFloat32, {3, 4}, 1);
  check({
      {"IA01", with(index_add(zeros, vector({0, 2, 0}), ones), "alpha", std::int64_t{2}),
       floats({3, 4}, {4, 4, 4, 4, 0, 0, 0, 0, 2, 2, 2, 2})},
      {"IA02", index_add(zeros, vector({-1}), filled(DType::kFloat32, {1, 4}, 1)),
       "index out of range in self"},
      {"IA03", index_add(zeros, vector({0, 1}), ones),
       "index_add_(): Number of indices (2) should be equal to source.size(dim): (3), for dim: 0"},
      {"IA04", index_add(zeros, vector({0}), floats({1, 1}, {1})),
       "source tensor shape must match self tensor shape, excluding the specified dimension. Got "
       "self.shape = [3, 4] source.shape = [1, 1]"},
      {"IC01", index_copy(filled(DType::kInt64, {3, 4}, 0), vector({2, 0}), counting({2, 4})),
       ints({3, 4}, {4, 5, 6, 7, 0, 0, 0, 0, 0, 1, 2, 3})},
      {"IC02", index_copy(kW, vector({-1}), reals({1})),
       "index_copy_(): index -1 is out of bounds for dimension 0 with size 5"},
      {"IC03", index_copy(kW, of(DType::kInt32, vector({0})), reals({1})),
       "index_copy_(): Expected a long tensor for index, but got Int"},
      {"IC04", index_copy(kW, vector({1, 2}), floats({}, {5})),
       "index_copy_(): When source is scalar, index should have one element (got 2)"},
      {"PT01",
       put_flat(ints({2, 3}, {0, 2, 4, 1, 3, 5}), vector({1, 2}), vector({100, 200}), false),
       ints({2, 3}, {0, 100, 200, 1, 3, 5})},
      {"PT02", put_flat(kW, vector({0, 0}), reals({1, 2}), false), reals({2, 20, 30, 40, 50})},
      {"PT02 accumulate", put_flat(kW, vector({0, 0}), reals({1, 2}), true),
       reals({13, 20, 30, 40, 50})},
      {"PT03", put_flat(kW, vector({0, 0}), reals({1}), false),
       "put_(): Expected source and index to have the same number of elements, but got "
       "source.numel() = 1, index.numel() = 2"},
  });
}

}  // namespace
}  // namespace tendon::aten::testing
