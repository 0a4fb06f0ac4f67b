// What kernels compute, on the host, against the plain evaluator.
#include <gtest/gtest.h>

#include "backends/cpu/test_graphs.h"
#include "backends/cuda/test_emulator.h"
#include "base/half.h"
#include "ir/evaluate.h"

namespace tendon::backends::cuda {
namespace {

using cpu::Positions;
using cpu::random_tensor;
using cpu::TestGraph;

double element(const Tensor& tensor, std::int64_t i) {
  switch (tensor.dtype()) {
    case DType::kFloat32:
      return tensor.as<float>()[i];
    case DType::kFloat64:
      return tensor.as<double>()[i];
    case DType::kBFloat16:
      return static_cast<float>(std::bit_cast<BFloat16>(tensor.as<std::uint16_t>()[i]));
    default:
      return static_cast<double>(tensor.as<std::int64_t>()[i]);
  }
}

void expect_near(const Tensor& result, const Tensor& expected, double tolerance) {
  ASSERT_EQ(result.dtype(), expected.dtype());
  ASSERT_EQ(result.sizes(), expected.sizes());
  for (std::int64_t i = 0; i < element_count(expected.sizes()); ++i) {
    const double right = element(expected, i);
    ASSERT_NEAR(element(result, i), right, tolerance * (1 + std::abs(right))) << "element " << i;
  }
}

/// Runs the graph both ways, with the first and with the last thread of a block running first.
void expect_evaluated(TestGraph& test, std::vector<Tensor> inputs, double tolerance) {
  std::vector<TensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  const auto expected = ir::evaluate(test.graph, views);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  auto emulated = EmulatedGraph::make(std::move(test.graph));
  ASSERT_TRUE(emulated.ok()) << emulated.status().to_string();
  for (const bool backwards : {false, true}) {
    SCOPED_TRACE(backwards ? "backwards" : "forwards");
    const auto results = (*emulated)->run(inputs, backwards);
    ASSERT_TRUE(results.ok()) << results.status().to_string();
    ASSERT_EQ(results->size(), expected->tensors.size());
    for (std::size_t i = 0; i < results->size(); ++i)
      expect_near((*results)[i], expected->tensors[i], tolerance);
  }
}

TEST(KernelResults, ProductsOfManyShapes) {
  TestGraph test;
  std::vector<Tensor> inputs;
  for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{
           {70, 33, 65}, {5, 40, 70}, {1, 64, 300}, {300, 20, 3}}) {
    const ir::ValueId a = test.input(DType::kFloat32, {2, m, k});
    const ir::ValueId b = test.input(DType::kFloat32, {2, k, n});
    inputs.push_back(random_tensor(DType::kFloat32, {2, m, k}, 1));
    inputs.push_back(random_tensor(DType::kFloat32, {2, k, n}, 2));
    const ir::NodeId product = test.graph.add(ir::Matmul{}, {a, b}, {{DType::kFloat32, {2, m, n}}});
    test.output(test.graph.node(product).outputs[0]);
  }
  expect_evaluated(test, std::move(inputs), 1e-5);
}

/// [2, channels, 9, 8] by [out, channels / groups, 3, 2].
void expect_convolution(ir::Conv conv, DType dtype, std::int64_t channels, std::int64_t out,
                        double tolerance) {
  TestGraph test;
  const std::int64_t g = conv.groups;
  const Sizes x_sizes = {2, channels, 9, 8};
  const Sizes w_sizes =
      conv.transposed ? Sizes{channels, out / g, 3, 2} : Sizes{out, channels / g, 3, 2};
  Sizes y_sizes = {2, out};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t window = conv.dilation[axis] * (w_sizes[axis + 2] - 1) + 1;
    const std::int64_t padding =
        conv.padding_before[axis].constant() + conv.padding_after[axis].constant();
    const std::int64_t size = x_sizes[axis + 2];
    y_sizes.push_back(conv.transposed ? (size - 1) * conv.stride[axis] + window - padding
                                      : (size + padding - window) / conv.stride[axis] + 1);
  }
  const auto shape = [](const Sizes& sizes) { return ir::Shape(sizes.begin(), sizes.end()); };
  const ir::ValueId x = test.input(dtype, shape(x_sizes));
  const ir::ValueId w = test.input(dtype, shape(w_sizes));
  const ir::ValueId bias = test.input(dtype, {out});
  test.graph.pool.set_extents(shape(y_sizes));
  ir::ExprPool& pool = test.graph.pool;
  const DType sum = dtype == DType::kFloat64 ? dtype : DType::kFloat32;
  conv.epilogue =
      pool.cast(dtype, pool.binary(ir::Op::kAdd, pool.accumulator(sum),
                                   pool.cast(sum, test.load(bias, {test.positions(2)[1]}))));
  const ir::NodeId node = test.graph.add(conv, {x, w}, {{dtype, shape(y_sizes)}});
  test.output(test.graph.node(node).outputs[0]);
  expect_evaluated(test,
                   {random_tensor(dtype, x_sizes, 1), random_tensor(dtype, w_sizes, 2),
                    random_tensor(dtype, {out}, 3)},
                   tolerance);
}

TEST(KernelResults, Convolution) {
  ir::Conv conv;
  conv.stride = {2, 1};
  conv.dilation = {1, 2};
  conv.padding_before = {1, 2};
  conv.padding_after = {1, 1};
  expect_convolution(conv, DType::kFloat32, 12, 70, 1e-5);
  conv.groups = 3;
  expect_convolution(conv, DType::kBFloat16, 12, 6, 1e-2);
}

TEST(KernelResults, TransposedConvolution) {
  ir::Conv conv;
  conv.transposed = true;
  conv.stride = {2, 3};
  conv.dilation = {1, 2};
  conv.padding_before = {1, 2};
  conv.padding_after = {1, 1};
  conv.groups = 2;
  expect_convolution(conv, DType::kFloat64, 8, 6, 1e-12);
}

TEST(KernelResults, Attention) {
  TestGraph test;
  const ir::ValueId q = test.input(DType::kFloat32, {1, 4, 37, 24});
  const ir::ValueId k = test.input(DType::kFloat32, {1, 2, 71, 24});
  const ir::ValueId v = test.input(DType::kFloat32, {1, 2, 71, 40});
  ir::Attention attention;
  attention.scale = 0.2;
  attention.causal = true;
  attention.causal_offset = 34;
  const ir::NodeId node = test.graph.add(attention, {q, k, v}, {{DType::kFloat32, {1, 4, 37, 40}}});
  test.output(test.graph.node(node).outputs[0]);
  expect_evaluated(test,
                   {random_tensor(DType::kFloat32, {1, 4, 37, 24}, 1),
                    random_tensor(DType::kFloat32, {1, 2, 71, 24}, 2),
                    random_tensor(DType::kFloat32, {1, 2, 71, 40}, 3)},
                   1e-5);
}

TEST(KernelResults, MaskReadsThenProducts) {
  TestGraph test;
  const ir::ValueId mask = test.input(DType::kBool, {50});
  const auto count = std::make_shared<ir::Symbol>(ir::Symbol{"u0", 0, 50, true});
  const ir::Size selected = ir::Size::symbol(count);
  const ir::NodeId compact =
      test.graph.add(ir::Compact{count}, {mask}, {{DType::kInt64, {selected}}});
  const ir::ValueId positions = test.graph.node(compact).outputs[0];
  const ir::ValueId x = test.input(DType::kFloat32, {50, 32});
  const ir::ValueId taken = test.map({selected, 32}, [&](const Positions& at) {
    return test.load(x, {test.load(positions, {at[0]}), at[1]});
  });
  const ir::ValueId weight = test.input(DType::kFloat32, {32, 24});
  const ir::NodeId product =
      test.graph.add(ir::Matmul{}, {taken, weight}, {{DType::kFloat32, {selected, 24}}});
  test.output(test.graph.node(product).outputs[0]);
  test.output(test.reduce(ir::ReduceOp::kSum, {24}, {selected}, [&](const Positions& at) {
    return test.load(test.graph.node(product).outputs[0], {at[1], at[0]});
  })[0]);
  expect_evaluated(
      test,
      {random_tensor(DType::kBool, {50}, 1), random_tensor(DType::kFloat32, {50, 32}, 2),
       random_tensor(DType::kFloat32, {32, 24}, 3)},
      1e-5);
}

}  // namespace
}  // namespace tendon::backends::cuda
