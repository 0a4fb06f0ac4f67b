// Attention computed in steps, before and after.
#include <functional>

#include "ir/dependencies.h"
#include "ir/evaluate_test_graph.h"
#include "passes/pass.h"
#include "tensor/random_fill.h"

namespace tendon::passes {
namespace {

using namespace ir;  // NOLINT(google-build-using-namespace): the vocabulary of this folder
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kQueries = 3, kKeys = 5, kDepth = 4, kWidth = 2;

/// Scores of 4 query heads over 2 heads of keys, masked, in the steps of an eager program. The
/// members say what a test wants otherwise.
class FuseAttention : public EvaluateTest {
 protected:
  std::int64_t key_repeats = 2, value_repeats = 2;
  DType type = DType::kFloat32;
  ReduceOp total_op = ReduceOp::kSum;
  /// What happens to a weight before it meets the values.
  std::function<ExprId(ExprId)> weight = [](ExprId x) { return x; };
  /// What happens to a product before softmax.
  std::function<ExprId(ExprId)> score = [this](ExprId product) {
    const ExprId visible = element_at(mask, {1, 2});
    return pool.select(visible, pool.binary(Op::kMultiply, product, number(0.5)), number(-3e38));
  };
  ExprId output_epilogue = kNoExpr;

  ValueId q = -1, k = -1, v = -1, mask = -1;
  ValueId scores = -1, weights = -1, output = -1;

  ExprId number(double x) { return pool.constant(type, x); }
  ExprId element_at(ValueId value, std::initializer_list<int> axes) {
    std::vector<ExprId> positions;
    for (int axis : axes) positions.push_back(pool.index(axis));
    return pool.load(value, graph.value(value).dtype, positions);
  }
  ValueId map(const Shape& shape, const std::function<ExprId()>& body) {
    pool.set_extents(shape);
    const ExprId expression = body();
    return add(Map{expression}, {}, pool.dtype(expression), shape);
  }
  /// Over the last axis of [4, queries, keys].
  ValueId along_keys(ReduceOp op, ValueId of) {
    pool.set_extents(Shape{4, kQueries, kKeys});
    return add(Reduce{op, {kKeys}, element_at(of, {0, 1, 2})}, {}, type, {4, kQueries});
  }
  ExprId repeated(ValueId value, std::int64_t repeats, int row, int column) {
    const ExprId head = pool.binary(Op::kFloorDivide, pool.index(0), integer(repeats));
    return pool.load(value, type, std::vector{head, pool.index(row), pool.index(column)});
  }

  void build() {
    q = input(type, {4, kQueries, kDepth});
    k = input(type, {4 / key_repeats, kKeys, kDepth});
    v = input(type, {4 / value_repeats, kKeys, kWidth});
    mask = input(DType::kBool, {kQueries, kKeys});
    const ValueId columns = map({4, kDepth, kKeys}, [&] { return repeated(k, key_repeats, 2, 1); });
    const ValueId rows = map({4, kKeys, kWidth}, [&] { return repeated(v, value_repeats, 1, 2); });
    pool.set_extents(Shape{4, kQueries, kKeys});
    scores = add(Matmul{score(pool.accumulator(type))}, {q, columns}, type, {4, kQueries, kKeys});
    const ValueId maximum = along_keys(ReduceOp::kMax, scores);
    const ValueId exponentials = map({4, kQueries, kKeys}, [&] {
      return pool.unary(Op::kExp, pool.binary(Op::kSubtract, element_at(scores, {0, 1, 2}),
                                              element_at(maximum, {0, 1})));
    });
    const ValueId total = along_keys(total_op, exponentials);
    weights = map({4, kQueries, kKeys}, [&] {
      return weight(
          pool.binary(Op::kDivide, element_at(exponentials, {0, 1, 2}), element_at(total, {0, 1})));
    });
    pool.set_extents(Shape{4, kQueries, kWidth});
    output = add(Matmul{output_epilogue}, {weights, rows}, type, {4, kQueries, kWidth});
    returns({output});
  }

  void fuse() {
    fuse_attention(graph);
    graph = compacted(graph);
    ASSERT_EQ(verify(graph), std::nullopt);
  }

  std::vector<Tensor> drawn() {
    std::vector<Tensor> inputs;
    for (ValueId value : {q, k, v}) {
      Sizes sizes;
      for (const Size& size : graph.value(value).shape) sizes.push_back(*size.as_constant());
      inputs.push_back(*Tensor::allocate(type, sizes));
      EXPECT_TRUE(tensor::fill_normal(inputs.back().view(), 7, inputs.size()).ok());
    }
    inputs.push_back(bools({kQueries, kKeys}, {true, true, false, true, true,      //
                                               false, false, false, false, false,  //
                                               false, true, true, false, true}));
    return inputs;
  }

  void expect_fused_to_the_same() {
    const std::vector<Tensor> inputs = drawn();
    const std::vector<Tensor> before = run(inputs);
    fuse();
    EXPECT_THAT(graph.to_string(), HasSubstr("attention"));
    EXPECT_THAT(graph.to_string(), Not(HasSubstr("matmul")));
    const std::vector<Tensor> after = run(inputs);
    ASSERT_EQ(before.size(), 1u);
    ASSERT_EQ(after.size(), 1u);
    EXPECT_THAT(elements<float>(after[0]),
                ::testing::Pointwise(::testing::FloatNear(1e-6f), elements<float>(before[0])));
  }
  void expect_left_alone() {
    build();
    fuse();
    EXPECT_THAT(graph.to_string(), Not(HasSubstr("attention")));
  }
};

TEST_F(FuseAttention, TakesScaleMaskAndGroupedHeads) {
  build();
  fuse();
  EXPECT_EQ(graph.to_string(),
            "%0: float32[4, 3, 4] = input 0\n"
            "%1: float32[2, 5, 4] = input 1\n"
            "%2: float32[2, 5, 2] = input 2\n"
            "%3: bool[3, 5] = input 3\n"
            "%4: float32[2, 5, 2] = map load(%2, i0, i1, i2)\n"
            "%5: float32[2, 5, 4] = map load(%1, i0, i1, i2)\n"
            "%6: float32[4, 3, 2] = attention %0 %5 %4 scale 0.500000 score "
            "select(load(%3, i1, i2), accumulator, -3e+38)\n"
            "output 0 <- %6\n");
}

TEST_F(FuseAttention, GivesTheSameAlsoWhereARowIsMaskedWhole) {
  build();
  expect_fused_to_the_same();
}

TEST_F(FuseAttention, KeepsWhatIsNoCommonFactor) {
  // A cap: the product is seen once, but not only through a factor.
  score = [this](ExprId product) {
    return pool.binary(Op::kMultiply, number(2.0), pool.unary(Op::kTanh, product));
  };
  build();
  expect_fused_to_the_same();
  EXPECT_THAT(graph.to_string(), HasSubstr("scale 1.000000 score multiply(tanh(accumulator), 2)"));
}

TEST_F(FuseAttention, SeesTheProductTwice) {
  score = [this](ExprId product) {
    return pool.binary(Op::kAdd, pool.binary(Op::kMultiply, product, number(0.5)),
                       pool.binary(Op::kMultiply, product, product));
  };
  build();
  expect_fused_to_the_same();
}

TEST_F(FuseAttention, DividesByAPowerOfTwoAsItMultiplies) {
  score = [this](ExprId product) { return pool.binary(Op::kDivide, product, number(4.0)); };
  build();
  expect_fused_to_the_same();
  EXPECT_THAT(graph.to_string(), HasSubstr("scale 0.250000\n"));
}

TEST_F(FuseAttention, AddingNothingToAScoreIsNoWork) {
  score = [this](ExprId product) {
    return pool.binary(
        Op::kAdd, number(0.0),
        pool.binary(Op::kAdd, pool.binary(Op::kMultiply, product, number(0.5)), number(0.0)));
  };
  build();
  expect_fused_to_the_same();
  EXPECT_THAT(graph.to_string(), HasSubstr("scale 0.500000\n"));
}

TEST_F(FuseAttention, AddingSomethingToAScoreStays) {
  score = [this](ExprId product) { return pool.binary(Op::kAdd, product, number(0.5)); };
  build();
  expect_fused_to_the_same();
  EXPECT_THAT(graph.to_string(), HasSubstr("score add(accumulator, 0.5)"));
}

TEST_F(FuseAttention, HeadsThatOnlyTheKeysRepeatAreNotGrouped) {
  value_repeats = 1;
  build();
  expect_fused_to_the_same();
  EXPECT_THAT(graph.to_string(), HasSubstr("float32[4, 5, 4] = map load(%1, i0 // 2, i1, i2)"));
}

TEST_F(FuseAttention, WhatFollowsTheOutputFollowsTheAttention) {
  output_epilogue =
      pool.binary(Op::kAdd, pool.accumulator(DType::kFloat32), pool.constant(DType::kFloat32, 1.0));
  build();
  expect_fused_to_the_same();
}

TEST_F(FuseAttention, ScoresThatSomebodyElseReadsStay) {
  build();
  returns({scores});
  fuse();
  EXPECT_THAT(graph.to_string(), Not(HasSubstr("attention")));
}

TEST_F(FuseAttention, WeightsThatSomebodyElseReadsStay) {
  build();
  returns({map({4, kQueries, kKeys}, [&] {
    return pool.unary(Op::kNegate, element_at(weights, {0, 1, 2}));
  })});
  fuse();
  EXPECT_THAT(graph.to_string(), Not(HasSubstr("attention")));
}

TEST_F(FuseAttention, RoundedWeightsStay) {
  weight = [this](ExprId x) { return pool.cast(DType::kFloat32, pool.cast(DType::kBFloat16, x)); };
  expect_left_alone();
}

TEST_F(FuseAttention, RoundedScoresKeepTheirRounding) {
  // The product of half types is stored rounded; the attention sees it rounded, too.
  score = [this](ExprId product) {
    return pool.cast(DType::kFloat32, pool.cast(DType::kBFloat16, product));
  };
  build();
  expect_fused_to_the_same();
  EXPECT_THAT(graph.to_string(), HasSubstr("score float32(bfloat16(accumulator))"));
}

TEST_F(FuseAttention, OtherNormsAreNoSoftmax) {
  total_op = ReduceOp::kMax;
  expect_left_alone();
}

TEST_F(FuseAttention, OtherTypesStay) {
  type = DType::kFloat64;
  expect_left_alone();
}

}  // namespace
}  // namespace tendon::passes
