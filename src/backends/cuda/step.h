// One executable step of a plan on the GPU: work that is put into a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backends/cuda/known_sizes.h"
#include "tendon/status.h"

namespace tendon::backends::cuda {

/// Device memory that a launch works on.
struct Launch {
  cudaStream_t stream = nullptr;
  std::span<std::byte* const> buffers;  // first byte of every buffer of the plan, by BufferId
  std::int64_t* symbols = nullptr;      // values, by SymbolNumbers
  void* errors = nullptr;               // tendon::device::ErrorTable of error_table.cuh
  std::byte* scratch = nullptr;         // step.scratch_bytes() bytes, 256-byte aligned
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
  /// Whether bind needs exact values of sizes from data: the host reads them back before.
  virtual bool needs_exact_sizes() const { return false; }
};

using StepResult = Result<std::unique_ptr<Step>>;

}  // namespace tendon::backends::cuda
