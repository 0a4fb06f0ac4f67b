// Results of the CUDA runtime and driver as Status; and the driver's functions, which are looked up
// when first needed, so that nothing links the driver.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

#include "tendon/status.h"

namespace tendon::backends::cuda {

/// Errors: ResourceExhausted for memory, otherwise Internal; `what` says what was asked for.
Status to_status(cudaError_t result, const std::string& what);
Status to_status(CUresult result, const std::string& what);

#define TENDON_CUDA(call, what)                                              \
  do {                                                                       \
    if (const auto cuda_result = (call); static_cast<int>(cuda_result) != 0) \
      return ::tendon::backends::cuda::to_status(cuda_result, what);         \
  } while (false)

struct Driver {
  decltype(&cuModuleLoadData) module_load_data = nullptr;
  decltype(&cuModuleUnload) module_unload = nullptr;
  decltype(&cuModuleGetFunction) module_get_function = nullptr;
  decltype(&cuLaunchKernel) launch_kernel = nullptr;

  /// Errors: Unavailable-like (NotFound) if there is no driver, or one without these functions.
  static Result<const Driver*> get();
};

}  // namespace tendon::backends::cuda
