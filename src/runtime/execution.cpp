#include "runtime/execution.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "base/status_macros.h"
#include "tensor/strided_copy.h"
#include "tensor/strided_write.h"

namespace tendon::runtime {

Result<std::unique_ptr<Execution>> Execution::create(std::shared_ptr<const LoadedProgram> program,
                                                     const MethodOptions& options) {
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
  for (const ir::GraphOutput& output : plan.graph->outputs) {
    if (output.kind == ir::GraphOutput::Kind::kUser) continue;
    const auto value = static_cast<std::size_t>(output.value);
    execution->commits_.push_back({output.kind, output.index, plan.storage[value].buffer});
  }
  for (OutputLayout& layout : output_layouts(loaded.lowered(), plan)) {
    OutputSlot slot;
    slot.layout = std::move(layout);
    execution->outputs_.push_back(std::move(slot));
  }
  execution->output_addresses_.resize(execution->outputs_.size(), nullptr);
  execution->staging_.resize(loaded.inputs().size());
  execution->input_addresses_.resize(loaded.inputs().size(), nullptr);
  execution->views_ = empty_views(loaded.outputs());
  TENDON_RETURN_IF_ERROR(execution->reset());
  return execution;
}

Status Execution::reset() {
  TENDON_ASSIGN_OR_RETURN(states_, program_->initial_states(seed_));
  state_addresses_.clear();
  for (const Tensor& state : states_) state_addresses_.push_back(state.as<std::byte>());
  return {};
}

Status Execution::prepare_key(std::span<const TensorView> inputs) {
  key_.clear();
  TENDON_RETURN_IF_ERROR(bind_inputs(program_->lowered(), Device::kCpu, inputs, symbols_));
  TENDON_RETURN_IF_ERROR(instance_->bind(symbols_));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TENDON_RETURN_IF_ERROR(staging_[i].reserve(
        std::max<std::int64_t>(static_cast<std::int64_t>(inputs[i].bytes()), 1)));
  }
  TENDON_RETURN_IF_ERROR(place_outputs());
  key_.set(inputs);
  ++stats_.shape_keys;
  return {};
}

Status Execution::place_outputs() {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    OutputSlot& slot = outputs_[i];
    if (instance_->is_unbounded(static_cast<std::size_t>(slot.layout.buffer))) {
      output_addresses_[i] = nullptr;
      continue;
    }
    if (slot.bound == nullptr) {
      TENDON_ASSIGN_OR_RETURN(const std::int64_t bytes,
                              instance_->bound_bytes(slot.layout.buffer, symbols_));
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
  const ir::SymbolLookup lookup = [this](const ir::Symbol& symbol) {
    return symbols_.lookup(symbol);
  };
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    views_[i].data = instance_->address(outputs_[i].layout.buffer);
    TENDON_RETURN_IF_ERROR(set_extents(outputs_[i].layout, lookup, views_[i]));
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
      tensor::copy_from_contiguous(data, inputs[index]);
    }
  }
}

Result<std::span<const TensorView>> Execution::run(std::span<const TensorView> inputs) {
  const base::ThreadCountScope scope(threads_);
  if (!key_.matches(program_->lowered(), Device::kCpu, inputs))
    TENDON_RETURN_IF_ERROR(prepare_key(inputs));
  TENDON_RETURN_IF_ERROR(stage_inputs(inputs));
  TENDON_RETURN_IF_ERROR(instance_->run(
      RunMemory{input_addresses_, state_addresses_, output_addresses_}, symbols_, errors_, trace_));
  TENDON_RETURN_IF_ERROR(describe_outputs());
  commit(inputs);
  ++stats_.runs;
  return std::span<const TensorView>(views_);
}

Status Execution::bind_output(std::size_t index, void* data, std::size_t bytes) {
  TENDON_RETURN_IF_ERROR(check_output_memory(program_->outputs(), index, data, bytes));
  outputs_[index].bound = static_cast<std::byte*>(data);
  return key_.is_set() ? place_outputs() : Status();
}

MethodStats Execution::stats() const {
  MethodStats stats = stats_;
  stats.arena_bytes = instance_->arena_bytes();
  if (key_.is_set())
    stats.product_operations = symbols_.upper_bound(program_->product_operations()).value_or(0);
  return stats;
}

}  // namespace tendon::runtime
