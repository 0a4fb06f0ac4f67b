#include "backends/cuda/device_program.h"

#include <fmt/format.h>

#include <map>

#include "backends/cuda/cuda_status.h"
#include "backends/cuda/device_method.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

/// Bytes from the first element to the last one's end; strides are not negative.
std::int64_t extent_bytes(const TensorView& view) {
  std::int64_t last = 0;
  for (std::size_t k = 0; k < view.sizes.size(); ++k) {
    if (view.sizes[k] == 0) return 0;
    last += (view.sizes[k] - 1) * view.strides[k];
  }
  return (last + 1) * static_cast<std::int64_t>(dtype_size(view.dtype));
}

}  // namespace

CurrentDevice::CurrentDevice(int device) {
  int current = -1;
  if (cudaGetDevice(&current) == cudaSuccess && current != device) former_ = current;
  cudaSetDevice(device);
}

CurrentDevice::~CurrentDevice() {
  if (former_ >= 0) cudaSetDevice(former_);
}

Result<std::shared_ptr<DeviceProgram>> CudaProgram::load(std::shared_ptr<const schedule::Plan> plan,
                                                         std::span<const Tensor> constants,
                                                         const DeviceLoadOptions& options) {
  int device = 0;
  TENDON_CUDA(cudaGetDevice(&device), "finding the current GPU");
  TENDON_CUDA(cudaSetDevice(device), "using the GPU");
  TENDON_ASSIGN_OR_RETURN(const std::optional<std::int64_t> limit,
                          DeviceMemory::limit_of_environment());
  std::shared_ptr<CudaProgram> program(new CudaProgram(std::move(plan), device, limit));
  TENDON_ASSIGN_OR_RETURN(program->math_, MathLibraries::open());
  TENDON_RETURN_IF_ERROR(program->upload(constants));
  // Writes every kernel; methods compile the same steps again, whose kernels are then there.
  TENDON_RETURN_IF_ERROR(program->compile_with(program->checks_).status());
  int major = 0;
  int minor = 0;
  TENDON_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
              "the GPU's compute capability");
  TENDON_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
              "the GPU's compute capability");
  TENDON_RETURN_IF_ERROR(
      program->library_.load(major * 10 + minor, KernelCache(options.cache_folder)));
  return std::shared_ptr<DeviceProgram>(std::move(program));
}

Status CudaProgram::upload(std::span<const Tensor> constants) {
  // Tied weights are one piece of memory here, too.
  std::map<std::pair<const void*, std::int64_t>, std::int64_t> offsets;
  std::int64_t total = 0;
  for (const Tensor& constant : constants) {
    const TensorView& view = constant.view();
    if (view.data == nullptr) continue;
    const std::int64_t bytes = extent_bytes(view);
    if (offsets.try_emplace({view.data, bytes}, total).second) total += aligned(bytes);
  }
  TENDON_ASSIGN_OR_RETURN(weights_, memory_.allocate(total, "weights"));
  for (const auto& [place, offset] : offsets) {
    const auto& [data, bytes] = place;
    if (bytes == 0) continue;
    TENDON_CUDA(cudaMemcpy(weights_.data() + offset, data, static_cast<std::size_t>(bytes),
                           cudaMemcpyHostToDevice),
                "uploading weights");
  }
  for (const Tensor& constant : constants) {
    const TensorView& view = constant.view();
    constants_.push_back(view.data == nullptr
                             ? nullptr
                             : weights_.data() + offsets.at({view.data, extent_bytes(view)}));
  }
  return {};
}

Result<CudaProgram::Compiled> CudaProgram::compile_with(CheckTable& checks) {
  CompileContext context;
  context.plan = plan_.get();
  context.library = &library_;
  context.symbols = &symbols_;
  context.checks = &checks;
  context.math = math_.get();
  context.origin = "outputs";
  context.constants = constants_;
  context.memory = &memory_;
  Compiled compiled;
  TENDON_ASSIGN_OR_RETURN(compiled.runner, PlanRunner::create(context));
  TENDON_ASSIGN_OR_RETURN(compiled.commit, CommitStep::make(context));
  return compiled;
}

Result<CudaProgram::Compiled> CudaProgram::compile() {
  const std::lock_guard lock(compiling_);
  CheckTable same_as_first;
  return compile_with(same_as_first);
}

Result<std::unique_ptr<DeviceMethod>> CudaProgram::make_method(const DeviceMethodOptions& options) {
  return CudaMethod::create(shared_from_this(), options);
}

}  // namespace tendon::backends::cuda
