// Attention in blocks, against the plain evaluator.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "backends/cpu/test_graph_runner.h"
#include "backends/cpu/test_graphs.h"
#include "ir/evaluate.h"

namespace tendon::backends::cpu {
namespace {

struct AttentionCase {
  std::int64_t batch = 2, heads = 4, groups = 2, queries = 5, keys = 7, depth = 8, width = 6;
  ir::Attention attention;
  /// What is added to the scores; nothing: no bias.
  std::function<float(std::int64_t query, std::int64_t key)> bias;
  /// Makes the scores from accumulator() and indices; nothing: they are the products.
  std::function<ir::ExprId(ir::ExprPool&)> score;
  /// So many keys, the first, are not numbers.
  std::int64_t hidden_keys = 0;
};

void expect_as_evaluated(AttentionCase c) {
  TestGraph g;
  const ir::Size batch = c.batch, heads = c.heads, groups = c.groups;
  const ir::ValueId q = g.input(DType::kFloat32, {batch, heads, c.queries, c.depth});
  const ir::ValueId k = g.input(DType::kFloat32, {batch, groups, c.keys, c.depth});
  const ir::ValueId v = g.input(DType::kFloat32, {batch, groups, c.keys, c.width});
  std::vector<Tensor> inputs;
  inputs.push_back(random_tensor(DType::kFloat32, {c.batch, c.heads, c.queries, c.depth}, 1));
  inputs.push_back(random_tensor(DType::kFloat32, {c.batch, c.groups, c.keys, c.depth}, 2));
  inputs.push_back(random_tensor(DType::kFloat32, {c.batch, c.groups, c.keys, c.width}, 3));
  std::fill_n(inputs[1].as<float>(), c.hidden_keys * c.depth,
              std::numeric_limits<float>::quiet_NaN());
  if (c.bias) {
    const ir::ValueId bias = g.input(DType::kFloat32, {c.queries, c.keys});
    g.graph.pool.set_extents(ir::Shape{batch, heads, c.queries, c.keys});
    const Positions at = g.positions(4);
    c.attention.score = g.graph.pool.binary(ir::Op::kAdd, g.graph.pool.accumulator(DType::kFloat32),
                                            g.load(bias, {at[2], at[3]}));
    Tensor values = *Tensor::allocate(DType::kFloat32, {c.queries, c.keys});
    for (std::int64_t i = 0; i < c.queries * c.keys; ++i)
      values.as<float>()[i] = c.bias(i / c.keys, i % c.keys);
    inputs.push_back(std::move(values));
  }
  if (c.score) {
    g.graph.pool.set_extents(ir::Shape{batch, heads, c.queries, c.keys});
    c.attention.score = c.score(g.graph.pool);
  }
  const ir::NodeId node =
      g.graph.add(c.attention, {q, k, v}, {{DType::kFloat32, {batch, heads, c.queries, c.width}}});
  g.output(g.graph.node(node).outputs[0]);

  std::vector<TensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
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
    const float x = result.as<float>()[i], y = wanted.as<float>()[i];
    if (std::isnan(y)) {
      EXPECT_TRUE(std::isnan(x)) << "element " << i;
    } else {
      EXPECT_NEAR(x, y, 1e-5f) << "element " << i;
    }
  }
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(AttentionStep, WalksOverBlocksOfQueriesAndKeys) {
  expect_as_evaluated({});
  AttentionCase large;
  large.queries = 70;
  large.keys = 1100;
  expect_as_evaluated(large);
}

TEST(AttentionStep, MasksRows) {
  AttentionCase c;
  c.bias = [](std::int64_t query, std::int64_t key) {
    return query == 2 || key == 3 ? -kInfinity : 0.5f * static_cast<float>(key);
  };
  expect_as_evaluated(c);  // row 2 is not a number
  c.attention.zero_masked_rows = true;
  expect_as_evaluated(c);
}

TEST(AttentionStep, WhatAMaskReplacesNeverMatters) {
  AttentionCase c;
  c.batch = c.groups = 1;
  c.keys = 600;  // more than one block, of which the first is hidden whole
  c.hidden_keys = 550;
  c.score = [&](ir::ExprPool& pool) {
    const ir::ExprId hidden =
        pool.binary(ir::Op::kLess, pool.index(3), pool.constant(DType::kInt64, c.hidden_keys));
    // As large as it gets, but finite: where all is hidden, every key counts the same.
    return pool.select(hidden, pool.constant(DType::kFloat32, -3e38),
                       pool.accumulator(DType::kFloat32));
  };
  expect_as_evaluated(c);
  c.hidden_keys = 600;
  expect_as_evaluated(c);
}

TEST(AttentionStep, IsCausal) {
  AttentionCase c;
  c.attention.causal = true;
  c.attention.causal_offset = -2;
  c.attention.zero_masked_rows = true;
  expect_as_evaluated(c);
}

TEST(AttentionStep, WithoutKeysIsZero) {
  AttentionCase c;
  c.keys = 0;
  expect_as_evaluated(c);
}

}  // namespace
}  // namespace tendon::backends::cpu
