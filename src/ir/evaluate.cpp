#include "ir/evaluate.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "ir/evaluate_primitives.h"

namespace tendon::ir {

namespace {

/// The same elements as a real tensor with a last axis of size 2.
TensorView as_real(const TensorView& complex) {
  TensorView real = complex;
  real.dtype = complex_component(complex.dtype);
  for (std::int64_t& stride : real.strides) stride *= 2;
  real.sizes.push_back(2);
  real.strides.push_back(1);
  return real;
}

/// The tensor itself if it is row-major (and then not kept alive), or a copy that is.
Result<Tensor> row_major(const TensorView& view) {
  const TensorView real = is_complex(view.dtype) ? as_real(view) : view;
  if (real.is_contiguous()) return Tensor(real, nullptr);
  return Tensor(real, nullptr).contiguous_copy();
}

Tensor slice_of(const Tensor& tensor, std::int64_t first) {
  TensorView view = tensor.view();
  view.sizes.erase(view.sizes.begin());
  view.strides.erase(view.strides.begin());
  const std::int64_t elements = tendon::element_count(view.sizes);
  view.data = static_cast<std::byte*>(view.data) +
              first * elements * static_cast<std::int64_t>(dtype_size(view.dtype));
  return Tensor(view, nullptr);
}

bool is_true(const Tensor& scalar) { return *scalar.as<bool>(); }

/// One run of one graph.
class Evaluation {
 public:
  Evaluation(const Graph& graph, SymbolValues symbols)
      : graph_(graph), symbols_(std::move(symbols)), values_(graph.values.size()) {}

  Status run(std::span<const Tensor> inputs, std::span<const TensorView> constants,
             std::span<const TensorView> states) {
    inputs_ = inputs;
    constants_ = constants;
    states_ = states;
    TENDON_RETURN_IF_ERROR(bind_inputs());
    for (const Node& node : graph_.nodes) {
      if (Status status = run_node(node); !status.ok()) {
        return status.with_context(name_of(node));
      }
    }
    return Status();
  }

  std::vector<Tensor> outputs() const {
    std::vector<Tensor> tensors;
    for (const GraphOutput& output : graph_.outputs) {
      tensors.push_back(values_[static_cast<std::size_t>(output.value)]);
    }
    return tensors;
  }
  const SymbolValues& symbols() const { return symbols_; }

 private:
  std::string name_of(const Node& node) const {
    const auto origin = static_cast<std::size_t>(node.origin);
    if (node.origin >= 0 && origin < graph_.origins.size()) return graph_.origins[origin];
    return std::string(primitive_name(node.primitive));
  }

  std::optional<std::int64_t> try_size(const Size& size) const {
    return size.evaluate([this](const Symbol& symbol) -> std::optional<std::int64_t> {
      const auto found = symbols_.find(&symbol);
      if (found == symbols_.end()) return std::nullopt;
      return found->second;
    });
  }
  Result<std::int64_t> size(const Size& size) const {
    if (const auto value = try_size(size)) return *value;
    return Status(StatusCode::kInternal, "size " + size.to_string() + " has no value");
  }
  Result<Sizes> sizes(const Shape& shape) const {
    Sizes result;
    for (const Size& axis : shape) {
      TENDON_ASSIGN_OR_RETURN(const std::int64_t value, size(axis));
      if (value < 0) {
        return Status(StatusCode::kInternal,
                      "size " + axis.to_string() + " is " + std::to_string(value));
      }
      result.push_back(value);
    }
    return result;
  }

  /// Gives symbols the sizes of the axes that are just that symbol, then compares all others.
  Status bind_inputs() {
    if (inputs_.size() < graph_.inputs.size()) {
      return Status(StatusCode::kInvalidArgument,
                    std::to_string(inputs_.size()) + " inputs were passed, " +
                        std::to_string(graph_.inputs.size()) + " are needed");
    }
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (graph_.inputs[i] < 0) continue;
      const Value& expected = graph_.value(graph_.inputs[i]);
      const auto wrong = [&] {
        return Status(StatusCode::kInvalidArgument, "input " + std::to_string(i) + " is " +
                                                        inputs_[i].view().to_string() + " where " +
                                                        std::string(dtype_name(expected.dtype)) +
                                                        to_string(expected.shape) + " is expected");
      };
      const Sizes& sizes = inputs_[i].sizes();
      if (inputs_[i].dtype() != expected.dtype || sizes.size() != expected.shape.size()) {
        return wrong();
      }
      for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
        const SymbolRef symbol = expected.shape[axis].as_symbol();
        if (symbol == nullptr || !symbols_.emplace(symbol.get(), sizes[axis]).second) continue;
        if (sizes[axis] < symbol->lower || sizes[axis] > symbol->upper) return wrong();
      }
    }
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (graph_.inputs[i] < 0) continue;
      const Shape& shape = graph_.value(graph_.inputs[i]).shape;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        solve(shape[axis], inputs_[i].sizes()[axis]);
        TENDON_ASSIGN_OR_RETURN(const std::int64_t expected, size(shape[axis]));
        if (expected == inputs_[i].sizes()[axis]) continue;
        return Status(StatusCode::kInvalidArgument,
                      "axis " + std::to_string(axis) + " of input " + std::to_string(i) +
                          " has size " + std::to_string(inputs_[i].sizes()[axis]) + ", not " +
                          shape[axis].to_string() + " = " + std::to_string(expected));
      }
    }
    return Status();
  }

  /// Finds the one unknown symbol of an expression that is linear in it, such as 2*s0 + 1.
  void solve(const Size& expression, std::int64_t value) {
    std::vector<SymbolRef> unknown;
    expression.for_each_symbol([&](const SymbolRef& symbol) {
      if (!symbols_.contains(symbol.get())) unknown.push_back(symbol);
    });
    if (unknown.size() != 1) return;
    std::int64_t& trial = symbols_[unknown[0].get()];
    trial = 0;
    const auto at_zero = try_size(expression);
    trial = 1;
    const auto at_one = try_size(expression);
    std::int64_t slope = 0, rise = 0;
    if (!at_zero || !at_one || __builtin_sub_overflow(*at_one, *at_zero, &slope) ||
        __builtin_sub_overflow(value, *at_zero, &rise) || slope == 0) {
      symbols_.erase(unknown[0].get());
      return;
    }
    // Where it does not divide, the comparison that follows fails.
    trial = slope == -1 ? -rise : rise / slope;
  }

  const Tensor& operand(const Node& node, std::size_t i) const {
    return values_[static_cast<std::size_t>(node.inputs[i])];
  }
  void define(const Node& node, std::size_t i, Tensor tensor) {
    values_[static_cast<std::size_t>(node.outputs[i])] = std::move(tensor);
  }

  Status run_node(const Node& node) {
    return std::visit([&](const auto& primitive) { return run_primitive(node, primitive); },
                      node.primitive);
  }

  // --- where values come from.

  Status define_stored(const Node& node, std::span<const TensorView> table, int index,
                       const char* what) {
    const Value& value = graph_.value(node.outputs[0]);
    if (index < 0 || static_cast<std::size_t>(index) >= table.size()) {
      return Status(StatusCode::kInvalidArgument,
                    std::string(what) + " " + std::to_string(index) + " was not passed");
    }
    TENDON_ASSIGN_OR_RETURN(Tensor tensor, row_major(table[static_cast<std::size_t>(index)]));
    TENDON_ASSIGN_OR_RETURN(const Sizes expected, sizes(value.shape));
    if (tensor.dtype() != value.dtype || tensor.sizes() != expected) {
      return Status(StatusCode::kInvalidArgument, std::string(what) + " " + std::to_string(index) +
                                                      " is " + tensor.view().to_string() +
                                                      " where " +
                                                      std::string(dtype_name(value.dtype)) +
                                                      to_string(value.shape) + " is expected");
    }
    define(node, 0, std::move(tensor));
    return Status();
  }

  Status run_primitive(const Node& node, const Input& input) {
    define(node, 0, inputs_[static_cast<std::size_t>(input.index)]);
    return Status();
  }
  Status run_primitive(const Node& node, const Constant& constant) {
    return define_stored(node, constants_, constant.index, "constant");
  }
  Status run_primitive(const Node& node, const State& state) {
    return define_stored(node, states_, state.index, "state");
  }

  // --- computation.

  template <typename P>
  Status run_with(const Node& node, const P& primitive,
                  Status (*function)(NodeEvaluation&, const P&)) {
    NodeEvaluation evaluation{
        graph_, node, {values_, [this](const Size& s) { return size(s); }}, {}};
    for (ValueId output : node.outputs) {
      const Value& value = graph_.value(output);
      TENDON_ASSIGN_OR_RETURN(Sizes output_sizes, sizes(value.shape));
      TENDON_ASSIGN_OR_RETURN(Tensor tensor,
                              Tensor::allocate(value.dtype, std::move(output_sizes)));
      evaluation.outputs.push_back(std::move(tensor));
    }
    TENDON_RETURN_IF_ERROR(function(evaluation, primitive));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      define(node, i, std::move(evaluation.outputs[i]));
    }
    return Status();
  }
  Status run_primitive(const Node& node, const Map& p) { return run_with(node, p, evaluate_map); }
  Status run_primitive(const Node& node, const Reduce& p) {
    return run_with(node, p, evaluate_reduce);
  }
  Status run_primitive(const Node& node, const Scan& p) { return run_with(node, p, evaluate_scan); }
  Status run_primitive(const Node& node, const Matmul& p) {
    return run_with(node, p, evaluate_matmul);
  }
  Status run_primitive(const Node& node, const Conv& p) { return run_with(node, p, evaluate_conv); }
  Status run_primitive(const Node& node, const Attention& p) {
    return run_with(node, p, evaluate_attention);
  }
  Status run_primitive(const Node& node, const Sort& p) { return run_with(node, p, evaluate_sort); }
  Status run_primitive(const Node& node, const TopK& p) {
    return run_with(node, p, evaluate_top_k);
  }
  Status run_primitive(const Node& node, const Scatter& p) {
    return run_with(node, p, evaluate_scatter);
  }

  // --- sizes from data, checks.

  Status run_primitive(const Node& node, const Compact& compact) {
    const auto positions = true_positions(operand(node, 0));
    const auto count = static_cast<std::int64_t>(positions.size());
    symbols_[compact.count.get()] = count;
    TENDON_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(DType::kInt64, {count}));
    std::copy(positions.begin(), positions.end(), tensor.as<std::int64_t>());
    define(node, 0, std::move(tensor));
    return Status();
  }

  Status run_primitive(const Node& node, const Item& item) {
    const Tensor& scalar = operand(node, 0);
    std::int64_t value = 0;
    cast_kernel(scalar.dtype(), DType::kInt64)(&value, scalar.view().data, nullptr, 1);
    symbols_[item.symbol.get()] = value;
    return Status();
  }

  Status run_primitive(const Node& node, const Assert& assertion) {
    const bool holds = assertion.condition ? try_size(*assertion.condition).value_or(0) != 0
                                           : is_true(operand(node, 0));
    return holds ? Status() : Status(StatusCode::kAborted, assertion.message);
  }

  // --- control flow.

  Result<std::vector<Tensor>> call(const Graph& graph, const std::vector<Tensor>& operands) const {
    Evaluation evaluation(graph, symbols_);
    TENDON_RETURN_IF_ERROR(evaluation.run(operands, constants_, states_));
    return evaluation.outputs();
  }

  std::vector<Tensor> operands_from(const Node& node, std::size_t first) const {
    std::vector<Tensor> operands;
    for (std::size_t i = first; i < node.inputs.size(); ++i) operands.push_back(operand(node, i));
    return operands;
  }

  Status define_all(const Node& node, std::vector<Tensor> tensors) {
    if (tensors.size() != node.outputs.size()) {
      return Status(StatusCode::kInternal, "a sub-graph gives " + std::to_string(tensors.size()) +
                                               " values instead of " +
                                               std::to_string(node.outputs.size()));
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) define(node, i, std::move(tensors[i]));
    return Status();
  }

  Status run_primitive(const Node& node, const Branch& branch) {
    bool condition = false;
    if (branch.condition) {
      TENDON_ASSIGN_OR_RETURN(const std::int64_t value, size(*branch.condition));
      condition = value != 0;
    } else {
      condition = is_true(operand(node, 0));
    }
    TENDON_ASSIGN_OR_RETURN(std::vector<Tensor> tensors,
                            call(condition ? *branch.then_graph : *branch.else_graph,
                                 operands_from(node, branch.condition ? 0 : 1)));
    return define_all(node, std::move(tensors));
  }

  Status run_primitive(const Node& node, const While& loop) {
    const auto carried = static_cast<std::size_t>(loop.carried);
    std::vector<Tensor> operands = operands_from(node, 0);
    while (true) {
      TENDON_ASSIGN_OR_RETURN(const std::vector<Tensor> condition, call(*loop.condition, operands));
      if (!is_true(condition.at(0))) break;
      TENDON_ASSIGN_OR_RETURN(std::vector<Tensor> next, call(*loop.body, operands));
      std::move(next.begin(), next.end(), operands.begin());
    }
    operands.resize(carried);
    return define_all(node, std::move(operands));
  }

  Status run_primitive(const Node& node, const Loop& loop) {
    const auto carried = static_cast<std::size_t>(loop.carried);
    const auto iterated = static_cast<std::size_t>(loop.iterated);
    TENDON_ASSIGN_OR_RETURN(const std::int64_t length, size(loop.length));
    std::vector<Tensor> results = operands_from(node, 0);
    results.resize(carried);
    for (std::size_t i = carried; i < node.outputs.size(); ++i) {
      const Value& value = graph_.value(node.outputs[i]);
      TENDON_ASSIGN_OR_RETURN(Sizes stacked, sizes(value.shape));
      TENDON_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(value.dtype, std::move(stacked)));
      results.push_back(std::move(tensor));
    }
    for (std::int64_t step = 0; step < length; ++step) {
      std::vector<Tensor> operands(results.begin(),
                                   results.begin() + static_cast<std::ptrdiff_t>(carried));
      for (std::size_t i = carried; i < node.inputs.size(); ++i) {
        const bool sliced = i < carried + iterated;
        operands.push_back(sliced ? slice_of(operand(node, i), step) : operand(node, i));
      }
      TENDON_ASSIGN_OR_RETURN(const std::vector<Tensor> next, call(*loop.body, operands));
      if (next.size() != results.size()) return define_all(node, next);
      for (std::size_t i = 0; i < next.size(); ++i) {
        if (i < carried) {
          results[i] = next[i];
          continue;
        }
        const Tensor target = slice_of(results[i], step);
        if (target.sizes() != next[i].sizes() || target.dtype() != next[i].dtype()) {
          return Status(StatusCode::kInternal, "a slice is " + next[i].view().to_string() +
                                                   ", not " + target.view().to_string());
        }
        if (target.elements() != 0) {
          std::memcpy(target.view().data, next[i].view().data, target.view().bytes());
        }
      }
    }
    return define_all(node, std::move(results));
  }

  const Graph& graph_;
  SymbolValues symbols_;
  std::vector<Tensor> values_;
  std::span<const Tensor> inputs_;
  std::span<const TensorView> constants_, states_;
};

}  // namespace

Result<EvaluationOutputs> evaluate(const Graph& graph, std::span<const TensorView> inputs,
                                   std::span<const TensorView> constants,
                                   std::span<const TensorView> states) {
  std::vector<Tensor> row_major_inputs;
  for (const TensorView& input : inputs) {
    TENDON_ASSIGN_OR_RETURN(Tensor tensor, row_major(input));
    row_major_inputs.push_back(std::move(tensor));
  }
  Evaluation evaluation(graph, {});
  TENDON_RETURN_IF_ERROR(evaluation.run(row_major_inputs, constants, states));
  // What is returned must not lie in memory of the caller.
  EvaluationOutputs outputs;
  for (const Tensor& tensor : evaluation.outputs()) {
    TENDON_ASSIGN_OR_RETURN(Tensor copy, tensor.contiguous_copy());
    outputs.tensors.push_back(std::move(copy));
  }
  outputs.symbols = evaluation.symbols();
  return outputs;
}

}  // namespace tendon::ir
