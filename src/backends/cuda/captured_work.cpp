#include "backends/cuda/captured_work.h"

#include <utility>

#include "backends/cuda/cuda_status.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

CapturedWork::~CapturedWork() {
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
}

CapturedWork::CapturedWork(CapturedWork&& other) noexcept
    : executable_(std::exchange(other.executable_, nullptr)) {}

CapturedWork& CapturedWork::operator=(CapturedWork&& other) noexcept {
  std::swap(executable_, other.executable_);
  return *this;
}

Status CapturedWork::capture(cudaStream_t stream, const std::function<Status()>& enqueue) {
  // Relaxed: libraries may load a kernel on the way, and other threads' calls are not our affair.
  TENDON_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "beginning a capture");
  const Status enqueued = enqueue();
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  Status status = enqueued.ok() ? to_status(ended, "ending a capture") : enqueued;
  if (!enqueued.ok()) (void)cudaGetLastError();
  cudaGraphExec_t executable = nullptr;
  if (status.ok())
    status = to_status(cudaGraphInstantiate(&executable, graph, 0), "making a graph");
  if (graph != nullptr) cudaGraphDestroy(graph);
  if (!status.ok()) return status;
  // What the first launch would otherwise do.
  status = to_status(cudaGraphUpload(executable, stream), "uploading a graph");
  if (status.ok()) status = to_status(cudaStreamSynchronize(stream), "uploading a graph");
  if (!status.ok()) {
    cudaGraphExecDestroy(executable);
    return status;
  }
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  executable_ = executable;
  return {};
}

Status CapturedWork::launch(cudaStream_t stream) const {
  return to_status(cudaGraphLaunch(executable_, stream), "launching a graph");
}

}  // namespace tendon::backends::cuda
