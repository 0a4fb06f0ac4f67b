#include "schedule/arithmetic.h"

#include <gtest/gtest.h>

#include "schedule/schedule.h"

namespace tendon::schedule {
namespace {

using ir::Size;

/// A graph of float32 products whose every node's output is an output.
class Products : public ::testing::Test {
 protected:
  ir::ValueId input(const ir::Shape& shape) {
    const auto index = static_cast<int>(graph_.inputs.size());
    const ir::NodeId node = graph_.add(ir::Input{index}, {}, {{DType::kFloat32, shape}});
    graph_.inputs.push_back(graph_.node(node).outputs[0]);
    return graph_.inputs.back();
  }
  void returns(ir::Primitive primitive, std::vector<ir::ValueId> inputs, const ir::Shape& shape) {
    const ir::NodeId node =
        graph_.add(std::move(primitive), std::move(inputs), {{DType::kFloat32, shape}});
    const auto index = static_cast<int>(graph_.outputs.size());
    graph_.outputs.push_back(
        {ir::GraphOutput::Kind::kUser, graph_.node(node).outputs[0], index, {}});
  }
  Size operations() {
    separate_outputs(graph_);
    const auto plan = make_plan(std::make_shared<const ir::Graph>(graph_), {});
    EXPECT_TRUE(plan.ok()) << plan.status().to_string();
    return product_operations(**plan);
  }

  ir::Graph graph_;
};

TEST_F(Products, AMatrixProductMultipliesAndAdds) {
  returns(ir::Matmul{}, {input({7, 2, 3}), input({7, 3, 5})}, {7, 2, 5});
  EXPECT_EQ(operations(), Size(2 * 7 * 2 * 3 * 5));
}

TEST_F(Products, AConvolutionSumsItsWindowOverTheChannelsOfAGroup) {
  ir::Conv conv;
  conv.stride = conv.dilation = {1};
  conv.padding_before = conv.padding_after = {1};
  conv.groups = 2;
  returns(conv, {input({1, 8, 10}), input({6, 4, 3})}, {1, 6, 10});
  EXPECT_EQ(operations(), Size(2 * 6 * 10 * 4 * 3));
}

TEST_F(Products, ATransposedConvolutionSpreadsItsInput) {
  ir::Conv conv;
  conv.stride = {2};
  conv.dilation = {1};
  conv.padding_before = conv.padding_after = {0};
  conv.transposed = true;
  returns(conv, {input({1, 8, 10}), input({8, 6, 2})}, {1, 6, 20});
  EXPECT_EQ(operations(), Size(2 * 8 * 10 * 6 * 2));
}

TEST_F(Products, AttentionIsTwoProductsAQueryHead) {
  returns(ir::Attention{}, {input({4, 9, 16}), input({2, 11, 16}), input({2, 11, 8})}, {4, 9, 8});
  EXPECT_EQ(operations(), Size(2 * 4 * 9 * 11 * (16 + 8)));
}

TEST_F(Products, StepsAddUp) {
  const ir::ValueId a = input({2, 3}), b = input({3, 5});
  returns(ir::Matmul{}, {a, b}, {2, 5});
  returns(ir::Matmul{}, {b, input({5, 1})}, {3, 1});
  EXPECT_EQ(operations(), Size(2 * 2 * 3 * 5 + 2 * 3 * 5));
}

}  // namespace
}  // namespace tendon::schedule
