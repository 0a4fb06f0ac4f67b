#include "runtime/execution.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "base/status_macros.h"
#include "runtime/input_binding.h"
#include "runtime/strided_write.h"
#include "tensor/strided_copy.h"

namespace tendon::runtime {

Result<std::unique_ptr<Execution>> Execution::create(std::shared_ptr<const LoadedProgram> program,
                                                     const MethodOptions& options) {
  if (options.threads < 0) {
    return Status(StatusCode::kInvalidArgument,
                  "threads is " + std::to_string(options.threads) + ", expected 0 or more");
  }
  const int threads = options.threads > 0 ? options.threads : base::default_threads();
  const base::ThreadCountScope scope(threads);
  std::unique_ptr<Execution> execution(new Execution(std::move(program)));
  execution->threads_ = threads;
  const LoadedProgram& loaded = *execution->program_;
  TENDON_ASSIGN_OR_RETURN(backends::SharedState * shared, loaded.prepare(threads));
  TENDON_ASSIGN_OR_RETURN(execution->instance_,
                          PlanInstance::create(loaded.plan(), *shared, threads));
  const schedule::Plan& plan = *loaded.plan();
  execution->seed_ = options.seed;
  execution->trace_ = options.trace;
  execution->outputs_.resize(loaded.lowered().outputs.size());
  for (const ir::GraphOutput& output : plan.graph->outputs) {
    const schedule::Storage& storage = plan.storage[static_cast<std::size_t>(output.value)];
    if (output.kind != ir::GraphOutput::Kind::kUser) {
      execution->commits_.push_back({output.kind, output.index, storage.buffer});
      continue;
    }
    OutputSlot& slot = execution->outputs_[static_cast<std::size_t>(output.index)];
    slot.buffer = storage.buffer;
    slot.shape = loaded.lowered().outputs[static_cast<std::size_t>(output.index)].shape;
    const bool complex =
        is_complex(loaded.lowered().outputs[static_cast<std::size_t>(output.index)].dtype);
    for (std::size_t axis = 0; axis < slot.shape.size(); ++axis) {
      ir::Size stride = storage.strides[axis];
      if (complex) stride = ir::floor_div(stride, 2);
      slot.strides.push_back(stride);
    }
    slot.constant_shape = ir::is_constant(slot.shape);
  }
  execution->output_addresses_.resize(execution->outputs_.size(), nullptr);
  execution->staging_.resize(loaded.inputs().size());
  execution->input_addresses_.resize(loaded.inputs().size(), nullptr);
  for (const TensorInfo& info : loaded.outputs()) {
    TensorView view;
    view.dtype = info.dtype;
    view.sizes.resize(info.axes.size());
    view.strides.resize(info.axes.size());
    execution->views_.push_back(std::move(view));
  }
  TENDON_RETURN_IF_ERROR(execution->reset());
  return execution;
}

Status Execution::reset() {
  const aten::LoweredProgram& lowered = program_->lowered();
  states_.clear();
  state_addresses_.clear();
  for (std::size_t i = 0; i < lowered.states.size(); ++i) {
    TENDON_ASSIGN_OR_RETURN(Tensor copy, lowered.states[i].tensor.contiguous_copy());
    if (static_cast<int>(i) == lowered.random_state) {
      copy.as<std::int64_t>()[0] = static_cast<std::int64_t>(seed_);
    }
    state_addresses_.push_back(copy.as<std::byte>());
    states_.push_back(std::move(copy));
  }
  return {};
}

bool Execution::same_key(std::span<const TensorView> inputs) const {
  if (!has_key_ || inputs.size() != key_.size()) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].sizes != key_[i] || inputs[i].dtype != program_->inputs()[i].dtype ||
        inputs[i].device != Device::kCpu || inputs[i].strides.size() != key_[i].size() ||
        (inputs[i].data == nullptr && inputs[i].elements() != 0)) {
      return false;
    }
  }
  return true;
}

Status Execution::prepare_key(std::span<const TensorView> inputs) {
  has_key_ = false;
  TENDON_RETURN_IF_ERROR(bind_inputs(program_->lowered(), inputs, symbols_));
  TENDON_RETURN_IF_ERROR(instance_->bind(symbols_));
  key_.clear();
  for (const TensorView& input : inputs) key_.push_back(input.sizes);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TENDON_RETURN_IF_ERROR(staging_[i].reserve(
        std::max<std::int64_t>(static_cast<std::int64_t>(inputs[i].bytes()), 1)));
  }
  TENDON_RETURN_IF_ERROR(place_outputs());
  has_key_ = true;
  ++stats_.shape_keys;
  return {};
}

Status Execution::place_outputs() {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    OutputSlot& slot = outputs_[i];
    if (instance_->is_unbounded(static_cast<std::size_t>(slot.buffer))) {
      output_addresses_[i] = nullptr;
      continue;
    }
    if (slot.bound == nullptr) {
      TENDON_ASSIGN_OR_RETURN(const std::int64_t bytes,
                              instance_->bound_bytes(slot.buffer, symbols_));
      TENDON_RETURN_IF_ERROR(slot.own.reserve(std::max<std::int64_t>(bytes, 1)));
    }
    output_addresses_[i] = slot.bound != nullptr ? slot.bound : slot.own.data();
  }
  return {};
}

Status Execution::stage_inputs(std::span<const TensorView> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_contiguous()) {
      input_addresses_[i] = static_cast<std::byte*>(inputs[i].data);
      continue;
    }
    tensor::copy_to_contiguous(inputs[i], staging_[i].data());
    input_addresses_[i] = staging_[i].data();
  }
  return {};
}

Status Execution::describe_outputs() {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const OutputSlot& slot = outputs_[i];
    TensorView& view = views_[i];
    view.data = instance_->address(slot.buffer);
    for (std::size_t axis = 0; axis < slot.shape.size(); ++axis) {
      TENDON_ASSIGN_OR_RETURN(view.sizes[axis], symbols_.evaluate(slot.shape[axis]));
      TENDON_ASSIGN_OR_RETURN(view.strides[axis], symbols_.evaluate(slot.strides[axis]));
    }
  }
  return {};
}

void Execution::commit(std::span<const TensorView> inputs) {
  for (const Commit& commit : commits_) {
    const std::byte* data = instance_->address(commit.buffer);
    const auto index = static_cast<std::size_t>(commit.index);
    if (commit.kind == ir::GraphOutput::Kind::kState) {
      const TensorView& state = states_[index].view();
      if (state.bytes() > 0) std::memcpy(state.data, data, state.bytes());
    } else {
      copy_from_contiguous(data, inputs[index]);
    }
  }
}

Result<std::span<const TensorView>> Execution::run(std::span<const TensorView> inputs) {
  const base::ThreadCountScope scope(threads_);
  if (!same_key(inputs)) TENDON_RETURN_IF_ERROR(prepare_key(inputs));
  TENDON_RETURN_IF_ERROR(stage_inputs(inputs));
  TENDON_RETURN_IF_ERROR(instance_->run(
      RunMemory{input_addresses_, state_addresses_, output_addresses_}, symbols_, errors_, trace_));
  TENDON_RETURN_IF_ERROR(describe_outputs());
  commit(inputs);
  ++stats_.runs;
  return std::span<const TensorView>(views_);
}

Status Execution::bind_output(std::size_t index, void* data, std::size_t bytes) {
  if (index >= outputs_.size()) {
    return Status(StatusCode::kInvalidArgument, "there is no output " + std::to_string(index) +
                                                    "; the program has " +
                                                    std::to_string(outputs_.size()));
  }
  const TensorInfo& info = program_->outputs()[index];
  if (data != nullptr) {
    const auto bound = info.upper_bound_bytes();
    if (!bound) {
      return Status(StatusCode::kInvalidArgument,
                    "output " + std::to_string(index) + " (" + info.to_string() +
                        ") has no finite upper bound and cannot be bound");
    }
    if (bytes < static_cast<std::size_t>(*bound)) {
      return Status(StatusCode::kInvalidArgument,
                    "the buffer for output " + std::to_string(index) + " (" + info.to_string() +
                        ") has " + std::to_string(bytes) + " bytes, expected at least " +
                        std::to_string(*bound));
    }
  }
  outputs_[index].bound = static_cast<std::byte*>(data);
  return has_key_ ? place_outputs() : Status();
}

MethodStats Execution::stats() const {
  MethodStats stats = stats_;
  stats.arena_bytes = instance_->arena_bytes();
  if (has_key_)
    stats.product_operations = symbols_.upper_bound(program_->product_operations()).value_or(0);
  return stats;
}

}  // namespace tendon::runtime
