#include "ir/dependencies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tendon::ir {
namespace {

using ::testing::ElementsAre;

class DependenciesTest : public ::testing::Test {
 protected:
  ValueId output(NodeId id) { return graph.node(id).outputs[0]; }
  ValueId input(int index, DType dtype, Shape shape) {
    return output(graph.add(Input{index}, {}, {{dtype, std::move(shape)}}));
  }
  /// A map whose body is op(value[i...]).
  ValueId map(Op op, ValueId value) {
    const Shape shape = graph.value(value).shape;
    graph.pool.set_extents(shape);
    std::vector<ExprId> index;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      index.push_back(graph.pool.index(static_cast<int>(k)));
    }
    const DType dtype = graph.value(value).dtype;
    const ExprId body = graph.pool.unary(op, graph.pool.load(value, dtype, index));
    return output(graph.add(Map{body}, {}, {{dtype, shape}}));
  }
  void result(ValueId value, int index = 0) {
    graph.outputs.push_back({GraphOutput::Kind::kUser, value, index, {}});
  }
  static std::vector<std::string> names(const Graph& g) {
    std::vector<std::string> result;
    for (const Node& node : g.nodes) result.emplace_back(primitive_name(node.primitive));
    return result;
  }

  Graph graph;
};

TEST_F(DependenciesTest, DropsWhatNobodyReads) {
  const ValueId x = input(0, DType::kFloat32, {Size(4)});
  const ValueId unused = map(Op::kExp, x);
  map(Op::kLog, unused);
  const ValueId used = map(Op::kSqrt, x);
  result(map(Op::kNegate, used));
  const std::string before = graph.to_string();
  const Graph after = compacted(graph);
  EXPECT_EQ(verify(after), std::nullopt);
  EXPECT_EQ(graph.to_string(), before);

  graph = Graph();
  const ValueId y = input(0, DType::kFloat32, {Size(4)});
  result(map(Op::kNegate, map(Op::kSqrt, y)));
  EXPECT_EQ(after.to_string(), graph.to_string());
  EXPECT_NE(after.to_string(), before);
  // Nothing more to do.
  EXPECT_EQ(compacted(after).to_string(), after.to_string());
}

TEST_F(DependenciesTest, KeepsTheInterfaceUnlessToldOtherwise) {
  input(0, DType::kFloat32, {Size(4)});
  const ValueId x = input(1, DType::kFloat32, {Size(4)});
  const ValueId flag = input(2, DType::kBool, {});
  graph.add(Assert{std::nullopt, "must hold"}, {flag}, {});
  result(map(Op::kExp, x));
  EXPECT_THAT(names(compacted(graph)), ElementsAre("input", "input", "input", "assert", "map"));
  EXPECT_THAT(compacted(graph).inputs, ::testing::SizeIs(3));
  EXPECT_THAT(names(compacted(graph, Keep::kOutputs)), ElementsAre("input", "map"));
}

TEST_F(DependenciesTest, KeepsTheNodesThatDefineSizes) {
  const auto count = std::make_shared<const Symbol>(Symbol{"u0", 0, 4, true, {}});
  const auto number = std::make_shared<const Symbol>(Symbol{"u1", 0, 4, true, {}});
  const auto idle = std::make_shared<const Symbol>(Symbol{"u2", 0, 4, true, {}});
  const ValueId mask = input(0, DType::kBool, {Size(4)});
  const ValueId scalar = input(1, DType::kInt64, {});
  const ValueId x = input(2, DType::kFloat32, {Size(4)});
  const ValueId positions =
      output(graph.add(Compact{count}, {mask}, {{DType::kInt64, {Size::symbol(count)}}}));
  graph.add(Item{number}, {scalar}, {});
  graph.add(Item{idle}, {scalar}, {});
  // A shape that needs u0, and a body that needs u1.
  const Shape shape{Size::symbol(count)};
  graph.pool.set_extents(shape);
  const ExprId at[] = {graph.pool.check_index(
      graph.pool.load(positions, DType::kInt64, std::vector<ExprId>{graph.pool.index(0)}),
      {Size::symbol(number)})};
  const ExprId body = graph.pool.load(x, DType::kFloat32, at);
  result(output(graph.add(Map{body}, {}, {{DType::kFloat32, shape}})));
  const Graph after = compacted(graph);
  EXPECT_EQ(verify(after), std::nullopt);
  EXPECT_THAT(names(after), ElementsAre("input", "input", "input", "compact", "item", "map"));
  EXPECT_EQ(symbol_definitions(after).size(), 2u);
}

TEST_F(DependenciesTest, RestoresTheOrder) {
  const ValueId x = input(0, DType::kFloat32, {Size(4)});
  const ValueId root = map(Op::kSqrt, x);
  const NodeId last = graph.value(map(Op::kNegate, root)).node;
  result(graph.node(last).outputs[0]);
  // A pass appends what an earlier node shall read.
  const ValueId appended = map(Op::kExp, x);
  graph.pool.set_extents(graph.value(root).shape);
  const ExprId index[] = {graph.pool.index(0)};
  std::get<Map>(graph.nodes[static_cast<std::size_t>(last)].primitive).body =
      graph.pool.unary(Op::kNegate, graph.pool.load(appended, DType::kFloat32, index));
  EXPECT_NE(verify(graph), std::nullopt);
  const Graph after = compacted(graph);
  EXPECT_EQ(verify(after), std::nullopt);
  EXPECT_THAT(names(after), ElementsAre("input", "map", "map"));
}

TEST_F(DependenciesTest, ReadersAreListedOnce) {
  const ValueId x = input(0, DType::kFloat32, {Size(4)});
  graph.pool.set_extents(std::vector<Size>{Size(4)});
  const ExprId at[] = {graph.pool.index(0)};
  const ExprId reversed[] = {graph.pool.binary(
      Op::kSubtract, graph.pool.constant(DType::kInt64, std::int64_t{3}), graph.pool.index(0))};
  const ExprId body = graph.pool.binary(Op::kAdd, graph.pool.load(x, DType::kFloat32, at),
                                        graph.pool.load(x, DType::kFloat32, reversed));
  const NodeId sum = graph.add(Map{body}, {}, {{DType::kFloat32, {Size(4)}}});
  const NodeId root = graph.value(map(Op::kExp, x)).node;
  result(output(sum));
  EXPECT_THAT(readers(graph)[static_cast<std::size_t>(x)], ElementsAre(sum, root));
  EXPECT_THAT(readers(graph)[static_cast<std::size_t>(output(sum))], ElementsAre());
  EXPECT_THAT(output_values(graph), ElementsAre(false, true, false));
}

}  // namespace
}  // namespace tendon::ir
