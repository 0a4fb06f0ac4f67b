// Graphs for tests of the evaluator, made by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>

#include "ir/evaluate.h"

namespace tendon::ir {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <typename T>
Tensor tensor(DType dtype, Sizes sizes, std::initializer_list<T> elements) {
  Tensor result = *Tensor::allocate(dtype, std::move(sizes));
  EXPECT_EQ(result.elements(), static_cast<std::int64_t>(elements.size()));
  EXPECT_EQ(dtype_size(dtype), sizeof(T));
  std::copy(elements.begin(), elements.end(), result.as<T>());
  return result;
}
inline Tensor floats(Sizes sizes, std::initializer_list<float> elements) {
  return tensor(DType::kFloat32, std::move(sizes), elements);
}
inline Tensor ints(Sizes sizes, std::initializer_list<std::int64_t> elements) {
  return tensor(DType::kInt64, std::move(sizes), elements);
}
inline Tensor bools(Sizes sizes, std::initializer_list<bool> elements) {
  return tensor(DType::kBool, std::move(sizes), elements);
}

template <typename T>
std::vector<T> elements(const Tensor& tensor) {
  return std::vector<T>(tensor.as<T>(), tensor.as<T>() + tensor.elements());
}

inline SymbolRef make_symbol(std::string name, std::int64_t lower, std::int64_t upper,
                             bool from_data) {
  return std::make_shared<Symbol>(Symbol{std::move(name), lower, upper, from_data, std::nullopt});
}

/// A graph under construction, and what it is run on.
class EvaluateTest : public ::testing::Test {
 protected:
  Graph graph;
  ExprPool& pool = graph.pool;

  ValueId input(DType dtype, Shape shape) {
    const int index = static_cast<int>(graph.inputs.size());
    return only_output(graph.add(Input{index}, {}, {{dtype, std::move(shape)}}));
  }
  ValueId only_output(NodeId node) const { return graph.node(node).outputs.at(0); }
  ValueId add(Primitive primitive, std::vector<ValueId> inputs, DType dtype, Shape shape) {
    return only_output(
        graph.add(std::move(primitive), std::move(inputs), {{dtype, std::move(shape)}}));
  }
  void returns(std::initializer_list<ValueId> values) {
    for (ValueId value : values) {
      graph.outputs.push_back(
          {GraphOutput::Kind::kUser, value, static_cast<int>(graph.outputs.size()), {}});
    }
  }
  /// The element of `value` at the indices of the first axes of the iteration space.
  ExprId element(ValueId value) {
    std::vector<ExprId> positions;
    for (std::size_t i = 0; i < graph.value(value).shape.size(); ++i) {
      positions.push_back(pool.index(static_cast<int>(i)));
    }
    return pool.load(value, graph.value(value).dtype, positions);
  }
  ExprId integer(std::int64_t value) { return pool.constant(DType::kInt64, value); }

  static std::vector<TensorView> views(const std::vector<Tensor>& tensors) {
    std::vector<TensorView> result;
    for (const Tensor& tensor : tensors) result.push_back(tensor.view());
    return result;
  }
  Result<EvaluationOutputs> try_run(const std::vector<Tensor>& inputs,
                                    const std::vector<Tensor>& constants = {},
                                    const std::vector<Tensor>& states = {}) {
    EXPECT_EQ(verify(graph), std::nullopt);
    return evaluate(graph, views(inputs), views(constants), views(states));
  }
  std::vector<Tensor> run(const std::vector<Tensor>& inputs,
                          const std::vector<Tensor>& constants = {},
                          const std::vector<Tensor>& states = {}) {
    auto outputs = try_run(inputs, constants, states);
    EXPECT_TRUE(outputs.ok()) << outputs.status().to_string();
    if (!outputs.ok()) return {};
    return outputs->tensors;
  }
};

}  // namespace tendon::ir
