#include "runtime/device_execution.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/status_macros.h"
#include "base/trace.h"

namespace tendon::runtime {

Result<std::unique_ptr<DeviceExecution>> DeviceExecution::create(
    std::shared_ptr<const LoadedProgram> program, const MethodOptions& options) {
  if (options.max_cuda_graphs < 1) {
    return Status(
        StatusCode::kInvalidArgument,
        "max_cuda_graphs is " + std::to_string(options.max_cuda_graphs) + ", expected 1 or more");
  }
  const int threads = options.threads > 0 ? options.threads : base::default_threads();
  const base::ThreadCountScope scope(threads);
  std::unique_ptr<DeviceExecution> execution(new DeviceExecution(std::move(program)));
  const LoadedProgram& loaded = *execution->program_;
  TENDON_ASSIGN_OR_RETURN(execution->device_program_, loaded.prepare_device(threads));
  backends::DeviceMethodOptions method_options;
  method_options.graphs = options.cuda_graphs;
  method_options.max_graphs = options.max_cuda_graphs;
  method_options.stream = options.cuda_stream;
  method_options.stream_order = options.cuda_stream_order;
  TENDON_ASSIGN_OR_RETURN(execution->method_,
                          execution->device_program_->make_method(method_options));
  execution->seed_ = options.seed;
  execution->trace_ = options.trace;
  execution->outputs_ = output_layouts(loaded.lowered(), *loaded.plan());
  execution->views_ = empty_views(loaded.outputs());
  execution->find_input_symbols();
  TENDON_RETURN_IF_ERROR(execution->reset());
  return execution;
}

void DeviceExecution::find_input_symbols() {
  for (const aten::UserInput& input : program_->lowered().inputs) {
    for (const ir::Size& size : input.shape) {
      size.for_each_symbol([&](const ir::SymbolRef& symbol) {
        const auto& known = input_symbols_;
        if (std::find(known.begin(), known.end(), symbol.get()) == known.end())
          input_symbols_.push_back(symbol.get());
      });
    }
  }
}

Status DeviceExecution::prepare_key(std::span<const TensorView> inputs) {
  TENDON_RETURN_IF_ERROR(bind_inputs(program_->lowered(), Device::kCuda, inputs, symbols_));
  known_.clear();
  for (const ir::Symbol* symbol : input_symbols_) {
    if (const auto value = symbols_.lookup(*symbol)) known_.emplace_back(symbol, *value);
  }
  key_.set(inputs);
  ++shape_keys_;
  return {};
}

Status DeviceExecution::describe_outputs() {
  const ir::SymbolLookup lookup = [this](const ir::Symbol& symbol) {
    return symbol.from_data ? method_->symbol(symbol) : symbols_.lookup(symbol);
  };
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    views_[i].data = method_->output(i);
    views_[i].device = method_->output_device(i);
    TENDON_RETURN_IF_ERROR(set_extents(outputs_[i], lookup, views_[i]));
  }
  return {};
}

Result<std::span<const TensorView>> DeviceExecution::run(std::span<const TensorView> inputs) {
  if (!key_.matches(program_->lowered(), Device::kCuda, inputs))
    TENDON_RETURN_IF_ERROR(prepare_key(inputs));
  {
    const base::ScopedSpan span(trace_, "step", "device");
    TENDON_RETURN_IF_ERROR(method_->run(inputs, known_));
  }
  TENDON_RETURN_IF_ERROR(describe_outputs());
  ++runs_;
  return std::span<const TensorView>(views_);
}

Status DeviceExecution::bind_output(std::size_t index, void* data, std::size_t bytes) {
  TENDON_RETURN_IF_ERROR(check_output_memory(program_->outputs(), index, data, bytes));
  return method_->bind_output(index, data, bytes);
}

Status DeviceExecution::reset() {
  TENDON_ASSIGN_OR_RETURN(const std::vector<Tensor> states, program_->initial_states(seed_));
  return method_->set_states(states);
}

MethodStats DeviceExecution::stats() const {
  MethodStats stats;
  stats.runs = runs_;
  stats.arena_bytes = method_->arena_bytes();
  stats.shape_keys = shape_keys_;
  if (key_.is_set())
    stats.product_operations = symbols_.upper_bound(program_->product_operations()).value_or(0);
  stats.cuda_graphs = method_->graph_stats();
  return stats;
}

}  // namespace tendon::runtime
