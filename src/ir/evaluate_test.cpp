#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "ir/evaluate_test_graph.h"
#include "ir/philox.h"

namespace tendon::ir {
namespace {

using ::testing::ElementsAre;

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
