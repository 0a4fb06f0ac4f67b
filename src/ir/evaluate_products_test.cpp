#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/half.h"
#include "ir/evaluate_test_graph.h"

namespace tendon::ir {
namespace {

using ::testing::ElementsAre;

TEST_F(EvaluateTest, MatmulWithEpilogue) {
  const ValueId a = input(DType::kFloat32, {2, 1, 2});
  const ValueId b = input(DType::kFloat32, {2, 2, 3});
  const ExprId doubled = pool.binary(Op::kMultiply, pool.accumulator(DType::kFloat32),
                                     pool.constant(DType::kFloat32, 2.0));
  const ExprId epilogue = pool.cast(DType::kInt32, doubled);
  returns({add(Matmul{}, {a, b}, DType::kFloat32, {2, 1, 3}),
           add(Matmul{epilogue}, {a, b}, DType::kInt32, {2, 1, 3})});
  const auto outputs = run(
      {floats({2, 1, 2}, {1, 2, 3, 4}), floats({2, 2, 3}, {1, 2, 3, 4, 5, 6, 1, 0, 0, 0, 1, 0})});
  EXPECT_THAT(elements<float>(outputs[0]), ElementsAre(9, 12, 15, 3, 4, 0));
  EXPECT_THAT(elements<std::int32_t>(outputs[1]), ElementsAre(18, 24, 30, 6, 8, 0));
}

TEST_F(EvaluateTest, MatmulOfOtherTypes) {
  const ValueId a = input(DType::kInt8, {1, 2});
  const ValueId b = input(DType::kInt8, {2, 1});
  const ValueId h = input(DType::kFloat16, {1, 2});
  const ValueId g = input(DType::kFloat16, {2, 1});
  returns({add(Matmul{}, {a, b}, DType::kInt8, {1, 1}),
           add(Matmul{pool.accumulator(DType::kFloat32)}, {h, g}, DType::kFloat32, {1, 1}),
           add(Matmul{}, {h, g}, DType::kFloat16, {1, 1})});
  const Tensor bytes_a = tensor<std::int8_t>(DType::kInt8, {1, 2}, {100, 100});
  const Tensor bytes_b = tensor<std::int8_t>(DType::kInt8, {2, 1}, {2, 1});
  const Tensor halves_a = tensor(DType::kFloat16, {1, 2}, {Float16(1024.0f), Float16(0.25f)});
  const Tensor halves_b = tensor(DType::kFloat16, {2, 1}, {Float16(2.0f), Float16(1.0f)});
  const auto outputs = run({bytes_a, bytes_b, halves_a, halves_b});
  EXPECT_EQ(*outputs[0].as<std::int8_t>(), 44);
  EXPECT_EQ(*outputs[1].as<float>(), 2048.25f);
  EXPECT_EQ(static_cast<float>(*outputs[2].as<Float16>()), 2048.0f);
}

TEST_F(EvaluateTest, ConvolutionInOneAxis) {
  const ValueId x = input(DType::kFloat32, {1, 1, 5});
  const ValueId w = input(DType::kFloat32, {1, 1, 2});
  // Stride 2, dilation 2, padding 1 before and 0 after: positions -1, 1 | 1, 3.
  const Conv conv{{2}, {2}, {1}, {0}, 1, false, kNoExpr};
  returns({add(conv, {x, w}, DType::kFloat32, {1, 1, 2})});
  EXPECT_THAT(
      elements<float>(run({floats({1, 1, 5}, {1, 2, 3, 4, 5}), floats({1, 1, 2}, {10, 1})})[0]),
      ElementsAre(2, 24));
}

TEST_F(EvaluateTest, ConvolutionInGroups) {
  const ValueId x = input(DType::kFloat32, {1, 2, 2, 2});
  const ValueId w = input(DType::kFloat32, {2, 1, 1, 2});
  const Conv conv{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 2, false, kNoExpr};
  returns({add(conv, {x, w}, DType::kFloat32, {1, 2, 2, 1})});
  EXPECT_THAT(elements<float>(run({floats({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
                                   floats({2, 1, 1, 2}, {1, 10, 100, 1})})[0]),
              ElementsAre(21, 43, 506, 708));
}

// A transposed convolution is the transpose of the convolution with the same arguments, as a
// matrix.
TEST_F(EvaluateTest, TransposedConvolutionIsTheTranspose) {
  const Conv forward{{2, 1}, {1, 2}, {1, 0}, {1, 1}, 1, false, kNoExpr};
  Conv backward = forward;
  backward.transposed = true;
  // [1, 2, 5, 6] -> [1, 3, 3, 3] with windows of [3, 3]; (5 + 2 - 3) / 2 + 1 and 6 + 1 - 5 + 1.
  const ValueId x = input(DType::kFloat32, {1, 2, 5, 6});
  const ValueId w = input(DType::kFloat32, {3, 2, 3, 3});
  const ValueId y = input(DType::kFloat32, {1, 3, 3, 3});
  returns({add(forward, {x, w}, DType::kFloat32, {1, 3, 3, 3}),
           add(backward, {y, w}, DType::kFloat32, {1, 2, 5, 6})});
  const auto fill = [](Sizes sizes, int seed) {
    Tensor result = *Tensor::allocate(DType::kFloat32, std::move(sizes));
    for (std::int64_t i = 0; i < result.elements(); ++i) {
      result.as<float>()[i] = static_cast<float>((i * 7 + seed) % 11 - 5);
    }
    return result;
  };
  const Tensor x_data = fill({1, 2, 5, 6}, 1);
  const Tensor y_data = fill({1, 3, 3, 3}, 2);
  const auto outputs = run({x_data, fill({3, 2, 3, 3}, 3), y_data});
  const auto dot = [](const Tensor& a, const Tensor& b) {
    double sum = 0;
    for (std::int64_t i = 0; i < a.elements(); ++i) sum += a.as<float>()[i] * b.as<float>()[i];
    return sum;
  };
  EXPECT_NE(dot(outputs[0], y_data), 0);
  EXPECT_EQ(dot(outputs[0], y_data), dot(outputs[1], x_data));
}

TEST_F(EvaluateTest, AttentionWithGroupsBiasAndCausalRule) {
  const ValueId q = input(DType::kFloat32, {2, 2, 1});  // two heads, two queries
  const ValueId k = input(DType::kFloat32, {1, 2, 1});
  const ValueId v = input(DType::kFloat32, {1, 2, 1});
  Attention causal;
  causal.causal = true;
  Attention biased;
  biased.scale = 0;
  pool.set_extents(Shape{2, 2, 2});
  // Minus infinity where the key is 1, and everywhere for query 1.
  const ExprId hidden = pool.binary(Op::kOr, pool.binary(Op::kEqual, pool.index(2), integer(1)),
                                    pool.binary(Op::kEqual, pool.index(1), integer(1)));
  biased.score = pool.select(hidden, pool.constant(DType::kFloat32, -double{kInfinity}),
                             pool.accumulator(DType::kFloat32));
  Attention zeroed = biased;
  zeroed.zero_masked_rows = true;
  returns({add(Attention{}, {q, k, v}, DType::kFloat32, {2, 2, 1}),
           add(causal, {q, k, v}, DType::kFloat32, {2, 2, 1}),
           add(biased, {q, k, v}, DType::kFloat32, {2, 2, 1}),
           add(zeroed, {q, k, v}, DType::kFloat32, {2, 2, 1})});
  const auto outputs = run({floats({2, 2, 1}, {0, 1, 0, std::log(3.0f)}), floats({1, 2, 1}, {0, 1}),
                            floats({1, 2, 1}, {8, 16})});
  EXPECT_FLOAT_EQ(outputs[0].as<float>()[0], 12);
  EXPECT_FLOAT_EQ(outputs[0].as<float>()[1], 8 + 8 / (1 + std::exp(-1.0f)));
  EXPECT_FLOAT_EQ(outputs[0].as<float>()[3], 14);
  EXPECT_FLOAT_EQ(outputs[1].as<float>()[0], 8);
  EXPECT_FLOAT_EQ(outputs[1].as<float>()[3], 14);
  EXPECT_FLOAT_EQ(outputs[2].as<float>()[0], 8);
  EXPECT_TRUE(std::isnan(outputs[2].as<float>()[1]));
  EXPECT_FLOAT_EQ(outputs[3].as<float>()[0], 8);
  EXPECT_EQ(outputs[3].as<float>()[1], 0);
}

}  // namespace
}  // namespace tendon::ir
