#include "backends/cuda/library_product.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

/// What NVIDIA recommends for Hopper; smaller devices use less of it.
constexpr std::size_t kMostWorkspaceBytes = std::size_t{32} << 20;

Status checked(cublasStatus_t result, const char* what) {
  if (result == CUBLAS_STATUS_SUCCESS) return {};
  return Status(StatusCode::kInternal,
                fmt::format("{} failed with status {}", what, static_cast<int>(result)));
}

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return CUDA_R_16F;
    case DType::kBFloat16:
      return CUDA_R_16BF;
    case DType::kFloat64:
      return CUDA_R_64F;
    default:
      return CUDA_R_32F;
  }
}

}  // namespace

Result<LibraryProduct> LibraryProduct::make(const MathLibraries& math,
                                            const ProductDescription& product) {
  const MathLibraries::Functions& f = math.functions();
  LibraryProduct made;
  made.math_ = &math;
  made.is_double_ = product.dtype == DType::kFloat64;

  // The library's matrices are column-major: our rows are its columns, so that it computes the
  // transposed product, b^T a^T.
  cublasLtMatmulDesc_t operation = nullptr;
  TENDON_RETURN_IF_ERROR(checked(
      f.operation_create(&operation, made.is_double_ ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                         made.is_double_ ? CUDA_R_64F : CUDA_R_32F),
      "cublasLtMatmulDescCreate"));
  made.operation_ = {operation, f.operation_destroy};
  const auto set_operation = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
    return checked(f.operation_set(operation, attribute, &value, sizeof(value)),
                   "cublasLtMatmulDescSetAttribute");
  };
  TENDON_RETURN_IF_ERROR(
      set_operation(CUBLASLT_MATMUL_DESC_TRANSA, product.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N));
  TENDON_RETURN_IF_ERROR(
      set_operation(CUBLASLT_MATMUL_DESC_TRANSB, product.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N));

  const auto layout = [&](Owned<cublasLtMatrixLayout_t>& owned, DType dtype,
                          const MatrixPlace& place, std::int64_t rows,
                          std::int64_t columns) -> Status {
    if (place.transposed) std::swap(rows, columns);
    cublasLtMatrixLayout_t description = nullptr;
    TENDON_RETURN_IF_ERROR(
        checked(f.layout_create(&description, data_type(dtype), static_cast<std::uint64_t>(columns),
                                static_cast<std::uint64_t>(rows), place.leading),
                "cublasLtMatrixLayoutCreate"));
    owned = {description, f.layout_destroy};
    if (product.batch == 1) return {};
    const auto count = static_cast<std::int32_t>(product.batch);
    TENDON_RETURN_IF_ERROR(checked(
        f.layout_set(description, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
        "cublasLtMatrixLayoutSetAttribute"));
    return checked(f.layout_set(description, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                &place.batch_stride, sizeof(place.batch_stride)),
                   "cublasLtMatrixLayoutSetAttribute");
  };
  TENDON_RETURN_IF_ERROR(layout(made.first_, product.dtype, product.b, product.k, product.n));
  TENDON_RETURN_IF_ERROR(layout(made.second_, product.dtype, product.a, product.m, product.k));
  TENDON_RETURN_IF_ERROR(layout(made.result_, product.result, product.d, product.m, product.n));

  cublasLtMatmulPreference_t preference = nullptr;
  TENDON_RETURN_IF_ERROR(
      checked(f.preference_create(&preference), "cublasLtMatmulPreferenceCreate"));
  const Owned<cublasLtMatmulPreference_t> preference_owner(preference, f.preference_destroy);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    return checked(f.preference_set(preference, attribute, &value, sizeof(value)),
                   "cublasLtMatmulPreferenceSetAttribute");
  };
  TENDON_RETURN_IF_ERROR(prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                static_cast<std::uint64_t>(kMostWorkspaceBytes)));
  // Parts of a sum are never rounded to a half type.
  TENDON_RETURN_IF_ERROR(
      prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
             static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));
  TENDON_RETURN_IF_ERROR(prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                                static_cast<std::uint32_t>(product.b_alignment)));
  TENDON_RETURN_IF_ERROR(prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                                static_cast<std::uint32_t>(product.a_alignment)));
  TENDON_RETURN_IF_ERROR(prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                                static_cast<std::uint32_t>(product.d_alignment)));
  TENDON_RETURN_IF_ERROR(prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
                                static_cast<std::uint32_t>(product.d_alignment)));
  int found = 0;
  const cublasStatus_t result =
      f.choose(math.handle(), operation, made.first_.get(), made.second_.get(), made.result_.get(),
               made.result_.get(), preference, 1, &made.chosen_, &found);
  if (result == CUBLAS_STATUS_SUCCESS && found > 0) return made;
  return Status(StatusCode::kUnimplemented,
                fmt::format("cuBLASLt has no product of {} matrices [{}, {}] by [{}, {}] of {} "
                            "(status {})",
                            product.batch, product.m, product.k, product.k, product.n,
                            dtype_name(product.dtype), static_cast<int>(result)));
}

Status LibraryProduct::enqueue(cudaStream_t stream, const void* a, const void* b, void* d,
                               std::byte* workspace) const {
  const double one_double = 1, zero_double = 0;
  const float one = 1, zero = 0;
  const void* alpha = is_double_ ? static_cast<const void*>(&one_double) : &one;
  const void* beta = is_double_ ? static_cast<const void*>(&zero_double) : &zero;
  return checked(
      math_->functions().matmul(math_->handle(), operation_.get(), alpha, b, first_.get(), a,
                                second_.get(), beta, d, result_.get(), d, result_.get(),
                                &chosen_.algo, workspace, workspace_bytes(), stream),
      "cublasLtMatmul");
}

}  // namespace tendon::backends::cuda
