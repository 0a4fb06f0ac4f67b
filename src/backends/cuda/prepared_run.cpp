#include "backends/cuda/prepared_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/cuda/cuda_status.h"
#include "base/status_macros.h"
#include "tensor/strided_copy.h"
#include "tensor/strided_write.h"

namespace tendon::backends::cuda {

RunKey RunKey::of(std::span<const TensorView> inputs, std::vector<bool> outputs_on_device) {
  RunKey key;
  for (const TensorView& input : inputs)
    key.inputs.push_back({input.dtype, input.sizes, input.device});
  key.outputs_on_device = std::move(outputs_on_device);
  return key;
}

bool RunKey::matches(std::span<const TensorView> views, const std::vector<bool>& on_device) const {
  return std::equal(views.begin(), views.end(), inputs.begin(), inputs.end(),
                    [](const TensorView& view, const Input& input) {
                      return view.dtype == input.dtype && view.device == input.device &&
                             view.sizes == input.sizes;
                    }) &&
         on_device == outputs_on_device;
}

std::string RunKey::to_string() const {
  std::string text;
  for (const Input& input : inputs) {
    text += fmt::format("{}{}[{}]{}", text.empty() ? "" : ", ", dtype_name(input.dtype),
                        fmt::join(input.sizes, ", "),
                        input.device == Device::kCuda ? " on the device" : "");
  }
  if (inputs.empty()) text = "no inputs";
  const auto bound = std::count(outputs_on_device.begin(), outputs_on_device.end(), true);
  if (bound > 0) text += fmt::format("; {} outputs to the device", bound);
  return text;
}

PreparedRun::PreparedRun(CudaProgram& program, MethodMemory& method, RunKey key)
    : program_(program), method_(method), key_(std::move(key)) {}

Result<std::unique_ptr<PreparedRun>> PreparedRun::create(CudaProgram& program, MethodMemory& method,
                                                         RunKey key,
                                                         std::span<const SymbolValue> known) {
  std::unique_ptr<PreparedRun> run(new PreparedRun(program, method, std::move(key)));
  TENDON_ASSIGN_OR_RETURN(run->compiled_, program.compile());
  for (const auto& [symbol, value] : known) run->sizes_.define(*symbol, value);
  TENDON_RETURN_IF_ERROR(run->compiled_.runner->bind(run->sizes_));
  TENDON_RETURN_IF_ERROR(run->place_inputs(known));
  TENDON_RETURN_IF_ERROR(run->place_outputs());
  PlanMemory memory;
  for (const InputPlace& place : run->inputs_)
    memory.inputs.push_back(run->input_block_.data() + place.offset);
  memory.states = method.states;
  for (const Output& output : run->outputs_) {
    memory.outputs.push_back(output.offset < 0 ? nullptr
                                               : run->output_block_.data() + output.offset);
  }
  run->compiled_.runner->place(memory);
  return run;
}

Status PreparedRun::place_inputs(std::span<const SymbolValue> known) {
  const std::size_t count = program_.symbols().symbols().size();
  std::vector<std::int64_t> values(std::max<std::size_t>(count, 1), 0);
  for (const auto& [symbol, value] : known) {
    const int number = program_.symbols().find(*symbol);
    if (number >= 0) values[static_cast<std::size_t>(number)] = value;
  }
  const std::size_t bytes = values.size() * sizeof(std::int64_t);
  TENDON_ASSIGN_OR_RETURN(symbols_,
                          program_.memory().allocate(static_cast<std::int64_t>(bytes), "sizes"));
  TENDON_CUDA(cudaMemcpyAsync(symbols_.data(), values.data(), bytes, cudaMemcpyHostToDevice,
                              method_.stream),
              "uploading sizes");
  TENDON_CUDA(cudaStreamSynchronize(method_.stream), "uploading sizes");

  const std::size_t outputs = program_.plan().graph->outputs.size();
  std::int64_t offset = aligned(static_cast<std::int64_t>(outputs * sizeof(void*)));
  inputs_.resize(key_.inputs.size());
  for (const Device device : {Device::kCpu, Device::kCuda}) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const RunKey::Input& input = key_.inputs[i];
      if (input.device != device) continue;
      inputs_[i].offset = offset;
      inputs_[i].bytes =
          element_count(input.sizes) * static_cast<std::int64_t>(dtype_size(input.dtype));
      offset += aligned(inputs_[i].bytes);
      reads_host_ = reads_host_ || device == Device::kCpu;
    }
    if (device == Device::kCpu) uploaded_bytes_ = offset;
  }
  TENDON_ASSIGN_OR_RETURN(input_block_, program_.memory().allocate(offset, "inputs"));
  TENDON_ASSIGN_OR_RETURN(staging_, program_.memory().allocate_pinned(uploaded_bytes_, "inputs"));
  std::memset(staging_.data(), 0, static_cast<std::size_t>(staging_.bytes()));
  return {};
}

Status PreparedRun::place_outputs() {
  const ir::Graph& graph = *program_.plan().graph;
  outputs_.resize(key_.outputs_on_device.size());
  std::int64_t offset = aligned(ReportLayout::bytes(program_.symbols().symbols().size()));
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    const ir::GraphOutput& output = graph.outputs[k];
    const ir::Value& value = graph.value(output.value);
    if (output.kind == ir::GraphOutput::Kind::kUser) {
      Output& user = outputs_[static_cast<std::size_t>(output.index)];
      user.graph_output = static_cast<int>(k);
      user.shape = value.shape;
      user.dtype = value.dtype;
      user.on_device = key_.outputs_on_device[static_cast<std::size_t>(output.index)];
      for (const ir::Size& size : value.shape)
        output_sizes_are_known_ = output_sizes_are_known_ && !size.depends_on_data();
    } else if (output.kind == ir::GraphOutput::Kind::kInput) {
      const auto input = static_cast<std::size_t>(output.index);
      input_writes_.push_back({static_cast<int>(k), input, 0, inputs_[input].bytes});
    }
  }
  // What the host gets comes first, so that it travels in one piece.
  for (const bool on_device : {false, true}) {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      Output& user = outputs_[i];
      if (user.on_device != on_device) continue;
      const auto bytes = compiled_.runner->output_bound(static_cast<int>(i));
      if (!bytes) continue;
      user.offset = offset;
      offset += aligned(*bytes);
    }
    for (InputWrite& write : input_writes_) {
      if ((key_.inputs[write.input].device == Device::kCuda) != on_device) continue;
      write.offset = offset;
      offset += aligned(write.bytes);
    }
    if (!on_device) downloaded_bytes_ = offset;
  }
  TENDON_ASSIGN_OR_RETURN(output_block_, program_.memory().allocate(offset, "outputs"));
  TENDON_ASSIGN_OR_RETURN(downloaded_,
                          program_.memory().allocate_pinned(downloaded_bytes_, "outputs"));
  std::memset(downloaded_.data(), 0, static_cast<std::size_t>(downloaded_.bytes()));
  for (Output& user : outputs_) {
    if (user.offset >= 0 && !user.on_device) user.host = downloaded_.data() + user.offset;
  }
  return {};
}

Status PreparedRun::stage(std::span<const TensorView> inputs, std::span<void* const> bound) {
  auto* table = reinterpret_cast<void**>(staging_.data());
  const ir::Graph& graph = *program_.plan().graph;
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    const ir::GraphOutput& output = graph.outputs[k];
    const auto index = static_cast<std::size_t>(output.index);
    if (output.kind == ir::GraphOutput::Kind::kState) table[k] = method_.states[index];
    if (output.kind == ir::GraphOutput::Kind::kUser) table[k] = bound[index];
  }
  for (const InputWrite& write : input_writes_)
    table[write.graph_output] = output_block_.data() + write.offset;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs_[i].bytes == 0) continue;
    if (inputs[i].device == Device::kCpu) {
      tensor::copy_to_contiguous(inputs[i], staging_.data() + inputs_[i].offset);
      continue;
    }
    TENDON_RETURN_IF_ERROR(program_.strided_copies().to_dense(
        inputs[i], input_block_.data() + inputs_[i].offset, method_.stream));
  }
  return {};
}

Launch PreparedRun::launch(cudaStream_t stream, HostAccess* host) const {
  Launch launch;
  launch.stream = stream;
  launch.symbols = reinterpret_cast<std::int64_t*>(symbols_.data());
  launch.errors = method_.errors.data();
  launch.host = host;
  return launch;
}

Status PreparedRun::enqueue_all(cudaStream_t stream, HostAccess* host) {
  TENDON_CUDA(
      cudaMemcpyAsync(input_block_.data(), staging_.data(),
                      static_cast<std::size_t>(uploaded_bytes_), cudaMemcpyHostToDevice, stream),
      "uploading inputs");
  Launch all = launch(stream, host);
  TENDON_RETURN_IF_ERROR(compiled_.runner->enqueue(all));
  all.buffers = compiled_.runner->buffers();
  TENDON_RETURN_IF_ERROR(compiled_.commit.enqueue(all, input_block_.data(), output_block_.data(),
                                                  program_.symbols().symbols().size()));
  TENDON_CUDA(
      cudaMemcpyAsync(downloaded_.data(), output_block_.data(),
                      static_cast<std::size_t>(downloaded_bytes_), cudaMemcpyDeviceToHost, stream),
      "downloading outputs");
  return {};
}

Status PreparedRun::enqueue(std::span<const TensorView> inputs, std::span<void* const> bound) {
  TENDON_RETURN_IF_ERROR(stage(inputs, bound));
  ++runs_;
  if (is_captured()) ++replays_;
  if (whole_.captured()) return whole_.launch(method_.stream);
  if (host_reason().empty()) return enqueue_all(method_.stream, nullptr);
  sizes_.forget_data();
  HostAccess host(method_.stream, sizes_, program_.symbols(),
                  reinterpret_cast<const std::int64_t*>(symbols_.data()), method_.errors);
  return enqueue_all(method_.stream, &host);
}

Status PreparedRun::reported_error() {
  std::int64_t lowest = kNoError;
  std::memcpy(&lowest, downloaded_.data() + ReportLayout::kLowest, sizeof(lowest));
  if (lowest == kNoError) return {};
  return method_.errors.take(method_.stream, static_cast<std::int32_t>(lowest));
}

Status PreparedRun::finish() {
  TENDON_CUDA(cudaStreamSynchronize(method_.stream), "running the program");
  return reported_error();
}

Result<std::int64_t> PreparedRun::output_bytes(std::size_t index) const {
  const Output& output = outputs_[index];
  auto bytes = static_cast<std::int64_t>(dtype_size(output.dtype));
  const ir::SymbolLookup lookup = [this](const ir::Symbol& known) { return symbol(known); };
  for (const ir::Size& size : output.shape) {
    const auto extent = size.evaluate(lookup);
    if (!extent) return Status(StatusCode::kInternal, "an output's size is not known");
    bytes *= *extent;
  }
  return bytes;
}

Status PreparedRun::deliver(std::span<const TensorView> inputs) {
  bool waits = false;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Output& output = outputs_[i];
    if (output.offset >= 0) continue;
    TENDON_ASSIGN_OR_RETURN(const std::int64_t bytes, output_bytes(i));
    if (output.grown.data() == nullptr || output.grown.bytes() < bytes) {
      output.grown = Block();
      TENDON_ASSIGN_OR_RETURN(output.grown, program_.memory().allocate_pinned(bytes, "outputs"));
    }
    output.host = output.grown.data();
    if (bytes == 0) continue;
    const ir::ValueId value =
        program_.plan().graph->outputs[static_cast<std::size_t>(output.graph_output)].value;
    const auto buffer = program_.plan().storage[static_cast<std::size_t>(value)].buffer;
    TENDON_CUDA(
        cudaMemcpyAsync(output.host, compiled_.runner->buffers()[static_cast<std::size_t>(buffer)],
                        static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, method_.stream),
        "downloading an output");
    waits = true;
  }
  for (const InputWrite& write : input_writes_) {
    const TensorView& input = inputs[write.input];
    if (write.bytes == 0) continue;
    if (input.device == Device::kCpu) {
      tensor::copy_from_contiguous(downloaded_.data() + write.offset, input);
      continue;
    }
    TENDON_RETURN_IF_ERROR(program_.strided_copies().from_dense(
        input, output_block_.data() + write.offset, method_.stream));
    waits = true;
  }
  if (!waits) return {};
  return to_status(cudaStreamSynchronize(method_.stream), "delivering outputs");
}

void PreparedRun::capture() {
  reason_ = host_reason();
  Status status;
  if (reason_.empty()) {
    status = whole_.capture(method_.capture_stream,
                            [&] { return enqueue_all(method_.capture_stream, nullptr); });
  } else {
    status = compiled_.runner->capture(launch(method_.capture_stream, nullptr));
    pieces_captured_ = compiled_.runner->pieces() > 0;
  }
  if (!status.ok()) reason_ = status.to_string();
}

std::optional<std::int64_t> PreparedRun::symbol(const ir::Symbol& symbol) const {
  if (!symbol.from_data) return sizes_.value(symbol);
  const int number = program_.symbols().find(symbol);
  if (number < 0) return std::nullopt;
  std::int64_t value = 0;
  std::memcpy(&value,
              downloaded_.data() + ReportLayout::kSymbols +
                  static_cast<std::int64_t>(number) * static_cast<std::int64_t>(sizeof(value)),
              sizeof(value));
  return value;
}

CudaGraphStats PreparedRun::stats() const {
  CudaGraphStats stats;
  stats.key = key_.to_string();
  stats.state = whole_.captured()  ? "captured whole"
                : pieces_captured_ ? "captured in pieces"
                                   : "not captured";
  stats.reason = reason_;
  stats.pieces = whole_.captured() ? 1 : compiled_.runner->pieces();
  stats.runs = runs_;
  stats.replays = replays_;
  return stats;
}

std::int64_t PreparedRun::memory_bytes() const {
  return compiled_.runner->memory_bytes() + input_block_.bytes() + output_block_.bytes() +
         symbols_.bytes();
}

}  // namespace tendon::backends::cuda
