// Memory of the device and pinned memory of the host, with an owner and a limit.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tendon/status.h"

namespace tendon::backends::cuda {

class DeviceMemory;

/// Owns a piece of memory; moves, never copies.
class Block {
 public:
  Block() = default;
  ~Block();
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  friend class DeviceMemory;
  DeviceMemory* memory_ = nullptr;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  bool pinned_ = false;
};

/// The memory that one program and its methods take. Thread-safe; outlives its blocks.
class DeviceMemory {
 public:
  /// At most `limit` bytes of the device; nothing: as much as it has.
  explicit DeviceMemory(std::optional<std::int64_t> limit) : limit_(limit) {}

  /// The environment variable TENDON_CUDA_MEMORY_LIMIT, in bytes. Errors: InvalidArgument.
  static Result<std::optional<std::int64_t>> limit_of_environment();

  /// At least one byte of the device, 256-byte aligned. `purpose` ("weights") is named in errors:
  /// ResourceExhausted.
  Result<Block> allocate(std::int64_t bytes, const std::string& purpose);
  /// Memory of the host that the device reads and writes directly.
  Result<Block> allocate_pinned(std::int64_t bytes, const std::string& purpose);
  std::int64_t used() const { return used_; }

 private:
  friend class Block;
  std::optional<std::int64_t> limit_;
  std::atomic<std::int64_t> used_{0};
};

/// The next multiple of what blocks are aligned to.
inline std::int64_t aligned(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace tendon::backends::cuda
