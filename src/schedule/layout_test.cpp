// Which order of axes in memory spares a kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/schedule.h"

namespace tendon::schedule {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Layout, TheProductAfterAnAttentionReadsItWhereItIs) {
  ir::Graph graph;
  const auto input = [&](const ir::Shape& shape) {
    const auto index = static_cast<int>(graph.inputs.size());
    graph.inputs.push_back(
        graph.node(graph.add(ir::Input{index}, {}, {{DType::kFloat32, shape}})).outputs[0]);
    return graph.inputs.back();
  };
  const ir::ValueId q = input({1, 3, 7, 4}), k = input({1, 3, 5, 4}), v = input({1, 3, 5, 4});
  const ir::ValueId weight = input({12, 6});
  const ir::NodeId attention =
      graph.add(ir::Attention{}, {q, k, v}, {{DType::kFloat32, {1, 3, 7, 4}}});
  // The heads of a query become one row.
  ir::ExprPool& pool = graph.pool;
  pool.set_extents(ir::Shape{7, 12});
  const ir::ExprId head = pool.binary(ir::Op::kFloorDivide, pool.index(1), pool.size(4));
  const ir::ExprId column = pool.binary(ir::Op::kRemainder, pool.index(1), pool.size(4));
  const ir::ExprId row =
      pool.load(graph.node(attention).outputs[0], DType::kFloat32,
                std::vector<ir::ExprId>{pool.size(0), head, pool.index(0), column});
  const ir::NodeId rows = graph.add(ir::Map{row}, {}, {{DType::kFloat32, {7, 12}}});
  const ir::NodeId product =
      graph.add(ir::Matmul{}, {graph.node(rows).outputs[0], weight}, {{DType::kFloat32, {7, 6}}});
  graph.outputs.push_back({ir::GraphOutput::Kind::kUser, graph.node(product).outputs[0], 0, {}});

  const auto plan = make_plan(std::make_shared<const ir::Graph>(graph), {});
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ((*plan)->steps.size(), 2u);
  EXPECT_THAT((*plan)->to_string(), HasSubstr("float32[1, 3, 7, 4] strides [84, 4, 12, 1]"));
  EXPECT_THAT((*plan)->to_string(), Not(HasSubstr("loop")));
}

}  // namespace
}  // namespace tendon::schedule
