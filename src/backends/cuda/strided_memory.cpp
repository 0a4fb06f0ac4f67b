#include "backends/cuda/strided_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backends/cuda/cuda_status.h"

namespace tendon::backends::cuda {

namespace {

constexpr std::size_t kMaxRank = 32;

/// As device::StridedMemory of copy_bytes.cuh.
struct StridedMemory {
  long long elements = 0;
  int element_bytes = 1;
  int rank = 0;
  std::array<long long, kMaxRank> sizes = {};
  std::array<long long, kMaxRank> strides = {};
};

std::string kernel_text(bool to_dense) {
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__(256) KERNEL(StridedMemory memory, "
      "char* strided, char* dense) {{\ncopy_strided(memory, strided, dense, {});\n}}\n",
      to_dense);
}

}  // namespace

StridedCopies::StridedCopies(KernelLibrary& library)
    : library_(library),
      to_dense_(library.add(kernel_text(true))),
      from_dense_(library.add(kernel_text(false))) {}

Status StridedCopies::to_dense(const TensorView& tensor, std::byte* dense,
                               cudaStream_t stream) const {
  if (!tensor.is_contiguous()) return copy(to_dense_, tensor, dense, stream);
  return to_status(
      cudaMemcpyAsync(dense, tensor.data, tensor.bytes(), cudaMemcpyDeviceToDevice, stream),
      "copying an input");
}

Status StridedCopies::from_dense(const TensorView& tensor, std::byte* dense,
                                 cudaStream_t stream) const {
  if (!tensor.is_contiguous()) return copy(from_dense_, tensor, dense, stream);
  return to_status(
      cudaMemcpyAsync(tensor.data, dense, tensor.bytes(), cudaMemcpyDeviceToDevice, stream),
      "writing an input");
}

Status StridedCopies::copy(KernelId kernel, const TensorView& tensor, std::byte* dense,
                           cudaStream_t stream) const {
  if (tensor.sizes.size() > kMaxRank) {
    return Status(StatusCode::kUnimplemented,
                  fmt::format("a strided tensor of {} axes on the device: at most {}",
                              tensor.sizes.size(), kMaxRank));
  }
  StridedMemory memory;
  memory.elements = tensor.elements();
  if (memory.elements == 0) return {};
  memory.element_bytes = static_cast<int>(dtype_size(tensor.dtype));
  memory.rank = static_cast<int>(tensor.sizes.size());
  std::copy(tensor.sizes.begin(), tensor.sizes.end(), memory.sizes.begin());
  std::copy(tensor.strides.begin(), tensor.strides.end(), memory.strides.begin());
  void* strided = tensor.data;
  std::array<void*, 3> parameters = {&memory, &strided, &dense};
  const std::int64_t blocks = std::clamp<std::int64_t>(memory.elements / 256, 1, 2048);
  return library_.launch(kernel, stream, blocks, 256, 0, parameters.data());
}

}  // namespace tendon::backends::cuda
