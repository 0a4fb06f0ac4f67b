// The only entry of libtendon_cuda.so.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "backends/cuda/cuda_status.h"
#include "backends/cuda/device_program.h"
#include "base/status_macros.h"
#include "tendon/version.h"

namespace tendon::backends::cuda {

namespace {

/// What NVRTC of this toolkit compiles for, and what the kernels rely on.
constexpr int kOldestCapability = 80;

class CudaBackend final : public DeviceBackend {
 public:
  static Result<CudaBackend> find() {
    int count = 0;
    const cudaError_t result = cudaGetDeviceCount(&count);
    (void)cudaGetLastError();
    if (result == cudaErrorInsufficientDriver) {
      return Status(StatusCode::kFailedPrecondition,
                    fmt::format("there is no NVIDIA driver that is new enough for CUDA {}.{}",
                                CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10));
    }
    if (result != cudaSuccess || count == 0) {
      return Status(StatusCode::kFailedPrecondition,
                    fmt::format("this machine has no NVIDIA GPU that can be used ({})",
                                cudaGetErrorString(result)));
    }
    int device = 0;
    TENDON_CUDA(cudaGetDevice(&device), "finding the current GPU");
    cudaDeviceProp properties{};
    TENDON_CUDA(cudaGetDeviceProperties(&properties, device), "looking at the GPU");
    int driver = 0;
    TENDON_CUDA(cudaDriverGetVersion(&driver), "asking for the driver's version");
    if (properties.major * 10 + properties.minor < kOldestCapability) {
      return Status(StatusCode::kFailedPrecondition,
                    fmt::format("{} has compute capability {}.{}, expected {}.{} or more",
                                properties.name, properties.major, properties.minor,
                                kOldestCapability / 10, kOldestCapability % 10));
    }
    CudaBackend backend;
    backend.description_ =
        fmt::format("{}, compute capability {}.{}, driver {}.{}", properties.name, properties.major,
                    properties.minor, driver / 1000, driver % 1000 / 10);
    return backend;
  }

  Result<std::shared_ptr<DeviceProgram>> load(std::shared_ptr<const schedule::Plan> plan,
                                              std::span<const Tensor> constants,
                                              const DeviceLoadOptions& options) override {
    return CudaProgram::load(std::move(plan), constants, options);
  }
  std::string describe() const override { return description_; }

 private:
  std::string description_;
};

}  // namespace

}  // namespace tendon::backends::cuda

extern "C" __attribute__((visibility("default"))) tendon::backends::DeviceBackend*
tendon_device_backend(const char* version, char* error, std::size_t error_bytes) {
  using tendon::backends::cuda::CudaBackend;
  const auto fail = [&](const std::string& reason) -> tendon::backends::DeviceBackend* {
    std::snprintf(error, error_bytes, "%s", reason.c_str());
    return nullptr;
  };
  if (std::strcmp(version, TENDON_VERSION) != 0)
    return fail(fmt::format("it belongs to Tendon {}, this is {}", TENDON_VERSION, version));
  // Hardware does not come and go: found once, kept as long as the process.
  static auto found = CudaBackend::find();
  return found.ok() ? &*found : fail(found.status().message());
}
