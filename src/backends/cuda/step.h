// One executable step of a plan on the GPU: work that is put into a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "backends/cuda/known_sizes.h"
#include "tendon/status.h"

namespace tendon::backends::cuda {

class HostAccess;

/// Device memory that a launch works on.
struct Launch {
  cudaStream_t stream = nullptr;
  std::span<std::byte* const> buffers;  // first byte of every buffer of the plan, by BufferId
  std::int64_t* symbols = nullptr;      // values, by SymbolNumbers
  void* errors = nullptr;               // tendon::device::ErrorTable of error_table.cuh
  std::byte* scratch = nullptr;         // step.scratch_bytes() bytes, 256-byte aligned
  HostAccess* host = nullptr;           // for steps with a host_reason only
};

/// Not thread-safe: a method has its own.
class Step {
 public:
  virtual ~Step() = default;
  /// Chooses grids and scratch for upper bounds. Called before the first enqueue and whenever a
  /// known symbol has changed. Errors: ResourceExhausted where a size has no bound yet.
  virtual Status bind(const KnownSizes& sizes) = 0;
  /// Puts the work into the stream and returns: no synchronisation, no allocation, nothing that a
  /// stream capture forbids.
  virtual Status enqueue(const Launch& launch) = 0;
  /// Bytes of scratch that enqueue needs with the sizes of the last bind.
  virtual std::size_t scratch_bytes() const { return 0; }
  /// Why the host takes part in every run with the sizes of the last bind (a condition in the data,
  /// say); empty: enqueue needs no host.
  virtual std::string host_reason() const { return {}; }
  /// Of a step with a host_reason: captures what needs no host, through the launch's stream, which
  /// is for captures alone. Errors say why something could not be captured; it still runs.
  virtual Status capture(const Launch&) { return {}; }
};

using StepResult = Result<std::unique_ptr<Step>>;

}  // namespace tendon::backends::cuda
