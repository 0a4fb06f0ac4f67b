// Matrix products of unusual sizes, against the plain evaluator.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "backends/cpu/test_graph_runner.h"
#include "backends/cpu/test_graphs.h"
#include "ir/evaluate.h"

namespace tendon::backends::cpu {
namespace {

/// [3, inner] by [inner, 4], plus a bias for each column and a residual where asked for.
void expect_as_evaluated(std::int64_t inner, bool residual) {
  TestGraph g;
  const ir::ValueId x = g.input(DType::kFloat32, {3, inner});
  const ir::ValueId y = g.input(DType::kFloat32, {inner, 4});
  const ir::ValueId bias = g.input(DType::kFloat32, {4});
  std::vector<Tensor> inputs;
  inputs.push_back(random_tensor(DType::kFloat32, {3, inner}, 1));
  inputs.push_back(random_tensor(DType::kFloat32, {inner, 4}, 2));
  inputs.push_back(random_tensor(DType::kFloat32, {4}, 3));
  ir::ValueId other = -1;
  if (residual) {
    other = g.input(DType::kFloat32, {3, 4});
    inputs.push_back(random_tensor(DType::kFloat32, {3, 4}, 4));
  }
  g.graph.pool.set_extents(ir::Shape{3, 4});
  const Positions at = g.positions(2);
  ir::ExprId epilogue = g.graph.pool.binary(ir::Op::kAdd, g.graph.pool.accumulator(DType::kFloat32),
                                            g.load(bias, {at[1]}));
  if (residual) epilogue = g.graph.pool.binary(ir::Op::kAdd, epilogue, g.load(other, at));
  const ir::NodeId node =
      g.graph.add(ir::Matmul{epilogue}, {x, y}, {{DType::kFloat32, ir::Shape{3, 4}}});
  g.output(g.graph.node(node).outputs[0]);

  std::vector<TensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  const auto expected = ir::evaluate(g.graph, views);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  auto runner = GraphRunner::make(g.graph, 1);
  ASSERT_TRUE(runner.ok()) << runner.status().to_string();
  const auto results = (*runner)->run(std::move(inputs));
  ASSERT_TRUE(results.ok()) << results.status().to_string();
  for (std::int64_t i = 0; i < 12; ++i) {
    EXPECT_NEAR((*results)[0].as<float>()[i], expected->tensors[0].as<float>()[i], 1e-5f)
        << "element " << i;
  }
}

TEST(MatmulStep, AddsWhatFollowsTheProduct) {
  expect_as_evaluated(5, false);
  expect_as_evaluated(5, true);
}

// As where a mask selects nothing.
TEST(MatmulStep, SumsOfNothingAreZeroBeforeWhatFollows) {
  expect_as_evaluated(0, false);
  expect_as_evaluated(0, true);
}

/// Few rows, read with a stride, by a constant weight; half the products go through a sigmoid.
void expect_few_rows_as_evaluated(std::int64_t rows, bool sigmoid) {
  constexpr std::int64_t kInner = 70, kColumns = 130;
  TestGraph g;
  const ir::ValueId x = g.input(DType::kFloat32, {rows, 2 * kInner});
  const ir::ValueId weight =
      g.graph.node(g.graph.add(ir::Constant{0}, {}, {{DType::kFloat32, {kInner, kColumns}}}))
          .outputs[0];
  const ir::ValueId part = g.map({rows, kInner}, [&](const Positions& at) {
    return g.load(x, {at[0], at[1]});
  });
  g.graph.pool.set_extents(ir::Shape{rows, kColumns});
  const ir::ExprId sum = g.graph.pool.accumulator(DType::kFloat32);
  const ir::ExprId epilogue = sigmoid ? g.graph.pool.unary(ir::Op::kSigmoid, sum) : ir::kNoExpr;
  g.output(g.graph
               .node(g.graph.add(ir::Matmul{epilogue}, {part, weight},
                                 {{DType::kFloat32, {rows, kColumns}}}))
               .outputs[0]);
  std::vector<Tensor> inputs, constants;
  inputs.push_back(random_tensor(DType::kFloat32, {rows, 2 * kInner}, 1));
  constants.push_back(random_tensor(DType::kFloat32, {kInner, kColumns}, 2));
  const auto expected =
      ir::evaluate(g.graph, std::vector{inputs[0].view()}, std::vector{constants[0].view()}, {});
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  auto runner = GraphRunner::make(g.graph, 2, std::move(constants));
  ASSERT_TRUE(runner.ok()) << runner.status().to_string();
  const auto results = (*runner)->run(std::move(inputs));
  ASSERT_TRUE(results.ok()) << results.status().to_string();
  for (std::int64_t i = 0; i < rows * kColumns; ++i) {
    EXPECT_NEAR((*results)[0].as<float>()[i], expected->tensors[0].as<float>()[i], 1e-4f)
        << "element " << i;
  }
}

TEST(MatmulStep, MultipliesFewRowsByAWeight) {
  expect_few_rows_as_evaluated(50, false);
  expect_few_rows_as_evaluated(50, true);
  expect_few_rows_as_evaluated(1, false);
}

}  // namespace
}  // namespace tendon::backends::cpu
