#include "backends/cuda/device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "backends/cuda/cuda_status.h"

namespace tendon::backends::cuda {

Block::Block(Block&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      pinned_(other.pinned_) {}

Block& Block::operator=(Block&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(pinned_, other.pinned_);
  return *this;
}

Block::~Block() {
  if (data_ == nullptr) return;
  if (pinned_) {
    cudaFreeHost(data_);
    return;
  }
  cudaFree(data_);
  memory_->used_ -= bytes_;
}

Result<std::optional<std::int64_t>> DeviceMemory::limit_of_environment() {
  const char* text = std::getenv("TENDON_CUDA_MEMORY_LIMIT");
  if (text == nullptr || *text == '\0') return std::optional<std::int64_t>();
  std::int64_t limit = 0;
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, limit);
  if (parsed.ec == std::errc() && parsed.ptr == end && limit > 0) return std::optional(limit);
  return Status(
      StatusCode::kInvalidArgument,
      fmt::format("TENDON_CUDA_MEMORY_LIMIT is \"{}\", expected a number of bytes", text));
}

Result<Block> DeviceMemory::allocate(std::int64_t bytes, const std::string& purpose) {
  const std::int64_t rounded = aligned(std::max<std::int64_t>(bytes, 1));
  const auto failure = [&](const std::string& reason) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("no device memory for {} bytes of {} (this program holds {}): {}",
                              bytes, purpose, used_.load(), reason));
  };
  if (limit_ && used_ + rounded > *limit_)
    return failure(fmt::format("TENDON_CUDA_MEMORY_LIMIT is {}", *limit_));
  void* data = nullptr;
  const cudaError_t result = cudaMalloc(&data, static_cast<std::size_t>(rounded));
  if (result == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    cudaMemGetInfo(&free_bytes, &total);
    return failure(fmt::format("{} of the device's {} are free", free_bytes, total));
  }
  TENDON_CUDA(result, "device memory for " + purpose);
  Block block;
  block.memory_ = this;
  block.data_ = static_cast<std::byte*>(data);
  block.bytes_ = rounded;
  used_ += rounded;
  return block;
}

Result<Block> DeviceMemory::allocate_pinned(std::int64_t bytes, const std::string& purpose) {
  const std::int64_t rounded = aligned(std::max<std::int64_t>(bytes, 1));
  void* data = nullptr;
  const cudaError_t result =
      cudaHostAlloc(&data, static_cast<std::size_t>(rounded), cudaHostAllocDefault);
  TENDON_CUDA(result, fmt::format("{} bytes of pinned host memory for {}", bytes, purpose));
  Block block;
  block.data_ = static_cast<std::byte*>(data);
  block.bytes_ = rounded;
  block.pinned_ = true;
  return block;
}

}  // namespace tendon::backends::cuda
