// A device for tests that is the host itself: what runs there, ir::evaluate computes. Its memory is
// a piece of the host's, so that tests can look into it.
#pragma once

#include <cstddef>

namespace tendon::test {

/// What MethodOptions::cuda_stream points to: runs are put into it.
struct FakeStream {
  int runs = 0;
};

/// The library's symbol for the device's memory: what inputs and bound outputs on the device lie
/// in.
inline constexpr const char* kFakeDeviceMemory = "tendon_fake_device_memory";
inline constexpr std::size_t kFakeDeviceMemoryBytes = std::size_t{1} << 20;

/// File in the cache folder, to which every load adds a line.
inline constexpr const char* kFakeKernels = "fake_kernels";

}  // namespace tendon::test
