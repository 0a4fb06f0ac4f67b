#include "ir/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>

#include "base/half.h"
#include "ir/philox.h"

namespace tendon::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <typename T>
Tensor tensor(DType dtype, Sizes sizes, std::initializer_list<T> elements) {
  Tensor result = *Tensor::allocate(dtype, std::move(sizes));
  EXPECT_EQ(result.elements(), static_cast<std::int64_t>(elements.size()));
  EXPECT_EQ(dtype_size(dtype), sizeof(T));
  std::copy(elements.begin(), elements.end(), result.as<T>());
  return result;
}
Tensor floats(Sizes sizes, std::initializer_list<float> elements) {
  return tensor(DType::kFloat32, std::move(sizes), elements);
}
Tensor ints(Sizes sizes, std::initializer_list<std::int64_t> elements) {
  return tensor(DType::kInt64, std::move(sizes), elements);
}
Tensor bools(Sizes sizes, std::initializer_list<bool> elements) {
  return tensor(DType::kBool, std::move(sizes), elements);
}

template <typename T>
std::vector<T> elements(const Tensor& tensor) {
  return std::vector<T>(tensor.as<T>(), tensor.as<T>() + tensor.elements());
}

SymbolRef make_symbol(std::string name, std::int64_t lower, std::int64_t upper, bool from_data) {
  return std::make_shared<Symbol>(Symbol{std::move(name), lower, upper, from_data, std::nullopt});
}

/// A graph under construction, and what it is run on.
class EvaluateTest : public ::testing::Test {
 protected:
  Graph graph;
  ExprPool& pool = graph.pool;

  ValueId input(DType dtype, Shape shape) {
    const int index = static_cast<int>(graph.inputs.size());
    return only_output(graph.add(Input{index}, {}, {{dtype, std::move(shape)}}));
  }
  ValueId only_output(NodeId node) const { return graph.node(node).outputs.at(0); }
  ValueId add(Primitive primitive, std::vector<ValueId> inputs, DType dtype, Shape shape) {
    return only_output(
        graph.add(std::move(primitive), std::move(inputs), {{dtype, std::move(shape)}}));
  }
  void returns(std::initializer_list<ValueId> values) {
    for (ValueId value : values) {
      graph.outputs.push_back(
          {GraphOutput::Kind::kUser, value, static_cast<int>(graph.outputs.size()), {}});
    }
  }
  /// The element of `value` at the indices of the first axes of the iteration space.
  ExprId element(ValueId value) {
    std::vector<ExprId> positions;
    for (std::size_t i = 0; i < graph.value(value).shape.size(); ++i) {
      positions.push_back(pool.index(static_cast<int>(i)));
    }
    return pool.load(value, graph.value(value).dtype, positions);
  }
  ExprId integer(std::int64_t value) { return pool.constant(DType::kInt64, value); }

  static std::vector<TensorView> views(const std::vector<Tensor>& tensors) {
    std::vector<TensorView> result;
    for (const Tensor& tensor : tensors) result.push_back(tensor.view());
    return result;
  }
  Result<EvaluationOutputs> try_run(const std::vector<Tensor>& inputs,
                                    const std::vector<Tensor>& constants = {},
                                    const std::vector<Tensor>& states = {}) {
    EXPECT_EQ(verify(graph), std::nullopt);
    return evaluate(graph, views(inputs), views(constants), views(states));
  }
  std::vector<Tensor> run(const std::vector<Tensor>& inputs,
                          const std::vector<Tensor>& constants = {},
                          const std::vector<Tensor>& states = {}) {
    auto outputs = try_run(inputs, constants, states);
    EXPECT_TRUE(outputs.ok()) << outputs.status().to_string();
    if (!outputs.ok()) return {};
    return outputs->tensors;
  }
};

TEST_F(EvaluateTest, MapLoadsAtComputedPositions) {
  const ValueId x = input(DType::kFloat32, {2, 3});
  const ExprId positions[] = {pool.index(1), pool.index(0)};
  const ExprId body = pool.binary(Op::kAdd, pool.load(x, DType::kFloat32, positions),
                                  pool.cast(DType::kFloat32, pool.index(0)));
  returns({add(Map{body}, {}, DType::kFloat32, {3, 2})});
  EXPECT_THAT(elements<float>(run({floats({2, 3}, {1, 2, 3, 4, 5, 6})})[0]),
              ElementsAre(1, 4, 3, 6, 5, 8));
}

TEST_F(EvaluateTest, InputsMayHaveAnyStrides) {
  const ValueId x = input(DType::kFloat32, {3, 2});
  returns({add(Map{element(x)}, {}, DType::kFloat32, {3, 2})});
  const Tensor memory = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  TensorView transposed = memory.view();
  transposed.sizes = {3, 2};
  transposed.strides = {1, 3};
  const auto outputs = evaluate(graph, std::span(&transposed, 1));
  ASSERT_TRUE(outputs.ok());
  EXPECT_THAT(elements<float>(outputs->tensors[0]), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST_F(EvaluateTest, MapOverManyStrips) {
  const SymbolRef n = make_symbol("n", 0, 10'000, false);
  const ValueId x = input(DType::kInt64, {Size::symbol(n), 7});
  const ExprId flat =
      pool.binary(Op::kAdd, pool.binary(Op::kMultiply, pool.index(0), integer(7)), pool.index(1));
  returns({add(Map{pool.binary(Op::kSubtract, element(x), flat)}, {}, DType::kInt64,
               {Size::symbol(n), 7})});
  Tensor many = *Tensor::allocate(DType::kInt64, {111, 7});
  for (std::int64_t i = 0; i < many.elements(); ++i) many.as<std::int64_t>()[i] = i + 5;
  EXPECT_THAT(elements<std::int64_t>(run({many})[0]), ::testing::Each(5));
  EXPECT_EQ(run({*Tensor::allocate(DType::kInt64, {0, 7})})[0].elements(), 0);
}

TEST_F(EvaluateTest, HalfTypesAreComputedInFloat32) {
  const ValueId x = input(DType::kBFloat16, {2});
  const ExprId wide = pool.cast(DType::kFloat32, element(x));
  const ExprId sum = pool.binary(Op::kAdd, wide, pool.constant(DType::kFloat32, 0.001953125));
  returns({add(Map{pool.cast(DType::kBFloat16, sum)}, {}, DType::kBFloat16, {2}),
           add(Map{sum}, {}, DType::kFloat32, {2})});
  const auto outputs = run({tensor(DType::kBFloat16, {2}, {BFloat16(1.0f), BFloat16(0.25f)})});
  EXPECT_EQ(static_cast<float>(outputs[0].as<BFloat16>()[0]), 1.0f);
  EXPECT_EQ(static_cast<float>(outputs[0].as<BFloat16>()[1]), 0.251953125f);
  EXPECT_THAT(elements<float>(outputs[1]), ElementsAre(1.001953125f, 0.251953125f));
}

TEST_F(EvaluateTest, BitcastSeesBits) {
  const ValueId x = input(DType::kFloat16, {1});
  const ValueId y = input(DType::kFloat32, {1});
  returns({add(Map{pool.bitcast(DType::kInt16, element(x))}, {}, DType::kInt16, {1}),
           add(Map{pool.bitcast(DType::kInt32, element(y))}, {}, DType::kInt32, {1})});
  const auto outputs = run({tensor(DType::kFloat16, {1}, {Float16(1.0f)}), floats({1}, {1.0f})});
  EXPECT_THAT(elements<std::int16_t>(outputs[0]), ElementsAre(0x3c00));
  EXPECT_THAT(elements<std::int32_t>(outputs[1]), ElementsAre(0x3f800000));
}

TEST_F(EvaluateTest, MaskedLoadIsZeroOutside) {
  const ValueId x = input(DType::kFloat32, {3});
  const ExprId position = pool.binary(Op::kSubtract, pool.index(0), integer(1));
  pool.set_extents(Shape{5});
  const ExprId inside = pool.binary(Op::kAnd, pool.binary(Op::kLessEqual, integer(0), position),
                                    pool.binary(Op::kLess, position, integer(3)));
  const ExprId positions[] = {position};
  const ExprId body = pool.masked_load(x, DType::kFloat32, inside, positions);
  returns({add(Map{body}, {}, DType::kFloat32, {5})});
  EXPECT_THAT(elements<float>(run({floats({3}, {1, 2, 3})})[0]), ElementsAre(0, 1, 2, 3, 0));
}

TEST_F(EvaluateTest, SelectIgnoresTheOtherValue) {
  const ValueId x = input(DType::kFloat32, {3});
  const ExprId positive = pool.binary(Op::kLess, pool.constant(DType::kFloat32, 0.0), element(x));
  const ExprId body = pool.select(positive, pool.unary(Op::kLog, element(x)), element(x));
  returns({add(Map{body}, {}, DType::kFloat32, {3})});
  EXPECT_THAT(elements<float>(run({floats({3}, {1, -2, 0})})[0]), ElementsAre(0, -2, 0));
}

TEST_F(EvaluateTest, IndexChecksNameTheOperator) {
  const ValueId x = input(DType::kFloat32, {3});
  const ValueId i = input(DType::kInt64, {2});
  const ExprId positions[] = {pool.check_index(element(i), IndexCheck{3})};
  graph.origins = {"aten.index.Tensor (index)"};
  const NodeId node =
      graph.add(Map{pool.load(x, DType::kFloat32, positions)}, {}, {{DType::kFloat32, {2}}}, 0);
  returns({only_output(node)});
  const Tensor data = floats({3}, {10, 20, 30});
  EXPECT_THAT(elements<float>(run({data, ints({2}, {-1, 0})})[0]), ElementsAre(30, 10));
  const auto outside = try_run({data, ints({2}, {1, -4})});
  EXPECT_EQ(outside.status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(outside.status().message(),
            "aten.index.Tensor (index): index -4 is out of bounds for dimension with size 3");
}

TEST_F(EvaluateTest, IndexChecksUnderAFalseMaskDoNotCount) {
  const ValueId x = input(DType::kFloat32, {3});
  const ValueId i = input(DType::kInt64, {2});
  const ValueId mask = input(DType::kBool, {2});
  const ExprId positions[] = {pool.check_index(element(i), IndexCheck{3})};
  returns({add(Map{pool.masked_load(x, DType::kFloat32, element(mask), positions)}, {},
               DType::kFloat32, {2})});
  const Tensor data = floats({3}, {10, 20, 30});
  EXPECT_THAT(elements<float>(run({data, ints({2}, {7, 1}), bools({2}, {false, true})})[0]),
              ElementsAre(0, 20));
  EXPECT_EQ(try_run({data, ints({2}, {7, 1}), bools({2}, {true, true})}).status().code(),
            StatusCode::kOutOfRange);
}

TEST_F(EvaluateTest, RandomBitsArePhilox) {
  const ExprId body = pool.philox(integer(7), integer(3), pool.index(0));
  returns({add(Map{body}, {}, DType::kInt64, {3})});
  EXPECT_THAT(elements<std::int64_t>(run({})[0]),
              ElementsAre(philox_bits(7, 3, 0), philox_bits(7, 3, 1), philox_bits(7, 3, 2)));
}

TEST_F(EvaluateTest, Reductions) {
  const ValueId x = input(DType::kFloat32, {2, 4});
  const auto reduce = [&](ReduceOp op, DType dtype) {
    return add(Reduce{op, {4}, element(x)}, {}, dtype, {2});
  };
  returns({reduce(ReduceOp::kSum, DType::kFloat32), reduce(ReduceOp::kProduct, DType::kFloat32),
           reduce(ReduceOp::kMin, DType::kFloat32), reduce(ReduceOp::kMax, DType::kFloat32),
           reduce(ReduceOp::kArgMin, DType::kInt64), reduce(ReduceOp::kArgMax, DType::kInt64)});
  const NodeId moments = graph.add(Reduce{ReduceOp::kMoments, {4}, element(x)}, {},
                                   {{DType::kFloat32, {2}}, {DType::kFloat32, {2}}});
  returns({graph.node(moments).outputs[0], graph.node(moments).outputs[1]});
  const auto outputs = run({floats({2, 4}, {3, 1, 4, 4, -1, 2, -1, 0})});
  EXPECT_THAT(elements<float>(outputs[0]), ElementsAre(12, 0));
  EXPECT_THAT(elements<float>(outputs[1]), ElementsAre(48, 0));
  EXPECT_THAT(elements<float>(outputs[2]), ElementsAre(1, -1));
  EXPECT_THAT(elements<float>(outputs[3]), ElementsAre(4, 2));
  EXPECT_THAT(elements<std::int64_t>(outputs[4]), ElementsAre(1, 0));
  EXPECT_THAT(elements<std::int64_t>(outputs[5]), ElementsAre(2, 1));
  EXPECT_THAT(elements<float>(outputs[6]), ElementsAre(3, 0));
  EXPECT_THAT(elements<float>(outputs[7]), ElementsAre(6, 6));
  // NaN wins.
  const auto with_nan = run({floats({2, 4}, {3, kNaN, 4, kNaN, 0, 0, 0, 0})});
  EXPECT_TRUE(std::isnan(with_nan[2].as<float>()[0]));
  EXPECT_TRUE(std::isnan(with_nan[3].as<float>()[0]));
  EXPECT_THAT(elements<std::int64_t>(with_nan[4]), ElementsAre(1, 0));
  EXPECT_THAT(elements<std::int64_t>(with_nan[5]), ElementsAre(1, 0));
}

TEST_F(EvaluateTest, EmptyReductionsGiveTheNeutralElement) {
  const ValueId x = input(DType::kFloat32, {1, 0});
  const ValueId i = input(DType::kInt32, {1, 0});
  const ValueId b = input(DType::kBool, {1, 0});
  const auto reduce = [&](ReduceOp op, ValueId value) {
    return add(Reduce{op, {0}, element(value)}, {}, graph.value(value).dtype, {1});
  };
  returns({reduce(ReduceOp::kSum, x), reduce(ReduceOp::kMax, x), reduce(ReduceOp::kMin, i),
           reduce(ReduceOp::kAny, b), reduce(ReduceOp::kAll, b)});
  const auto outputs =
      run({floats({1, 0}, {}), *Tensor::allocate(DType::kInt32, {1, 0}), bools({1, 0}, {})});
  EXPECT_EQ(*outputs[0].as<float>(), 0);
  EXPECT_EQ(*outputs[1].as<float>(), -kInfinity);
  EXPECT_EQ(*outputs[2].as<std::int32_t>(), std::numeric_limits<std::int32_t>::max());
  EXPECT_FALSE(*outputs[3].as<bool>());
  EXPECT_TRUE(*outputs[4].as<bool>());
}

TEST_F(EvaluateTest, IntegerSumsWrap) {
  const ValueId x = input(DType::kInt8, {3});
  returns({add(Reduce{ReduceOp::kSum, {3}, element(x)}, {}, DType::kInt8, {})});
  const auto outputs = run({tensor<std::int8_t>(DType::kInt8, {3}, {100, 100, 100})});
  EXPECT_EQ(*outputs[0].as<std::int8_t>(), 44);
}

TEST_F(EvaluateTest, Scans) {
  const ValueId x = input(DType::kFloat32, {2, 3});
  returns({add(Scan{ScanOp::kSum, 1, element(x)}, {}, DType::kFloat32, {2, 3}),
           add(Scan{ScanOp::kProduct, 0, element(x)}, {}, DType::kFloat32, {2, 3}),
           add(Scan{ScanOp::kLogSumExp, 1, element(x)}, {}, DType::kFloat32, {2, 3})});
  const NodeId maxima = graph.add(Scan{ScanOp::kMax, 1, element(x)}, {},
                                  {{DType::kFloat32, {2, 3}}, {DType::kInt64, {2, 3}}});
  returns({graph.node(maxima).outputs[0], graph.node(maxima).outputs[1]});
  const auto outputs = run({floats({2, 3}, {1, 1, 0, 2, 3, kNaN})});
  const auto sums = elements<float>(outputs[0]);
  EXPECT_THAT(std::vector(sums.begin(), sums.begin() + 5), ElementsAre(1, 2, 2, 2, 5));
  EXPECT_TRUE(std::isnan(sums[5]));
  EXPECT_THAT(std::vector(outputs[1].as<float>(), outputs[1].as<float>() + 5),
              ElementsAre(1, 1, 0, 2, 3));
  EXPECT_FLOAT_EQ(outputs[2].as<float>()[1], 1 + std::log(2.0f));
  EXPECT_FLOAT_EQ(outputs[2].as<float>()[2], std::log(2 * std::exp(1.0f) + 1));
  EXPECT_TRUE(std::isnan(outputs[3].as<float>()[5]));
  // The latest of equals.
  EXPECT_THAT(elements<std::int64_t>(outputs[4]), ElementsAre(0, 1, 1, 0, 1, 2));
}

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
  biased.bias = pool.select(hidden, pool.constant(DType::kFloat32, -double{kInfinity}),
                            pool.constant(DType::kFloat32, 0.0));
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

TEST_F(EvaluateTest, SortIsStableAndNaNIsLargest) {
  const ValueId x = input(DType::kFloat32, {4, 2});
  const auto sort = [&](bool descending) {
    const NodeId node =
        graph.add(Sort{0, descending}, {x}, {{DType::kFloat32, {4, 2}}, {DType::kInt64, {4, 2}}});
    returns({graph.node(node).outputs[0], graph.node(node).outputs[1]});
  };
  sort(false);
  sort(true);
  const auto outputs = run({floats({4, 2}, {2, kNaN, 1, 5, 2, 5, 0, -kInfinity})});
  EXPECT_THAT(elements<std::int64_t>(outputs[1]), ElementsAre(3, 3, 1, 1, 0, 2, 2, 0));
  EXPECT_THAT(elements<std::int64_t>(outputs[3]), ElementsAre(0, 0, 2, 1, 1, 2, 3, 3));
  EXPECT_EQ(outputs[0].as<float>()[0], 0);
  EXPECT_TRUE(std::isnan(outputs[2].as<float>()[1]));
}

TEST_F(EvaluateTest, TopK) {
  const ValueId x = input(DType::kInt32, {2, 4});
  const auto top = [&](bool largest) {
    const NodeId node =
        graph.add(TopK{1, largest, 2}, {x}, {{DType::kInt32, {2, 2}}, {DType::kInt64, {2, 2}}});
    returns({graph.node(node).outputs[0], graph.node(node).outputs[1]});
  };
  top(true);
  top(false);
  const auto outputs =
      run({tensor<std::int32_t>(DType::kInt32, {2, 4}, {3, 9, 1, 7, -1, -2, -3, -4})});
  EXPECT_THAT(elements<std::int32_t>(outputs[0]), ElementsAre(9, 7, -1, -2));
  EXPECT_THAT(elements<std::int64_t>(outputs[1]), ElementsAre(1, 3, 0, 1));
  EXPECT_THAT(elements<std::int32_t>(outputs[2]), ElementsAre(1, 3, -4, -3));
}

TEST_F(EvaluateTest, CompactDefinesItsCount) {
  const ValueId x = input(DType::kFloat32, {4});
  const ValueId mask = input(DType::kBool, {4});
  const SymbolRef count = make_symbol("u0", 0, 4, true);
  const ValueId positions = add(Compact{count}, {mask}, DType::kInt64, {Size::symbol(count)});
  const ExprId at[] = {element(positions)};
  returns({add(Map{pool.load(x, DType::kFloat32, at)}, {}, DType::kFloat32, {Size::symbol(count)}),
           add(Map{pool.size(Size::symbol(count) * Size(2))}, {}, DType::kInt64, {})});
  const Tensor data = floats({4}, {1, 2, 3, 4});
  const auto outputs = run({data, bools({4}, {false, true, false, true})});
  EXPECT_THAT(elements<float>(outputs[0]), ElementsAre(2, 4));
  EXPECT_EQ(*outputs[1].as<std::int64_t>(), 4);
  EXPECT_EQ(run({data, bools({4}, {false, false, false, false})})[0].elements(), 0);
}

TEST_F(EvaluateTest, ScatterInOrder) {
  const ValueId x = input(DType::kFloat32, {4});
  const ValueId i = input(DType::kInt64, {3});
  const ValueId v = input(DType::kFloat32, {3});
  const ValueId m = input(DType::kBool, {3});
  const auto scatter = [&](ScatterOp op, ExprId mask = kNoExpr) {
    return add(
        Scatter{op, {3}, {pool.check_index(element(i), IndexCheck{4})}, element(v), mask, false},
        {x}, DType::kFloat32, {4});
  };
  returns({scatter(ScatterOp::kAssign), scatter(ScatterOp::kAdd), scatter(ScatterOp::kMultiply),
           scatter(ScatterOp::kMax), scatter(ScatterOp::kAssign, element(m))});
  const Tensor base = floats({4}, {1, 2, 3, 4});
  const Tensor values = floats({3}, {10, -1, 20});
  const auto outputs = run({base, ints({3}, {0, -1, 0}), values, bools({3}, {true, false, false})});
  EXPECT_THAT(elements<float>(outputs[0]), ElementsAre(20, 2, 3, -1));
  EXPECT_THAT(elements<float>(outputs[1]), ElementsAre(31, 2, 3, 3));
  EXPECT_THAT(elements<float>(outputs[2]), ElementsAre(200, 2, 3, -4));
  EXPECT_THAT(elements<float>(outputs[3]), ElementsAre(20, 2, 3, 4));
  EXPECT_THAT(elements<float>(outputs[4]), ElementsAre(10, 2, 3, 4));
  EXPECT_THAT(elements<float>(base), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(
      try_run({base, ints({3}, {0, 4, 0}), values, bools({3}, {true, true, true})}).status().code(),
      StatusCode::kOutOfRange);
}

TEST_F(EvaluateTest, ScatterUnderAFalseMaskChecksNothing) {
  const ValueId x = input(DType::kFloat32, {2});
  const ValueId i = input(DType::kInt64, {2});
  const ValueId m = input(DType::kBool, {2});
  returns({add(Scatter{ScatterOp::kAssign,
                       {2},
                       {pool.check_index(element(i), IndexCheck{2})},
                       pool.constant(DType::kFloat32, 9.0),
                       element(m),
                       false},
               {x}, DType::kFloat32, {2})});
  EXPECT_THAT(
      elements<float>(run({floats({2}, {1, 2}), ints({2}, {5, 1}), bools({2}, {false, true})})[0]),
      ElementsAre(1, 9));
}

TEST_F(EvaluateTest, ScatterOfHalfTypesRoundsOnceIfAsked) {
  const ValueId x = input(DType::kBFloat16, {1});
  const auto scatter = [&](bool once) {
    return add(Scatter{ScatterOp::kAdd,
                       {4},
                       {integer(0)},
                       pool.constant(DType::kBFloat16, 0.5),
                       kNoExpr,
                       once},
               {x}, DType::kBFloat16, {1});
  };
  returns({scatter(false), scatter(true)});
  const auto outputs = run({tensor(DType::kBFloat16, {1}, {BFloat16(256.0f)})});
  EXPECT_EQ(static_cast<float>(*outputs[0].as<BFloat16>()), 256.0f);  // half a step, four times
  EXPECT_EQ(static_cast<float>(*outputs[1].as<BFloat16>()), 258.0f);
}

TEST_F(EvaluateTest, ItemsAndAssertions) {
  const ValueId n = input(DType::kInt64, {});
  const ValueId ok = input(DType::kBool, {});
  const SymbolRef u = make_symbol("u0", 0, kUnbounded, true);
  graph.origins = {"aten._assert_async.msg (check)"};
  graph.add(Item{u}, {n}, {});
  graph.add(Assert{less_equal(Size::symbol(u), 3), "too many"}, {}, {}, 0);
  graph.add(Assert{std::nullopt, "not ok"}, {ok}, {});
  returns({add(Map{pool.index(0)}, {}, DType::kInt64, {Size::symbol(u)})});
  EXPECT_THAT(elements<std::int64_t>(run({ints({}, {3}), bools({}, {true})})[0]),
              ElementsAre(0, 1, 2));
  const auto too_many = try_run({ints({}, {4}), bools({}, {true})});
  EXPECT_EQ(too_many.status().code(), StatusCode::kAborted);
  EXPECT_EQ(too_many.status().message(), "aten._assert_async.msg (check): too many");
  const auto not_ok = try_run({ints({}, {3}), bools({}, {false})});
  EXPECT_EQ(not_ok.status().code(), StatusCode::kAborted);
  EXPECT_THAT(not_ok.status().message(), HasSubstr("not ok"));
}

/// A graph of one input of each type that gives body(elements...).
std::shared_ptr<Graph> element_graph(
    std::vector<std::pair<DType, Shape>> inputs, DType dtype,
    const std::function<ExprId(ExprPool&, const std::vector<ExprId>&)>& body) {
  auto graph = std::make_shared<Graph>();
  std::vector<ExprId> loads;
  const Shape shape = inputs[0].second;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const NodeId node = graph->add(Input{static_cast<int>(i)}, {}, {inputs[i]});
    std::vector<ExprId> positions;
    for (std::size_t k = 0; k < inputs[i].second.size(); ++k) {
      positions.push_back(graph->pool.index(static_cast<int>(k)));
    }
    loads.push_back(graph->pool.load(graph->node(node).outputs[0], inputs[i].first, positions));
  }
  const NodeId node = graph->add(Map{body(graph->pool, loads)}, {}, {{dtype, shape}});
  graph->outputs.push_back({GraphOutput::Kind::kUser, graph->node(node).outputs[0], 0, {}});
  return graph;
}

TEST_F(EvaluateTest, BranchTakesOneSide) {
  const ValueId condition = input(DType::kBool, {});
  const SymbolRef n = make_symbol("n", 0, 100, false);
  const ValueId x = input(DType::kFloat32, {Size::symbol(n)});
  const auto scaled = [&](double factor) {
    return element_graph({{DType::kFloat32, {Size::symbol(n)}}}, DType::kFloat32,
                         [factor](ExprPool& p, const std::vector<ExprId>& loads) {
                           return p.binary(Op::kMultiply, loads[0],
                                           p.constant(DType::kFloat32, factor));
                         });
  };
  returns({add(Branch{std::nullopt, scaled(2), scaled(3)}, {condition, x}, DType::kFloat32,
               {Size::symbol(n)}),
           add(Branch{less(Size::symbol(n), 2), scaled(5), scaled(7)}, {x}, DType::kFloat32,
               {Size::symbol(n)})});
  const auto outputs = run({bools({}, {false}), floats({2}, {1, 2})});
  EXPECT_THAT(elements<float>(outputs[0]), ElementsAre(3, 6));
  EXPECT_THAT(elements<float>(outputs[1]), ElementsAre(7, 14));
  EXPECT_THAT(elements<float>(run({bools({}, {true}), floats({1}, {1})})[1]), ElementsAre(5));
}

TEST_F(EvaluateTest, WhileRunsUntilTheConditionFails) {
  const ValueId start = input(DType::kInt64, {});
  const ValueId limit = input(DType::kInt64, {});
  const std::vector<std::pair<DType, Shape>> types = {{DType::kInt64, {}}, {DType::kInt64, {}}};
  const auto condition = element_graph(types, DType::kBool, [](ExprPool& p, const auto& loads) {
    return p.binary(Op::kLess, loads[0], loads[1]);
  });
  const auto body = element_graph(types, DType::kInt64, [](ExprPool& p, const auto& loads) {
    return p.binary(Op::kMultiply, loads[0], p.constant(DType::kInt64, std::int64_t{2}));
  });
  returns({add(While{condition, body, 1}, {start, limit}, DType::kInt64, {})});
  EXPECT_EQ(*run({ints({}, {3}), ints({}, {20})})[0].as<std::int64_t>(), 24);
  EXPECT_EQ(*run({ints({}, {30}), ints({}, {20})})[0].as<std::int64_t>(), 30);
}

TEST_F(EvaluateTest, LoopCarriesAndStacks) {
  const ValueId start = input(DType::kFloat32, {});
  const ValueId rows = input(DType::kFloat32, {3});
  const ValueId factor = input(DType::kFloat32, {});
  const Shape scalar;
  auto body = element_graph(
      {{DType::kFloat32, scalar}, {DType::kFloat32, scalar}, {DType::kFloat32, scalar}},
      DType::kFloat32, [](ExprPool& p, const auto& loads) {
        return p.binary(Op::kAdd, p.binary(Op::kMultiply, loads[0], loads[2]), loads[1]);
      });
  body->outputs.push_back(body->outputs[0]);  // the carried value is also what is stacked
  const NodeId node = graph.add(Loop{body, 1, 1, 3}, {start, rows, factor},
                                {{DType::kFloat32, {}}, {DType::kFloat32, {3}}});
  returns({graph.node(node).outputs[0], graph.node(node).outputs[1]});
  const auto outputs = run({floats({}, {1}), floats({3}, {1, 2, 3}), floats({}, {10})});
  EXPECT_EQ(*outputs[0].as<float>(), 1123);
  EXPECT_THAT(elements<float>(outputs[1]), ElementsAre(11, 112, 1123));
}

TEST_F(EvaluateTest, ConstantsAndStates) {
  const ValueId w = add(Constant{0}, {}, DType::kFloat32, {2});
  const ValueId s = add(State{1}, {}, DType::kFloat32, {2});
  const ValueId sum =
      add(Map{pool.binary(Op::kAdd, element(w), element(s))}, {}, DType::kFloat32, {2});
  graph.outputs = {{GraphOutput::Kind::kState, sum, 1, {}}};
  const Tensor weight = floats({2}, {1, 2});
  const Tensor unused = floats({1}, {0});
  const Tensor state = floats({2}, {10, 20});
  EXPECT_THAT(elements<float>(run({}, {weight}, {unused, state})[0]), ElementsAre(11, 22));
  EXPECT_THAT(elements<float>(state), ElementsAre(10, 20));
  EXPECT_EQ(try_run({}, {}, {unused, state}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(try_run({}, {unused}, {unused, state}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(EvaluateTest, InputsMustFit) {
  const SymbolRef n = make_symbol("n", 1, 8, false);
  const ValueId x = input(DType::kFloat32, {Size::symbol(n), Size(2) * Size::symbol(n)});
  returns({x});
  const auto code = [&](const std::vector<Tensor>& inputs) {
    return try_run(inputs).status().code();
  };
  EXPECT_EQ(code({*Tensor::allocate(DType::kFloat32, {3, 6})}), StatusCode::kOk);
  EXPECT_EQ(code({}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({*Tensor::allocate(DType::kFloat64, {3, 6})}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({*Tensor::allocate(DType::kFloat32, {3})}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({*Tensor::allocate(DType::kFloat32, {9, 18})}), StatusCode::kInvalidArgument);
  const auto uneven = try_run({*Tensor::allocate(DType::kFloat32, {3, 5})});
  EXPECT_EQ(uneven.status().message(), "axis 1 of input 0 has size 5, not 2*n = 6");
}

TEST_F(EvaluateTest, InputsMayGiveASymbolByAnExpression) {
  const SymbolRef n = make_symbol("n", 1, 8, false);
  const ValueId x = input(DType::kFloat32, {Size(2) * Size::symbol(n) + Size(1)});
  returns({x, add(Map{pool.size(Size::symbol(n))}, {}, DType::kInt64, {})});
  EXPECT_EQ(*run({*Tensor::allocate(DType::kFloat32, {7})})[1].as<std::int64_t>(), 3);
  EXPECT_EQ(try_run({*Tensor::allocate(DType::kFloat32, {8})}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(EvaluateTest, ComplexTensorsAreReal) {
  const ValueId x = input(DType::kFloat32, {2, 2});
  returns({add(Map{element(x)}, {}, DType::kFloat32, {2, 2})});
  Tensor complex = *Tensor::allocate(DType::kComplex64, {2});
  const float parts[] = {1, 2, 3, 4};
  std::memcpy(complex.view().data, parts, sizeof(parts));
  EXPECT_THAT(elements<float>(run({complex})[0]), ElementsAre(1, 2, 3, 4));
}

TEST_F(EvaluateTest, LoadsOutsideAreDefectsNotCrashes) {
  const ValueId x = input(DType::kFloat32, {3});
  const ValueId i = input(DType::kInt64, {1});
  const ExprId positions[] = {element(i)};
  returns({add(Map{pool.load(x, DType::kFloat32, positions)}, {}, DType::kFloat32, {1})});
  EXPECT_EQ(try_run({floats({3}, {1, 2, 3}), ints({1}, {3})}).status().code(),
            StatusCode::kInternal);
  EXPECT_EQ(try_run({floats({3}, {1, 2, 3}), ints({1}, {std::numeric_limits<std::int64_t>::min()})})
                .status()
                .code(),
            StatusCode::kInternal);
}

}  // namespace
}  // namespace tendon::ir
