#include "runtime/memory.h"

#include <sys/mman.h>

#include <string>
#include <utility>

namespace tendon::runtime {

Reservation::~Reservation() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(bytes_));
}

Reservation::Reservation(Reservation&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Status Reservation::reserve(std::int64_t bytes) {
  if (bytes <= bytes_) return {};
  constexpr std::int64_t kPage = 4096;
  const std::int64_t rounded = (bytes + kPage - 1) / kPage * kPage;
  void* data = mmap(nullptr, static_cast<std::size_t>(rounded), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return Status(StatusCode::kResourceExhausted,
                  "no memory for " + std::to_string(bytes) + " bytes of intermediate values");
  }
  // Large pages save most of the translation misses of streaming kernels; a hint only.
  constexpr std::int64_t kLarge = std::int64_t{4} << 20;
  if (rounded >= kLarge) madvise(data, static_cast<std::size_t>(rounded), MADV_HUGEPAGE);
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(bytes_));
  data_ = static_cast<std::byte*>(data);
  bytes_ = rounded;
  return {};
}

}  // namespace tendon::runtime
