// One matrix product by cuBLASLt, prepared for its sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/cuda/math_libraries.h"
#include "backends/cuda/step.h"
#include "tendon/dtype.h"

namespace tendon::backends::cuda {

/// Where a matrix of [rows, columns] lies: element (i, j) at i * leading + j, or transposed at
/// i + j * leading; matrices of a batch `batch_stride` elements apart (0: one for all).
struct MatrixPlace {
  bool transposed = false;
  std::int64_t leading = 1;
  std::int64_t batch_stride = 0;
};

/// d [m, n] = a [m, k] b [k, n], for every matrix of a batch; d is not transposed. Half types and
/// float32 are summed in float32, never in less; float64 in float64.
struct ProductDescription {
  DType dtype = DType::kFloat32;                // of a and b: a floating type
  DType result = DType::kFloat32;               // of d: dtype, or the type of sums
  std::int64_t batch = 1, m = 0, n = 0, k = 0;  // none is 0
  MatrixPlace a, b, d;
  /// Bytes that the first elements are aligned to, at least.
  int a_alignment = 1, b_alignment = 1, d_alignment = 1;
};

class LibraryProduct {
 public:
  LibraryProduct() = default;
  /// Chooses an algorithm, the same for the same description. Errors: Unimplemented if the library
  /// has none; Internal.
  static Result<LibraryProduct> make(const MathLibraries& math, const ProductDescription& product);
  std::size_t workspace_bytes() const { return chosen_.workspaceSize; }
  /// `workspace`: of workspace_bytes, 256-byte aligned.
  Status enqueue(cudaStream_t stream, const void* a, const void* b, void* d,
                 std::byte* workspace) const;

 private:
  template <typename T>
  using Owned = std::shared_ptr<std::remove_pointer_t<T>>;

  const MathLibraries* math_ = nullptr;
  Owned<cublasLtMatmulDesc_t> operation_;
  Owned<cublasLtMatrixLayout_t> first_, second_, result_;
  cublasLtMatmulHeuristicResult_t chosen_ = {};
  bool is_double_ = false;
};

}  // namespace tendon::backends::cuda
