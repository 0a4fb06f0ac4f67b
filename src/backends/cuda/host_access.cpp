#include "backends/cuda/host_access.h"

#include "backends/cuda/cuda_status.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

Result<ErrorsOnDevice> ErrorsOnDevice::create(DeviceMemory& memory, const CheckTable& checks,
                                              cudaStream_t stream) {
  ErrorsOnDevice errors;
  errors.checks_ = &checks;
  TENDON_ASSIGN_OR_RETURN(
      errors.table_, memory.allocate(static_cast<std::int64_t>(error_table_bytes(checks.size())),
                                     "records of errors"));
  TENDON_RETURN_IF_ERROR(errors.clear(stream));
  return errors;
}

Status ErrorsOnDevice::clear(cudaStream_t stream) {
  TENDON_CUDA(cudaMemsetAsync(table_.data(), 0, static_cast<std::size_t>(table_.bytes()), stream),
              "clearing records of errors");
  const std::int32_t none = kNoError;
  TENDON_CUDA(cudaMemcpyAsync(table_.data(), &none, sizeof(none), cudaMemcpyHostToDevice, stream),
              "clearing records of errors");
  return to_status(cudaStreamSynchronize(stream), "clearing records of errors");
}

Status ErrorsOnDevice::take(cudaStream_t stream, std::int32_t lowest) {
  ErrorRecordLayout record;
  const std::byte* place =
      table_.data() + kErrorHeaderBytes + static_cast<std::size_t>(lowest) * sizeof(record);
  TENDON_CUDA(cudaMemcpyAsync(&record, place, sizeof(record), cudaMemcpyDeviceToHost, stream),
              "reading a record of an error");
  TENDON_CUDA(cudaStreamSynchronize(stream), "reading a record of an error");
  TENDON_RETURN_IF_ERROR(clear(stream));
  return checks_->status(lowest, record.value, record.size);
}

Status HostAccess::read(const std::byte* device, std::size_t bytes, void* host) {
  std::int32_t lowest = kNoError;
  TENDON_CUDA(
      cudaMemcpyAsync(&lowest, errors_.data(), sizeof(lowest), cudaMemcpyDeviceToHost, stream_),
      "reading from the device");
  if (bytes > 0) {
    TENDON_CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_),
                "reading from the device");
  }
  TENDON_CUDA(cudaStreamSynchronize(stream_), "waiting for the device");
  return lowest == kNoError ? Status() : errors_.take(stream_, lowest);
}

void HostAccess::define(std::span<const ir::Symbol* const> symbols) {
  unread_.insert(unread_.end(), symbols.begin(), symbols.end());
}

Status HostAccess::learn_sizes() {
  if (unread_.empty()) return {};
  values_.resize(numbers_.symbols().size());
  TENDON_RETURN_IF_ERROR(read(reinterpret_cast<const std::byte*>(symbols_),
                              values_.size() * sizeof(std::int64_t), values_.data()));
  for (const ir::Symbol* symbol : unread_)
    sizes_.define(*symbol, values_[static_cast<std::size_t>(numbers_.find(*symbol))]);
  unread_.clear();
  return {};
}

}  // namespace tendon::backends::cuda
