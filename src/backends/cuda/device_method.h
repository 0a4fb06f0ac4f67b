// One execution context on a GPU: states, and prepared runs by key.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cuda/device_program.h"
#include "backends/cuda/prepared_run.h"

namespace tendon::backends::cuda {

class CudaMethod final : public DeviceMethod {
 public:
  static Result<std::unique_ptr<DeviceMethod>> create(std::shared_ptr<CudaProgram> program,
                                                      const DeviceMethodOptions& options);
  ~CudaMethod() override;
  CudaMethod(const CudaMethod&) = delete;
  CudaMethod& operator=(const CudaMethod&) = delete;

  Status run(std::span<const TensorView> inputs, std::span<const SymbolValue> known) override;
  Status wait() override;
  std::optional<std::int64_t> symbol(const ir::Symbol& symbol) const override;
  void* output(std::size_t index) const override;
  Device output_device(std::size_t index) const override;
  Status bind_output(std::size_t index, void* data, std::size_t bytes) override;
  Status set_states(std::span<const Tensor> states) override;
  std::int64_t arena_bytes() const override;
  std::vector<CudaGraphStats> graph_stats() const override;

 private:
  struct Bound {
    void* data = nullptr;
    Device device = Device::kCpu;
  };
  struct Entry {
    std::unique_ptr<PreparedRun> run;
    std::int64_t last_used = 0;
  };

  CudaMethod(std::shared_ptr<CudaProgram> program, const DeviceMethodOptions& options)
      : program_(std::move(program)), options_(options) {}
  Status make_streams();
  /// The prepared run of these inputs, made if need be.
  Result<PreparedRun*> find_or_prepare(std::span<const TensorView> inputs,
                                       std::span<const SymbolValue> known);
  Result<std::unique_ptr<PreparedRun>> prepare(std::span<const TensorView> inputs,
                                               std::span<const SymbolValue> known);
  Status check_strict(const RunKey& key) const;
  Status check_stream_order(const PreparedRun& run) const;
  void drop_least_recent();
  Status run_in_stream_order(PreparedRun& run, std::span<const TensorView> inputs);

  std::shared_ptr<CudaProgram> program_;
  DeviceMethodOptions options_;
  bool owns_stream_ = false;
  cudaEvent_t ended_ = nullptr;  // the last run, in stream order
  MethodMemory memory_;
  Block states_;
  std::vector<std::int64_t> state_bytes_;
  std::vector<Bound> bound_;             // by user output
  std::vector<bool> outputs_on_device_;  // the same, as keys say it
  std::vector<void*> device_addresses_;  // null where an output is not bound to the device
  std::vector<Entry> entries_;
  PreparedRun* current_ = nullptr;
  PreparedRun* in_flight_ = nullptr;  // in stream order: put into the stream, not waited for
  std::vector<void*> in_flight_addresses_;
  std::int64_t clock_ = 0;
  bool warm_ = false;  // some run was a replay
};

}  // namespace tendon::backends::cuda
