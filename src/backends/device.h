// What the runtime asks of a backend whose memory is not the host's. Such a backend is a shared
// library of its own, loaded when a program asks for the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schedule/plan.h"
#include "tendon/method.h"
#include "tendon/program.h"
#include "tendon/status.h"
#include "tendon/tensor.h"

namespace tendon::backends {

using SymbolValue = std::pair<const ir::Symbol*, std::int64_t>;

struct DeviceMethodOptions {
  CudaGraphs graphs = CudaGraphs::kAuto;
  int max_graphs = 8;
  /// A stream of the caller's (cudaStream_t), or null: a stream of the method's own.
  void* stream = nullptr;
  /// See MethodOptions::cuda_stream_order.
  bool stream_order = false;
};

/// One execution context on a device. One thread at a time.
class DeviceMethod {
 public:
  virtual ~DeviceMethod() = default;
  /// Runs the plan once. `inputs` are in the program's order, checked against what it declares, on
  /// the host or the device, with any strides; `known` are the values that their sizes imply. When
  /// it returns, outputs are complete, states advanced, and what the program writes to inputs is
  /// written; after an error none of it is.
  virtual Status run(std::span<const TensorView> inputs, std::span<const SymbolValue> known) = 0;
  /// In stream order: waits for the runs so far. Errors: those that they met.
  virtual Status wait() = 0;
  /// The value that the last run gave a symbol from data, within its range.
  virtual std::optional<std::int64_t> symbol(const ir::Symbol& symbol) const = 0;
  /// Where user output `index` lies after a run, and in whose memory.
  virtual void* output(std::size_t index) const = 0;
  virtual Device output_device(std::size_t index) const = 0;
  /// Makes output `index` be written to this memory, on the host or the device, from now on; null:
  /// to the method's own host memory. The caller has checked its size.
  virtual Status bind_output(std::size_t index, void* data, std::size_t bytes) = 0;
  /// Sets the mutable buffers, in order; row-major tensors on the host.
  virtual Status set_states(std::span<const Tensor> states) = 0;
  virtual std::int64_t arena_bytes() const = 0;
  virtual std::vector<CudaGraphStats> graph_stats() const = 0;
};

/// A plan with its constants on a device. Thread-safe.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  virtual Result<std::unique_ptr<DeviceMethod>> make_method(const DeviceMethodOptions& options) = 0;
};

struct DeviceLoadOptions {
  /// Folder of compiled kernels; empty: the user's cache folder.
  std::string cache_folder;
};

class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  /// Uploads constants (by index of the constant table; without data where no step reads them) and
  /// compiles kernels. The caller's copies may end when it returns.
  virtual Result<std::shared_ptr<DeviceProgram>> load(std::shared_ptr<const schedule::Plan> plan,
                                                      std::span<const Tensor> constants,
                                                      const DeviceLoadOptions& options) = 0;
  /// "NVIDIA H200, compute capability 9.0, driver 13.0"
  virtual std::string describe() const = 0;
};

/// The shared library's only entry, `tendon_device_backend`: null with a reason in `error`
/// (of `error_bytes` bytes) if this machine has no such device, or if `version` is not the
/// library's own version.
using DeviceBackendEntry = DeviceBackend* (*)(const char* version, char* error,
                                              std::size_t error_bytes);
inline constexpr const char* kDeviceBackendEntry = "tendon_device_backend";

}  // namespace tendon::backends
