// Order, scatters, sizes from data and control flow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/half.h"
#include "ir/evaluate_test_graph.h"

namespace tendon::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

TEST_F(EvaluateTest, SortThatNeedNotBeStableIsTheStandardLibrarys) {
  // Zeros alone: a stable sort would leave the positions as they are.
  const ValueId x = input(DType::kUInt8, {40});
  const NodeId node = graph.add(Sort{.axis = 0, .stable = false}, {x},
                                {{DType::kUInt8, {40}}, {DType::kInt64, {40}}});
  returns({graph.node(node).outputs[1]});
  const Tensor zeros = *Tensor::allocate(DType::kUInt8, {40});
  std::fill_n(zeros.as<std::uint8_t>(), 40, std::uint8_t{0});
  const auto outputs = run({zeros});
  std::vector<std::int64_t> expected(40);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_NE(elements<std::int64_t>(outputs[0]), expected);
  std::sort(expected.begin(), expected.end(), [](std::int64_t, std::int64_t) { return false; });
  EXPECT_EQ(elements<std::int64_t>(outputs[0]), expected);
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
  const auto evaluated = try_run({data, bools({4}, {true, true, false, true})});
  ASSERT_TRUE(evaluated.ok());
  EXPECT_EQ(evaluated->symbols.at(count.get()), 3);
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

}  // namespace
}  // namespace tendon::ir
