#include "backends/cuda/device_method.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/cuda/cuda_status.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

Result<std::unique_ptr<DeviceMethod>> CudaMethod::create(std::shared_ptr<CudaProgram> program,
                                                         const DeviceMethodOptions& options) {
  const CurrentDevice device(program->device());
  std::unique_ptr<CudaMethod> method(new CudaMethod(std::move(program), options));
  CudaProgram& shared = *method->program_;
  TENDON_RETURN_IF_ERROR(method->make_streams());
  TENDON_ASSIGN_OR_RETURN(
      method->memory_.errors,
      ErrorsOnDevice::create(shared.memory(), shared.checks(), method->memory_.stream));
  std::size_t outputs = 0;
  for (const ir::GraphOutput& output : shared.plan().graph->outputs)
    outputs += output.kind == ir::GraphOutput::Kind::kUser ? 1 : 0;
  method->bound_.resize(outputs);
  method->outputs_on_device_.resize(outputs, false);
  method->device_addresses_.resize(outputs, nullptr);
  return std::unique_ptr<DeviceMethod>(std::move(method));
}

Status CudaMethod::make_streams() {
  memory_.stream = static_cast<cudaStream_t>(options_.stream);
  if (memory_.stream == nullptr) {
    // One that waits for the default stream, so that inputs made there are complete.
    TENDON_CUDA(cudaStreamCreate(&memory_.stream), "making a stream");
    owns_stream_ = true;
  }
  TENDON_CUDA(cudaStreamCreateWithFlags(&memory_.capture_stream, cudaStreamNonBlocking),
              "making a stream");
  TENDON_CUDA(cudaEventCreateWithFlags(&ended_, cudaEventDisableTiming), "making an event");
  return {};
}

CudaMethod::~CudaMethod() {
  const CurrentDevice device(program_->device());
  if (memory_.stream != nullptr) cudaStreamSynchronize(memory_.stream);
  entries_.clear();
  if (ended_ != nullptr) cudaEventDestroy(ended_);
  if (memory_.capture_stream != nullptr) cudaStreamDestroy(memory_.capture_stream);
  if (owns_stream_) cudaStreamDestroy(memory_.stream);
}

Status CudaMethod::set_states(std::span<const Tensor> states) {
  const CurrentDevice device(program_->device());
  TENDON_RETURN_IF_ERROR(wait());
  if (memory_.states.size() != states.size()) {
    std::int64_t total = 0;
    for (const Tensor& state : states) {
      state_bytes_.push_back(static_cast<std::int64_t>(state.view().bytes()));
      total += aligned(state_bytes_.back());
    }
    TENDON_ASSIGN_OR_RETURN(states_, program_->memory().allocate(total, "mutable buffers"));
    std::byte* next = states_.data();
    for (const std::int64_t bytes : state_bytes_) {
      memory_.states.push_back(next);
      next += aligned(bytes);
    }
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (state_bytes_[i] == 0) continue;
    TENDON_CUDA(cudaMemcpyAsync(memory_.states[i], states[i].view().data,
                                static_cast<std::size_t>(state_bytes_[i]), cudaMemcpyHostToDevice,
                                memory_.stream),
                "setting mutable buffers");
  }
  return to_status(cudaStreamSynchronize(memory_.stream), "setting mutable buffers");
}

Status CudaMethod::bind_output(std::size_t index, void* data, std::size_t) {
  const CurrentDevice device(program_->device());
  Bound bound{data, Device::kCpu};
  if (data != nullptr) {
    cudaPointerAttributes attributes{};
    TENDON_CUDA(cudaPointerGetAttributes(&attributes, data), "looking at an output's memory");
    if (attributes.type == cudaMemoryTypeDevice) {
      if (attributes.device != program_->device()) {
        return Status(StatusCode::kInvalidArgument,
                      fmt::format("the buffer for output {} is on GPU {}, the program on GPU {}",
                                  index, attributes.device, program_->device()));
      }
      bound.device = Device::kCuda;
    }
  }
  bound_[index] = bound;
  outputs_on_device_[index] = bound.device == Device::kCuda;
  device_addresses_[index] = outputs_on_device_[index] ? data : nullptr;
  return {};
}

/// Until the first replay every new key is warm-up, as long as there is room for its graph.
Status CudaMethod::check_strict(const RunKey& key) const {
  if (options_.graphs != CudaGraphs::kStrict) return {};
  std::string problem;
  if (warm_) {
    problem = "is new, and the first replay ended the warm-up";
  } else if (entries_.size() >= static_cast<std::size_t>(options_.max_graphs)) {
    problem = fmt::format("is one more than the {} graphs that are kept", options_.max_graphs);
  } else {
    return {};
  }
  std::string known;
  for (const Entry& entry : entries_) known += "\n  " + entry.run->key().to_string();
  return Status(StatusCode::kInvalidArgument,
                fmt::format("strict CUDA graphs: the key {} {}; captured are:{}", key.to_string(),
                            problem, known));
}

void CudaMethod::drop_least_recent() {
  const auto oldest =
      std::min_element(entries_.begin(), entries_.end(),
                       [](const Entry& a, const Entry& b) { return a.last_used < b.last_used; });
  if (current_ == oldest->run.get()) current_ = nullptr;
  entries_.erase(oldest);
}

Result<std::unique_ptr<PreparedRun>> CudaMethod::prepare(std::span<const TensorView> inputs,
                                                         std::span<const SymbolValue> known) {
  while (true) {
    auto made =
        PreparedRun::create(*program_, memory_, RunKey::of(inputs, outputs_on_device_), known);
    // Other keys' memory is the first that can be spared.
    const bool spare = made.status().code() == StatusCode::kResourceExhausted &&
                       !entries_.empty() && options_.graphs != CudaGraphs::kStrict;
    if (!spare) return made;
    drop_least_recent();
  }
}

Result<PreparedRun*> CudaMethod::find_or_prepare(std::span<const TensorView> inputs,
                                                 std::span<const SymbolValue> known) {
  for (Entry& entry : entries_) {
    if (!entry.run->key().matches(inputs, outputs_on_device_)) continue;
    entry.last_used = ++clock_;
    return entry.run.get();
  }
  TENDON_RETURN_IF_ERROR(check_strict(RunKey::of(inputs, outputs_on_device_)));
  // A run in the stream may use what makes room now.
  TENDON_RETURN_IF_ERROR(wait());
  if (entries_.size() >= static_cast<std::size_t>(options_.max_graphs)) drop_least_recent();
  TENDON_ASSIGN_OR_RETURN(std::unique_ptr<PreparedRun> made, prepare(inputs, known));
  if (options_.graphs == CudaGraphs::kStrict && !made->host_reason().empty()) {
    return Status(StatusCode::kInvalidArgument,
                  "strict CUDA graphs: a run cannot be captured whole: " + made->host_reason());
  }
  entries_.push_back({std::move(made), ++clock_});
  return entries_.back().run.get();
}

Status CudaMethod::check_stream_order(const PreparedRun& run) const {
  const auto refuse = [](const std::string& reason) {
    return Status(StatusCode::kFailedPrecondition, "runs in stream order: " + reason);
  };
  for (std::size_t i = 0; i < bound_.size(); ++i) {
    if (!outputs_on_device_[i])
      return refuse(fmt::format("output {} is not bound to device memory", i));
  }
  if (!run.output_sizes_are_known())
    return refuse("sizes of outputs come from data and are not known before a run has ended");
  if (!run.host_reason().empty()) return refuse("the host takes part: " + run.host_reason());
  if (run.writes_inputs()) return refuse("the program writes to its inputs");
  return {};
}

Status CudaMethod::run_in_stream_order(PreparedRun& run, std::span<const TensorView> inputs) {
  TENDON_RETURN_IF_ERROR(check_stream_order(run));
  if (in_flight_ != nullptr) {
    const bool ended = cudaEventQuery(ended_) == cudaSuccess;
    (void)cudaGetLastError();
    const bool rewrites = run.reads_host() || in_flight_addresses_ != device_addresses_;
    if (ended || (in_flight_ == &run && rewrites)) TENDON_RETURN_IF_ERROR(wait());
  }
  TENDON_RETURN_IF_ERROR(run.enqueue(inputs, device_addresses_));
  TENDON_CUDA(cudaEventRecord(ended_, memory_.stream), "recording an event");
  in_flight_ = &run;
  in_flight_addresses_ = device_addresses_;
  current_ = &run;
  return {};
}

Status CudaMethod::wait() {
  if (in_flight_ == nullptr) return {};
  return std::exchange(in_flight_, nullptr)->finish();
}

Status CudaMethod::run(std::span<const TensorView> inputs, std::span<const SymbolValue> known) {
  const CurrentDevice device(program_->device());
  TENDON_ASSIGN_OR_RETURN(PreparedRun * run, find_or_prepare(inputs, known));
  const bool is_first = !run->has_run();
  if (options_.stream_order && !is_first) {
    warm_ = warm_ || run->is_captured();
    return run_in_stream_order(*run, inputs);
  }
  if (options_.stream_order) TENDON_RETURN_IF_ERROR(check_stream_order(*run));
  warm_ = warm_ || run->is_captured();
  Status status = run->enqueue(inputs, device_addresses_);
  if (status.ok()) {
    status = run->finish();
  } else {
    // What is in the stream already must not meet the next run.
    cudaStreamSynchronize(memory_.stream);
  }
  if (status.ok()) status = run->deliver(inputs);
  if (is_first && options_.graphs != CudaGraphs::kOff) run->capture();
  TENDON_RETURN_IF_ERROR(status);
  for (std::size_t i = 0; i < bound_.size(); ++i) {
    if (bound_[i].data == nullptr || outputs_on_device_[i]) continue;
    TENDON_ASSIGN_OR_RETURN(const std::int64_t bytes, run->output_bytes(i));
    if (bytes > 0) std::memcpy(bound_[i].data, run->output(i), static_cast<std::size_t>(bytes));
  }
  current_ = run;
  return {};
}

std::optional<std::int64_t> CudaMethod::symbol(const ir::Symbol& symbol) const {
  return current_ != nullptr ? current_->symbol(symbol) : std::nullopt;
}

void* CudaMethod::output(std::size_t index) const {
  if (bound_[index].data != nullptr) return bound_[index].data;
  return current_ != nullptr ? current_->output(index) : nullptr;
}

Device CudaMethod::output_device(std::size_t index) const { return bound_[index].device; }

std::int64_t CudaMethod::arena_bytes() const {
  std::int64_t bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.run->memory_bytes();
  return bytes;
}

std::vector<CudaGraphStats> CudaMethod::graph_stats() const {
  std::vector<CudaGraphStats> stats;
  for (const Entry& entry : entries_) {
    stats.push_back(entry.run->stats());
    if (options_.graphs == CudaGraphs::kOff) stats.back().reason = "CUDA graphs are off";
  }
  return stats;
}

}  // namespace tendon::backends::cuda
