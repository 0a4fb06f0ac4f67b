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

}  // namespace
}  // namespace tendon::backends::cpu
