// For tests: runs one operator as a program would, lowered and evaluated by the plain evaluator.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "aten/lower.h"
#include "base/half.h"
#include "ir/evaluate.h"

namespace tendon::aten::testing {

/// A small tensor, written down. Elements are doubles whatever the dtype; a complex one has two for
/// each element.
struct Literal {
  DType dtype = DType::kFloat32;
  Sizes sizes;
  std::vector<double> elements;
  friend bool operator==(const Literal& a, const Literal& b) {
    if (a.dtype != b.dtype || a.sizes != b.sizes || a.elements.size() != b.elements.size()) {
      return false;
    }
    for (std::size_t i = 0; i < a.elements.size(); ++i) {
      const double x = a.elements[i], y = b.elements[i];
      if (x != y && !(std::isnan(x) && std::isnan(y))) return false;
    }
    return true;
  }
};

inline Literal floats(Sizes sizes, std::vector<double> elements) {
  return {DType::kFloat32, std::move(sizes), std::move(elements)};
}
inline Literal ints(Sizes sizes, std::vector<double> elements) {
  return {DType::kInt64, std::move(sizes), std::move(elements)};
}
inline Literal bools(Sizes sizes, std::vector<double> elements) {
  return {DType::kBool, std::move(sizes), std::move(elements)};
}
/// int64 0, 1, 2, ... of this shape.
inline Literal counting(Sizes sizes) {
  Literal result{DType::kInt64, std::move(sizes), {}};
  const std::int64_t count = element_count(result.sizes);
  for (std::int64_t i = 0; i < count; ++i) result.elements.push_back(static_cast<double>(i));
  return result;
}
inline Literal filled(DType dtype, Sizes sizes, double value) {
  const auto count = static_cast<std::size_t>(element_count(sizes));
  return {dtype, std::move(sizes), std::vector<double>(count, value)};
}

template <typename Visit>
void visit_elements(DType dtype, void* data, const Visit& visit) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8:
      return visit(static_cast<std::uint8_t*>(data));
    case DType::kInt8:
      return visit(static_cast<std::int8_t*>(data));
    case DType::kInt16:
      return visit(static_cast<std::int16_t*>(data));
    case DType::kInt32:
      return visit(static_cast<std::int32_t*>(data));
    case DType::kInt64:
      return visit(static_cast<std::int64_t*>(data));
    case DType::kFloat16:
      return visit(static_cast<Float16*>(data));
    case DType::kBFloat16:
      return visit(static_cast<BFloat16*>(data));
    case DType::kFloat64:
    case DType::kComplex128:
      return visit(static_cast<double*>(data));
    default:
      return visit(static_cast<float*>(data));
  }
}

inline tendon::Tensor tensor_of(const Literal& literal) {
  tendon::Tensor tensor = *tendon::Tensor::allocate(literal.dtype, literal.sizes);
  visit_elements(literal.dtype, tensor.view().data, [&](auto* data) {
    using T = std::remove_pointer_t<decltype(data)>;
    for (std::size_t i = 0; i < literal.elements.size(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        data[i] = static_cast<T>(static_cast<std::int64_t>(literal.elements[i]));
      } else {
        data[i] = T(static_cast<float>(literal.elements[i]));
        if constexpr (std::is_same_v<T, double>) data[i] = literal.elements[i];
      }
    }
  });
  return tensor;
}

/// `dtype`: what the program calls the elements; complex tensors come back as pairs.
inline Literal literal_of(const tendon::Tensor& tensor, DType dtype, Sizes sizes) {
  Literal literal{dtype, std::move(sizes), {}};
  visit_elements(tensor.dtype(), tensor.view().data, [&](auto* data) {
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      using T = std::remove_pointer_t<decltype(data)>;
      if constexpr (std::is_arithmetic_v<T>) {
        literal.elements.push_back(static_cast<double>(data[i]));
      } else {
        literal.elements.push_back(static_cast<double>(static_cast<float>(data[i])));
      }
    }
  });
  return literal;
}

struct None {};
using List = std::vector<std::optional<Literal>>;
using CallArgument = std::variant<None, Literal, List, std::int64_t, double, bool, std::string,
                                  std::vector<std::int64_t>, DType>;

/// One operator with its arguments by name.
struct Call {
  std::string target;
  std::vector<std::pair<std::string, CallArgument>> arguments;
  int outputs = 1;
};

/// Lowers a program of this one node and evaluates it; tensor outputs in order.
inline Result<std::vector<Literal>> run(const Call& call) {
  archive::Program program;
  archive::Graph& graph = program.graph;
  std::vector<tendon::Tensor> inputs;
  const auto input = [&](const Literal& literal) {
    const std::string name = "t" + std::to_string(inputs.size());
    inputs.push_back(tensor_of(literal));
    archive::TensorMeta meta;
    meta.dtype = literal.dtype;
    for (const std::int64_t size : literal.sizes) meta.sizes.emplace_back(size);
    meta.strides = ir::contiguous_strides(meta.sizes);
    graph.tensors.emplace(name, meta);
    graph.inputs.emplace_back(archive::TensorArgument{name});
    archive::InputSpec spec;
    spec.name = name;
    spec.argument = archive::TensorArgument{name};
    program.inputs.push_back(spec);
    return name;
  };
  archive::Node node;
  node.target = call.target;
  node.name = "call";
  for (const auto& [name, argument] : call.arguments) {
    archive::Argument value;
    if (const auto* literal = std::get_if<Literal>(&argument)) {
      value = archive::TensorArgument{input(*literal)};
    } else if (const auto* list = std::get_if<List>(&argument)) {
      archive::TensorsArgument tensors;
      for (const auto& entry : *list) {
        tensors.names.push_back(entry ? std::optional(input(*entry)) : std::nullopt);
      }
      value = tensors;
    } else if (const auto* integer = std::get_if<std::int64_t>(&argument)) {
      value = *integer;
    } else if (const auto* real = std::get_if<double>(&argument)) {
      value = *real;
    } else if (const auto* boolean = std::get_if<bool>(&argument)) {
      value = *boolean;
    } else if (const auto* text = std::get_if<std::string>(&argument)) {
      value = *text;
    } else if (const auto* dtype = std::get_if<DType>(&argument)) {
      value = *dtype;
    } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&argument)) {
      archive::IntsArgument numbers;
      for (const std::int64_t number : *integers) numbers.values.emplace_back(number);
      value = numbers;
    } else {
      value = archive::NoneArgument{};
    }
    node.inputs.push_back({name, value});
  }
  for (int i = 0; i < call.outputs; ++i) {
    const std::string name = "out" + std::to_string(i);
    node.outputs.emplace_back(archive::TensorArgument{name});
    graph.outputs.emplace_back(archive::TensorArgument{name});
    archive::OutputSpec spec;
    spec.argument = archive::TensorArgument{name};
    program.outputs.push_back(spec);
  }
  graph.nodes.push_back(node);
  Result<LoweredProgram> lowered = lower(program);
  if (!lowered.ok()) return lowered.status();
  std::vector<TensorView> views;
  for (const UserInput& used : lowered->inputs) {
    views.push_back(inputs[static_cast<std::size_t>(used.position)].view());
  }
  Result<ir::EvaluationOutputs> evaluated = ir::evaluate(lowered->graph, views);
  if (!evaluated.ok()) return evaluated.status();
  std::vector<Literal> results;
  for (std::size_t i = 0; i < evaluated->tensors.size(); ++i) {
    const DType dtype = lowered->outputs[i].dtype;
    Sizes sizes = evaluated->tensors[i].sizes();
    if (is_complex(dtype)) sizes.pop_back();
    results.push_back(literal_of(evaluated->tensors[i], dtype, sizes));
  }
  return results;
}

/// "int64[2, 3] {0, 1, ...}", for messages.
inline std::string to_string(const Literal& literal) {
  std::string text = std::string(dtype_name(literal.dtype)) + "[";
  for (std::size_t i = 0; i < literal.sizes.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(literal.sizes[i]);
  }
  text += "] {";
  for (std::size_t i = 0; i < literal.elements.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(literal.elements[i]);
  }
  return text + "}";
}

}  // namespace tendon::aten::testing
