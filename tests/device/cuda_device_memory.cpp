#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "device_memory.h"

namespace tendon::test {

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;

void expect_done(cudaError_t result) {
  EXPECT_EQ(result, cudaSuccess) << cudaGetErrorString(result);
}

}  // namespace

DeviceMemory::DeviceMemory() { expect_done(cudaMalloc(reinterpret_cast<void**>(&data_), kBytes)); }
DeviceMemory::~DeviceMemory() { expect_done(cudaFree(data_)); }

void DeviceMemory::copy_in(void* device, const void* host, std::size_t bytes) {
  expect_done(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
}
void DeviceMemory::copy_out(void* host, const void* device, std::size_t bytes) {
  expect_done(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

}  // namespace tendon::test
