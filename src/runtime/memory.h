// Memory of a method: reserved from the system, committed page by page as it is touched.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tendon/status.h"

namespace tendon::runtime {

/// Grows, never shrinks; growing loses the content.
class Reservation {
 public:
  Reservation() = default;
  ~Reservation();
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  /// At least `bytes` bytes, zero when first touched. Errors: ResourceExhausted.
  Status reserve(std::int64_t bytes);
  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace tendon::runtime
