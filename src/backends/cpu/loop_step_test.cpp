// Fused kernels whose tiles take several rows, against the plain evaluator.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "backends/cpu/test_graph_runner.h"
#include "backends/cpu/test_graphs.h"
#include "ir/evaluate.h"

namespace tendon::backends::cpu {
namespace {

/// The largest of each 3 x 3 window in steps of 2, padded by 1, from channels that lie innermost:
/// rows of that many elements, under masks that hold or fail for rows, and positions that move
/// within a tile or stay.
void expect_pooled_as_evaluated(std::int64_t height, std::int64_t width, std::int64_t channels) {
  TestGraph g;
  const ir::ValueId x = g.input(DType::kFloat32, {height, width, channels});
  const ir::Shape pooled = {(height - 1) / 2 + 1, (width - 1) / 2 + 1, channels};
  const ir::ValueId largest = g.reduce(ir::ReduceOp::kMax, pooled, {3, 3}, [&](const Positions& i) {
    ir::ExprPool& pool = g.graph.pool;
    const auto position = [&](std::size_t axis, std::size_t window) {
      return pool.binary(
          ir::Op::kSubtract,
          pool.binary(ir::Op::kAdd, pool.binary(ir::Op::kMultiply, i[axis], g.integer(2)),
                      i[window]),
          g.integer(1));
    };
    const auto inside = [&](ir::ExprId at, std::int64_t extent) {
      return pool.binary(ir::Op::kAnd, pool.binary(ir::Op::kLessEqual, g.integer(0), at),
                         pool.binary(ir::Op::kLess, at, g.integer(extent)));
    };
    const ir::ExprId row = position(0, 3), column = position(1, 4);
    const ir::ExprId mask = pool.binary(ir::Op::kAnd, inside(row, height), inside(column, width));
    const Positions at = {row, column, i[2]};
    return pool.select(mask, pool.masked_load(x, DType::kFloat32, mask, at),
                       g.number(DType::kFloat32, -100));
  })[0];
  g.output(largest);

  std::vector<Tensor> inputs;
  inputs.push_back(random_tensor(DType::kFloat32, {height, width, channels}, 1));
  const std::vector<TensorView> views = {inputs[0].view()};
  const auto expected = ir::evaluate(g.graph, views);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  auto runner = GraphRunner::make(g.graph, 2);
  ASSERT_TRUE(runner.ok()) << runner.status().to_string();
  const auto results = (*runner)->run(std::move(inputs));
  ASSERT_TRUE(results.ok()) << results.status().to_string();
  const Tensor& result = (*results)[0];
  const Tensor& wanted = expected->tensors[0];
  ASSERT_EQ(result.elements(), wanted.elements());
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    ASSERT_EQ(result.as<float>()[i], wanted.as<float>()[i])
        << "element " << i << " of " << height << " x " << width << " x " << channels;
  }
}

TEST(LoopStep, TilesOfSeveralRowsKeepEveryAxisInPlace) {
  expect_pooled_as_evaluated(13, 40, 64);
  expect_pooled_as_evaluated(40, 13, 100);
  expect_pooled_as_evaluated(60, 5, 33);
  expect_pooled_as_evaluated(9, 9, 300);
}

}  // namespace
}  // namespace tendon::backends::cpu
