// The host's part in the middle of a run: it waits for the stream, and looks at the device.
#pragma once

#include <span>
#include <vector>

#include "backends/cuda/check_table.h"
#include "backends/cuda/device_memory.h"
#include "backends/cuda/known_sizes.h"
#include "backends/cuda/symbol_numbers.h"

namespace tendon::backends::cuda {

/// What kernels found wrong: a table on the device (error_table.cuh). It keeps its errors until the
/// host has read them, so that none is lost whoever looks first.
class ErrorsOnDevice {
 public:
  static Result<ErrorsOnDevice> create(DeviceMemory& memory, const CheckTable& checks,
                                       cudaStream_t stream);
  std::byte* data() const { return table_.data(); }
  /// The error of the lowest check, which the table then forgets. The stream is idle.
  Status take(cudaStream_t stream, std::int32_t lowest);
  Status clear(cudaStream_t stream);

 private:
  const CheckTable* checks_ = nullptr;
  Block table_;
};

/// One for a run.
class HostAccess {
 public:
  HostAccess(cudaStream_t stream, KnownSizes& sizes, const SymbolNumbers& numbers,
             const std::int64_t* symbols, ErrorsOnDevice& errors)
      : stream_(stream), sizes_(sizes), numbers_(numbers), symbols_(symbols), errors_(errors) {}

  /// Waits for the stream and copies. Errors: those that kernels recorded so far.
  Status read(const std::byte* device, std::size_t bytes, void* host);
  /// A step that is now in the stream gives these symbols their values.
  void define(std::span<const ir::Symbol* const> symbols);
  /// Values of all symbols that were defined so far are in sizes() now. Waits only if there are new
  /// ones. Errors: as read.
  Status learn_sizes();
  KnownSizes& sizes() { return sizes_; }

 private:
  cudaStream_t stream_;
  KnownSizes& sizes_;
  const SymbolNumbers& numbers_;
  const std::int64_t* symbols_;
  ErrorsOnDevice& errors_;
  std::vector<const ir::Symbol*> unread_;
  std::vector<std::int64_t> values_;
};

}  // namespace tendon::backends::cuda
