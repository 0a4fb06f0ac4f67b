// Work of a stream, recorded once and replayed as one launch.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "tendon/status.h"

namespace tendon::backends::cuda {

class CapturedWork {
 public:
  CapturedWork() = default;
  ~CapturedWork();
  CapturedWork(CapturedWork&& other) noexcept;
  CapturedWork& operator=(CapturedWork&& other) noexcept;
  CapturedWork(const CapturedWork&) = delete;
  CapturedWork& operator=(const CapturedWork&) = delete;

  /// Records what `enqueue` puts into `stream`, which runs nothing. The stream is for captures
  /// alone, so that nobody else's work is drawn in. After an error nothing is captured.
  Status capture(cudaStream_t stream, const std::function<Status()>& enqueue);
  bool captured() const { return executable_ != nullptr; }
  Status launch(cudaStream_t stream) const;

 private:
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace tendon::backends::cuda
