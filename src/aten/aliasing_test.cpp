#include "aten/aliasing.h"

#include <gtest/gtest.h>

#include "aten/lower.h"
#include "ir/evaluate.h"

namespace tendon::aten {
namespace {

bool viewable(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
              std::vector<std::int64_t> shape) {
  return can_view(sizes, strides, shape);
}

TEST(CanView, FollowsTheLayout) {
  EXPECT_TRUE(viewable({2, 3, 4}, {12, 4, 1}, {24}));
  EXPECT_TRUE(viewable({2, 3, 4}, {12, 4, 1}, {2, 1, 3, 2, 2}));
  EXPECT_FALSE(viewable({3, 2}, {1, 3}, {6}));
  EXPECT_TRUE(viewable({3, 2}, {1, 3}, {3, 1, 2}));
  EXPECT_TRUE(viewable({4, 2, 3}, {12, 3, 1}, {4, 6}));  // rows of a wider matrix
  EXPECT_FALSE(viewable({4, 2, 3}, {12, 3, 1}, {8, 3}));
  EXPECT_TRUE(viewable({5, 4}, {0, 1}, {5, 2, 2}));  // expanded
  EXPECT_FALSE(viewable({5, 4}, {0, 1}, {20}));
  EXPECT_TRUE(viewable({}, {}, {1, 1}));
  EXPECT_TRUE(viewable({1, 6}, {100, 1}, {2, 3}));  // strides of size-1 axes mean nothing
}

/// x [2, 3]; t = x^T; y = OPERATOR(t); y += 1; returns x + 0 and y.
std::vector<std::vector<float>> run(const std::string& target, ir::Shape shape, ir::Shape strides,
                                    std::optional<std::vector<std::int64_t>> sizes) {
  archive::Program program;
  archive::Graph& graph = program.graph;
  const auto tensor = [](std::string name) { return archive::TensorArgument{std::move(name)}; };
  const auto describe = [&](const char* name, ir::Shape sizes_of, ir::Shape strides_of) {
    archive::TensorMeta meta;
    meta.sizes = std::move(sizes_of);
    meta.strides = std::move(strides_of);
    graph.tensors.emplace(name, meta);
  };
  describe("x", {2, 3}, {3, 1});
  describe("t", {3, 2}, {1, 3});
  describe("y", std::move(shape), std::move(strides));
  graph.inputs = {tensor("x")};
  archive::InputSpec input;
  input.name = "x";
  input.argument = tensor("x");
  program.inputs = {input};
  const auto node = [&](const char* operation, std::vector<archive::NamedArgument> inputs,
                        const char* output) {
    archive::Node result;
    result.target = operation;
    result.name = output;
    result.inputs = std::move(inputs);
    result.outputs = {tensor(output)};
    graph.nodes.push_back(result);
  };
  node("aten.t.default", {{"self", tensor("x")}}, "t");
  std::vector<archive::NamedArgument> inputs = {{"self", tensor("t")}};
  if (sizes) {
    archive::IntsArgument numbers;
    for (const std::int64_t size : *sizes) numbers.values.emplace_back(size);
    inputs.push_back({"shape", numbers});
  }
  node(target.c_str(), inputs, "y");
  node("aten.add_.Tensor", {{"self", tensor("y")}, {"other", std::int64_t{1}}}, "z");
  node("aten.add.Tensor", {{"self", tensor("x")}, {"other", std::int64_t{0}}}, "seen");
  for (const char* name : {"seen", "y"}) {
    graph.outputs.emplace_back(tensor(name));
    archive::OutputSpec output;
    output.argument = tensor(name);
    program.outputs.push_back(output);
  }
  Result<LoweredProgram> lowered = lower(program);
  EXPECT_TRUE(lowered.ok()) << lowered.status().to_string();
  if (!lowered.ok()) return {};
  std::vector<float> x = {0, 1, 2, 3, 4, 5};
  const TensorView view = TensorView::contiguous(x.data(), DType::kFloat32, {2, 3});
  Result<ir::EvaluationOutputs> outputs = ir::evaluate(lowered->graph, std::span(&view, 1));
  EXPECT_TRUE(outputs.ok()) << outputs.status().to_string();
  std::vector<std::vector<float>> results;
  outputs->tensors.resize(2);  // without what became of the input
  for (const tendon::Tensor& output : outputs->tensors) {
    results.emplace_back(output.as<float>(), output.as<float>() + output.elements());
  }
  return results;
}

using Values = std::vector<std::vector<float>>;

TEST(Aliasing, WritesToACopyStayThere) {
  const Values copied = {{0, 1, 2, 3, 4, 5}, {1, 4, 2, 5, 3, 6}};
  EXPECT_EQ(run("aten.contiguous.default", {3, 2}, {2, 1}, std::nullopt), copied);
  EXPECT_EQ(run("aten.reshape.default", {6}, {1}, {{6}}), copied);
}

TEST(Aliasing, WritesToAViewAreSeen) {
  const Values shared = {{1, 2, 3, 4, 5, 6}, {1, 4, 2, 5, 3, 6}};
  EXPECT_EQ(run("aten.reshape.default", {3, 1, 2}, {1, 3, 3}, {{3, 1, 2}}), shared);
  EXPECT_EQ(run("aten.contiguous.default", {3, 2}, {1, 3}, std::nullopt), shared);
}

}  // namespace
}  // namespace tendon::aten
