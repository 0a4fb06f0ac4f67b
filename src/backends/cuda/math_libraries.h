// cuBLASLt, opened at run time, so that it is not linked. Where it is missing, products are made by
// kernels of our own.
#pragma once

#include <cublasLt.h>

#include <memory>

#include "tendon/status.h"

namespace tendon::backends::cuda {

/// The library's functions, and a handle for the current device. Shared by a program's methods:
/// cuBLASLt may be called from any thread with one handle.
class MathLibraries {
 public:
  /// Errors: NotFound if the library or a function of it is missing; Internal.
  static Result<std::unique_ptr<MathLibraries>> open();
  ~MathLibraries();
  MathLibraries(const MathLibraries&) = delete;
  MathLibraries& operator=(const MathLibraries&) = delete;

  struct Functions {
    decltype(&cublasLtCreate) create = nullptr;
    decltype(&cublasLtDestroy) destroy = nullptr;
    decltype(&cublasLtMatmul) matmul = nullptr;
    decltype(&cublasLtMatmulDescCreate) operation_create = nullptr;
    decltype(&cublasLtMatmulDescDestroy) operation_destroy = nullptr;
    decltype(&cublasLtMatmulDescSetAttribute) operation_set = nullptr;
    decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
    decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
    decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
    decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
    decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
    decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
    decltype(&cublasLtMatmulAlgoGetHeuristic) choose = nullptr;
  };
  /// These functions stand for the library, in tests. The handle is null.
  explicit MathLibraries(const Functions& functions) : functions_(functions) {}

  const Functions& functions() const { return functions_; }
  cublasLtHandle_t handle() const { return handle_; }

 private:
  MathLibraries() = default;
  Functions functions_;
  cublasLtHandle_t handle_ = nullptr;
  void* library_ = nullptr;
};

}  // namespace tendon::backends::cuda
