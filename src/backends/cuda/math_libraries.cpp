#include "backends/cuda/math_libraries.h"

#include <dlfcn.h>

#include <string>

#include "base/status_macros.h"

namespace tendon::backends::cuda {

Result<std::unique_ptr<MathLibraries>> MathLibraries::open() {
  std::unique_ptr<MathLibraries> made(new MathLibraries());
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  // Its kernels may be part of captured graphs: it stays in memory once it is there.
  made->library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (made->library_ == nullptr) {
    const char* reason = dlerror();
    return Status(StatusCode::kNotFound,
                  "cannot open cuBLASLt: " + std::string(reason != nullptr ? reason : name));
  }
  const auto find = [&](auto& function, const char* symbol) -> Status {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(made->library_, symbol));
    if (function != nullptr) return {};
    return Status(StatusCode::kNotFound, name + " has no function " + symbol);
  };
  Functions& f = made->functions_;
  TENDON_RETURN_IF_ERROR(find(f.create, "cublasLtCreate"));
  TENDON_RETURN_IF_ERROR(find(f.destroy, "cublasLtDestroy"));
  TENDON_RETURN_IF_ERROR(find(f.matmul, "cublasLtMatmul"));
  TENDON_RETURN_IF_ERROR(find(f.operation_create, "cublasLtMatmulDescCreate"));
  TENDON_RETURN_IF_ERROR(find(f.operation_destroy, "cublasLtMatmulDescDestroy"));
  TENDON_RETURN_IF_ERROR(find(f.operation_set, "cublasLtMatmulDescSetAttribute"));
  TENDON_RETURN_IF_ERROR(find(f.layout_create, "cublasLtMatrixLayoutCreate"));
  TENDON_RETURN_IF_ERROR(find(f.layout_destroy, "cublasLtMatrixLayoutDestroy"));
  TENDON_RETURN_IF_ERROR(find(f.layout_set, "cublasLtMatrixLayoutSetAttribute"));
  TENDON_RETURN_IF_ERROR(find(f.preference_create, "cublasLtMatmulPreferenceCreate"));
  TENDON_RETURN_IF_ERROR(find(f.preference_destroy, "cublasLtMatmulPreferenceDestroy"));
  TENDON_RETURN_IF_ERROR(find(f.preference_set, "cublasLtMatmulPreferenceSetAttribute"));
  TENDON_RETURN_IF_ERROR(find(f.choose, "cublasLtMatmulAlgoGetHeuristic"));
  if (const cublasStatus_t result = f.create(&made->handle_); result != CUBLAS_STATUS_SUCCESS) {
    made->handle_ = nullptr;
    return Status(StatusCode::kInternal,
                  "cublasLtCreate failed with status " + std::to_string(static_cast<int>(result)));
  }
  return made;
}

MathLibraries::~MathLibraries() {
  if (handle_ != nullptr) functions_.destroy(handle_);
  if (library_ != nullptr) dlclose(library_);
}

}  // namespace tendon::backends::cuda
