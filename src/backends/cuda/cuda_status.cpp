#include "backends/cuda/cuda_status.h"

#include <optional>

namespace tendon::backends::cuda {

namespace {

template <typename Function>
bool look_up(const char* name, Function& function) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t result =
      cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t result = cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &found);
#endif
  if (result != cudaSuccess || found != cudaDriverEntryPointSuccess || address == nullptr) {
    return false;
  }
  function = reinterpret_cast<Function>(address);
  return true;
}

std::optional<Driver> find_driver() {
  Driver driver;
  const bool whole = look_up("cuModuleLoadData", driver.module_load_data) &&
                     look_up("cuModuleUnload", driver.module_unload) &&
                     look_up("cuModuleGetFunction", driver.module_get_function) &&
                     look_up("cuLaunchKernel", driver.launch_kernel);
  return whole ? std::optional(driver) : std::nullopt;
}

}  // namespace

Status to_status(cudaError_t result, const std::string& what) {
  if (result == cudaSuccess) return {};
  const bool memory = result == cudaErrorMemoryAllocation;
  // The error stays recorded in the thread; ours is told from it.
  (void)cudaGetLastError();
  return Status(memory ? StatusCode::kResourceExhausted : StatusCode::kInternal,
                what + ": " + cudaGetErrorString(result));
}

Status to_status(CUresult result, const std::string& what) {
  if (result == CUDA_SUCCESS) return {};
  const bool memory = result == CUDA_ERROR_OUT_OF_MEMORY;
  return Status(memory ? StatusCode::kResourceExhausted : StatusCode::kInternal,
                what + ": driver error " + std::to_string(static_cast<int>(result)));
}

Result<const Driver*> Driver::get() {
  static const std::optional<Driver> driver = find_driver();
  if (driver) return &*driver;
  return Status(StatusCode::kNotFound, "there is no CUDA driver of version 12 or later");
}

}  // namespace tendon::backends::cuda
