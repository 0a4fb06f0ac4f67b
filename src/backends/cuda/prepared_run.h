// Everything that runs with one set of input sizes need: steps, memory, staging, graphs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/captured_work.h"
#include "backends/cuda/device_program.h"
#include "backends/cuda/host_access.h"
#include "backends/device.h"

namespace tendon::backends::cuda {

/// Runs of the same key are replays of the same graphs.
struct RunKey {
  struct Input {
    DType dtype = DType::kFloat32;
    Sizes sizes;
    Device device = Device::kCpu;
    friend bool operator==(const Input&, const Input&) = default;
  };
  std::vector<Input> inputs;
  std::vector<bool> outputs_on_device;  // bound to device memory

  static RunKey of(std::span<const TensorView> inputs, std::vector<bool> outputs_on_device);
  /// Compares without allocating.
  bool matches(std::span<const TensorView> views, const std::vector<bool>& on_device) const;
  /// "float32[1, 3, 96, 128], float32[1, 14] on the device"
  std::string to_string() const;
};

/// What a method's runs share.
struct MethodMemory {
  cudaStream_t stream = nullptr;          // runs
  cudaStream_t capture_stream = nullptr;  // captures alone
  std::vector<std::byte*> states;         // mutable buffers, on the device
  ErrorsOnDevice errors;
};

class PreparedRun {
 public:
  /// Errors: ResourceExhausted, Internal; nothing is kept then.
  static Result<std::unique_ptr<PreparedRun>> create(CudaProgram& program, MethodMemory& method,
                                                     RunKey key,
                                                     std::span<const SymbolValue> known);

  const RunKey& key() const { return key_; }
  /// Why a run cannot be captured whole; empty if it can.
  std::string host_reason() const { return compiled_.runner->host_reason(); }
  /// Whether sizes of outputs are known before a run.
  bool output_sizes_are_known() const { return output_sizes_are_known_; }
  /// Whether a run reads memory of the host, which must not change before it has ended.
  bool reads_host() const { return reads_host_; }
  bool writes_inputs() const { return !input_writes_.empty(); }

  /// Puts a run into the stream, or waits on the way where the host takes part. `bound`: addresses
  /// on the device, by user output; null where there is none.
  Status enqueue(std::span<const TensorView> inputs, std::span<void* const> bound);
  /// Waits for the run. Errors: what kernels recorded.
  Status finish();
  /// The rest after a run without errors: outputs without a bound and inputs that are written.
  Status deliver(std::span<const TensorView> inputs);
  /// The error in the report of a run that has ended.
  Status reported_error();

  /// After the first run. Errors say why there is no graph.
  void capture();

  /// User output `index` after a run, in pinned memory; null if it is bound to device memory.
  std::byte* output(std::size_t index) const { return outputs_[index].host; }
  /// Bytes of it in this run.
  Result<std::int64_t> output_bytes(std::size_t index) const;
  std::optional<std::int64_t> symbol(const ir::Symbol& symbol) const;
  CudaGraphStats stats() const;
  bool has_run() const { return runs_ > 0; }
  bool is_captured() const { return whole_.captured() || pieces_captured_; }
  std::int64_t memory_bytes() const;

 private:
  struct InputPlace {
    std::int64_t offset = 0;  // in the input block
    std::int64_t bytes = 0;
  };
  struct Output {
    int graph_output = 0;  // number among the graph's outputs
    ir::Shape shape;
    DType dtype = DType::kFloat32;
    std::byte* host = nullptr;
    std::int64_t offset = -1;  // in the output block; -1: no upper bound
    bool on_device = false;
    Block grown;  // pinned memory of an output without a bound
  };
  struct InputWrite {
    int graph_output = 0;
    std::size_t input = 0;
    std::int64_t offset = 0;  // in the output block
    std::int64_t bytes = 0;
  };

  PreparedRun(CudaProgram& program, MethodMemory& method, RunKey key);
  Status place_inputs(std::span<const SymbolValue> known);
  Status place_outputs();
  Status stage(std::span<const TensorView> inputs, std::span<void* const> bound);
  Launch launch(cudaStream_t stream, HostAccess* host) const;
  Status enqueue_all(cudaStream_t stream, HostAccess* host);

  CudaProgram& program_;
  MethodMemory& method_;
  RunKey key_;
  CudaProgram::Compiled compiled_;
  KnownSizes sizes_;
  Block symbols_;

  std::vector<InputPlace> inputs_;
  Block input_block_, staging_;  // [table of destinations][host inputs][device inputs]
  std::int64_t uploaded_bytes_ = 0;
  bool reads_host_ = false;

  std::vector<Output> outputs_;
  std::vector<InputWrite> input_writes_;
  bool output_sizes_are_known_ = true;
  Block output_block_, downloaded_;  // [report][what the host gets][the rest]
  std::int64_t downloaded_bytes_ = 0;

  CapturedWork whole_;
  bool pieces_captured_ = false;
  std::string reason_;
  std::int64_t runs_ = 0, replays_ = 0;
};

}  // namespace tendon::backends::cuda
