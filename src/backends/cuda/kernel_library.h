// Generated kernels of a program: texts in, functions of the GPU at hand out.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/cuda/kernel_cache.h"
#include "tendon/status.h"

namespace tendon::backends::cuda {

using KernelId = int;

/// Texts with the same words are one kernel. Add texts, compile once, then launch from any thread.
class KernelLibrary {
 public:
  /// `text`: definition of a kernel named KERNEL ("extern "C" __global__ void KERNEL(...) {...}").
  /// Everything of device_code.cuh is there.
  KernelId add(std::string text);
  std::size_t kernel_count() const { return texts_.size(); }

  /// The sources of compilation units: all texts, numbered names.
  std::vector<std::string> units() const;
  /// Compiles what is not in the cache, and loads the functions into the current context.
  Status load(int compute_capability, const KernelCache& cache);
  /// Puts a kernel into a stream, in a grid and blocks of one axis. Errors: Internal.
  Status launch(KernelId id, cudaStream_t stream, std::int64_t blocks, int threads,
                int shared_bytes, void** parameters) const;

  /// Instead of the driver: kernels run elsewhere (tests, on the host).
  using Launcher = std::function<Status(KernelId id, cudaStream_t stream, std::int64_t blocks,
                                        int threads, int shared_bytes, void** parameters)>;
  void launch_by(Launcher launcher) { launcher_ = std::move(launcher); }

  KernelLibrary() = default;
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, KernelId> ids_;
  std::vector<CUmodule> modules_;
  std::vector<CUfunction> functions_;
  Launcher launcher_;
};

/// Device code of one unit for a compute capability (90: sm_90), by NVRTC. Errors: Internal, with
/// the compiler's log.
Result<std::string> compile_unit(const std::string& source, int compute_capability);

}  // namespace tendon::backends::cuda
