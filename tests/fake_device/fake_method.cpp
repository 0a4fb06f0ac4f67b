#include "fake_method.h"

#include <algorithm>
#include <optional>

#include "base/status_macros.h"
#include "fake_memory.h"
#include "tensor/strided_write.h"

namespace tendon::test {

namespace {

Status internal(std::string message) { return Status(StatusCode::kInternal, std::move(message)); }

/// A real tensor with a last axis of size 2 in place of a complex one.
TensorView as_real(TensorView view) {
  if (!is_complex(view.dtype)) return view;
  view.dtype = complex_component(view.dtype);
  for (std::int64_t& stride : view.strides) stride *= 2;
  view.sizes.push_back(2);
  view.strides.push_back(1);
  return view;
}

/// Bytes from the first element to the end of the last one.
std::size_t extent_bytes(const TensorView& view) {
  if (view.elements() == 0) return 0;
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < view.sizes.size(); ++axis)
    last += (view.sizes[axis] - 1) * view.strides[axis];
  return static_cast<std::size_t>(last + 1) * dtype_size(view.dtype);
}

std::optional<std::int64_t> value_in(const ir::SymbolValues& values, const ir::Symbol& symbol) {
  const auto found = values.find(&symbol);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

/// What keeps a plan from being captured whole, as on a real device: the host must decide what
/// runs next.
std::string obstacle(const schedule::Plan& plan) {
  return plan.subplans.empty() ? "" : "control flow needs the host";
}

}  // namespace

FakeMethod::FakeMethod(std::shared_ptr<const FakeProgram> program,
                       const backends::DeviceMethodOptions& options)
    : program_(std::move(program)),
      graphs_(options.graphs, options.max_graphs, obstacle(*program_->plan)),
      stream_(static_cast<FakeStream*>(options.stream)),
      stream_order_(options.stream_order) {
  std::size_t count = 0;
  for (const ir::GraphOutput& output : program_->plan->graph->outputs) {
    if (output.kind == ir::GraphOutput::Kind::kUser)
      count = std::max(count, static_cast<std::size_t>(output.index) + 1);
  }
  outputs_.resize(count);
}

Result<TensorView> FakeMethod::place(const ir::GraphOutput& output, const Tensor& values,
                                     const ir::SymbolValues& symbols) {
  const schedule::Storage& storage =
      program_->plan->storage[static_cast<std::size_t>(output.value)];
  TensorView view = values.view();
  for (std::size_t axis = 0; axis < view.sizes.size(); ++axis) {
    const auto stride = storage.strides[axis].evaluate(
        [&](const ir::Symbol& symbol) { return value_in(symbols, symbol); });
    if (!stride) return internal("no value for the stride " + storage.strides[axis].to_string());
    view.strides[axis] = *stride;
  }
  Output& memory = outputs_[static_cast<std::size_t>(output.index)];
  const std::size_t bytes = extent_bytes(view);
  if (memory.bound == nullptr) {
    // Never null, not even for an output without elements.
    memory.own.resize(std::max(memory.own.size(), bytes + 1));
    view.data = memory.own.data();
  } else if (bytes > memory.bound_bytes) {
    return internal("output " + std::to_string(output.index) + " takes " + std::to_string(bytes) +
                    " bytes, and was bound to " + std::to_string(memory.bound_bytes));
  } else {
    view.data = memory.bound;
  }
  return view;
}

Status FakeMethod::check_stream_order() const {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (is_device_memory(outputs_[i].bound)) continue;
    return Status(
        StatusCode::kFailedPrecondition,
        "runs in stream order: output " + std::to_string(i) + " is not bound to device memory");
  }
  return {};
}

Status FakeMethod::run(std::span<const TensorView> inputs,
                       std::span<const backends::SymbolValue> known) {
  if (!stream_order_) return run_now(inputs, known);
  TENDON_RETURN_IF_ERROR(wait());
  TENDON_RETURN_IF_ERROR(check_stream_order());
  Status status = run_now(inputs, known);
  // The first run waits.
  if (!std::exchange(has_run_, true)) return status;
  late_error_ = std::move(status);
  return {};
}

Status FakeMethod::run_now(std::span<const TensorView> inputs,
                           std::span<const backends::SymbolValue> known) {
  TENDON_RETURN_IF_ERROR(graphs_.admit());
  if (stream_ != nullptr) ++stream_->runs;
  std::vector<TensorView> constants, states;
  for (const Tensor& constant : program_->constants) constants.push_back(constant.view());
  for (const Tensor& state : states_) states.push_back(state.view());
  const ir::Graph& graph = *program_->plan->graph;
  TENDON_ASSIGN_OR_RETURN(ir::EvaluationOutputs evaluated,
                          ir::evaluate(graph, inputs, constants, states));
  for (const auto& [symbol, value] : known) {
    const auto found = evaluated.symbols.find(symbol);
    if (found != evaluated.symbols.end() && found->second != value) {
      return internal("the runtime says that " + symbol->name + " is " + std::to_string(value) +
                      ", the inputs say " + std::to_string(found->second));
    }
    evaluated.symbols.emplace(symbol, value);
  }
  for (const auto& [symbol, value] : evaluated.symbols) {
    if (value >= symbol->lower && value <= symbol->upper) continue;
    return Status(StatusCode::kAborted, symbol->name + " is " + std::to_string(value) +
                                            ", which is outside of its range");
  }
  std::vector<TensorView> targets;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const ir::GraphOutput& output = graph.outputs[i];
    TensorView target;
    if (output.kind == ir::GraphOutput::Kind::kUser) {
      TENDON_ASSIGN_OR_RETURN(target, place(output, evaluated.tensors[i], evaluated.symbols));
    } else if (output.kind == ir::GraphOutput::Kind::kInput) {
      target = as_real(inputs[static_cast<std::size_t>(output.index)]);
    }
    targets.push_back(std::move(target));
  }
  // Nothing has been written so far, and nothing fails from here on.
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const ir::GraphOutput& output = graph.outputs[i];
    const auto index = static_cast<std::size_t>(output.index);
    if (output.kind == ir::GraphOutput::Kind::kState) {
      states_[index] = evaluated.tensors[i];
      continue;
    }
    tensor::copy_from_contiguous(evaluated.tensors[i].view().data, targets[i]);
    if (output.kind == ir::GraphOutput::Kind::kUser) outputs_[index].data = targets[i].data;
  }
  symbols_ = std::move(evaluated.symbols);
  graphs_.count(inputs);
  return {};
}

std::optional<std::int64_t> FakeMethod::symbol(const ir::Symbol& symbol) const {
  return symbol.from_data ? value_in(symbols_, symbol) : std::nullopt;
}

Device FakeMethod::output_device(std::size_t index) const {
  return is_device_memory(outputs_[index].data) ? Device::kCuda : Device::kCpu;
}

Status FakeMethod::bind_output(std::size_t index, void* data, std::size_t bytes) {
  outputs_[index].bound = data;
  outputs_[index].bound_bytes = bytes;
  return {};
}

Status FakeMethod::set_states(std::span<const Tensor> states) {
  states_.assign(states.begin(), states.end());
  return {};
}

}  // namespace tendon::test
