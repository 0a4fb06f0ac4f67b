// Copies on the device between a caller's strided tensors and dense memory.
#pragma once

#include "backends/cuda/kernel_library.h"
#include "tendon/tensor.h"

namespace tendon::backends::cuda {

class StridedCopies {
 public:
  /// Adds the kernels to the library.
  explicit StridedCopies(KernelLibrary& library);
  /// `tensor` lies on the device. Errors: Unimplemented for more than 32 axes.
  Status to_dense(const TensorView& tensor, std::byte* dense, cudaStream_t stream) const;
  Status from_dense(const TensorView& tensor, std::byte* dense, cudaStream_t stream) const;

 private:
  Status copy(KernelId kernel, const TensorView& tensor, std::byte* dense,
              cudaStream_t stream) const;
  const KernelLibrary& library_;
  KernelId to_dense_, from_dense_;
};

}  // namespace tendon::backends::cuda
