// Memory of the device, for inputs and bound outputs that lie there. The fake device's and a GPU's
// are made in files of their own.
#pragma once

#include <cstddef>
#include <vector>

#include "tendon/tensor.h"

namespace tendon::test {

/// A piece of it. One at a time.
class DeviceMemory {
 public:
  DeviceMemory();
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// The next bytes of it.
  std::byte* take(std::size_t bytes) {
    std::byte* taken = data_ + used_;
    used_ += (bytes + 255) / 256 * 256;
    return taken;
  }
  /// A row-major tensor's copy there.
  TensorView upload(const TensorView& tensor) {
    TensorView copy = tensor;
    copy.data = take(tensor.bytes());
    copy.device = Device::kCuda;
    copy_in(copy.data, tensor.data, tensor.bytes());
    return copy;
  }
  /// A row-major tensor that lies there.
  static Tensor download(const TensorView& tensor) {
    Tensor copy = *Tensor::allocate(tensor.dtype, tensor.sizes);
    copy_out(copy.view().data, tensor.data, tensor.bytes());
    return copy;
  }

 private:
  static void copy_in(void* device, const void* host, std::size_t bytes);
  static void copy_out(void* host, const void* device, std::size_t bytes);

  std::byte* data_ = nullptr;
  std::size_t used_ = 0;
};

}  // namespace tendon::test
