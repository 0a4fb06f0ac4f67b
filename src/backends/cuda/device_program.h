// A plan's kernels and constants on one GPU, shared by methods.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backends/cuda/commit_step.h"
#include "backends/cuda/device_memory.h"
#include "backends/cuda/kernel_library.h"
#include "backends/cuda/math_libraries.h"
#include "backends/cuda/plan_runner.h"
#include "backends/cuda/strided_memory.h"
#include "backends/device.h"

namespace tendon::backends::cuda {

/// Makes a GPU the thread's current one, and the former one again at its end.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int former_ = -1;
};

class CudaProgram final : public DeviceProgram, public std::enable_shared_from_this<CudaProgram> {
 public:
  static Result<std::shared_ptr<DeviceProgram>> load(std::shared_ptr<const schedule::Plan> plan,
                                                     std::span<const Tensor> constants,
                                                     const DeviceLoadOptions& options);
  Result<std::unique_ptr<DeviceMethod>> make_method(const DeviceMethodOptions& options) override;

  /// Steps of the plan, for one set of sizes.
  struct Compiled {
    std::unique_ptr<PlanRunner> runner;
    CommitStep commit;
  };
  Result<Compiled> compile();

  int device() const { return device_; }
  const schedule::Plan& plan() const { return *plan_; }
  DeviceMemory& memory() { return memory_; }
  const SymbolNumbers& symbols() const { return symbols_; }
  const CheckTable& checks() const { return checks_; }
  const StridedCopies& strided_copies() const { return strided_copies_; }

 private:
  CudaProgram(std::shared_ptr<const schedule::Plan> plan, int device,
              std::optional<std::int64_t> memory_limit)
      : plan_(std::move(plan)), device_(device), memory_(memory_limit), strided_copies_(library_) {}
  Result<Compiled> compile_with(CheckTable& checks);
  Status upload(std::span<const Tensor> constants);

  std::shared_ptr<const schedule::Plan> plan_;
  int device_ = 0;
  DeviceMemory memory_;
  std::unique_ptr<MathLibraries> math_;
  KernelLibrary library_;
  StridedCopies strided_copies_;
  SymbolNumbers symbols_;
  CheckTable checks_;
  Block weights_;
  std::vector<std::byte*> constants_;
  std::mutex compiling_;
};

}  // namespace tendon::backends::cuda
