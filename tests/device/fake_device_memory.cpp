#include <dlfcn.h>

#include <cstring>

#include "device_memory.h"
#include "fake_device.h"

namespace tendon::test {

DeviceMemory::DeviceMemory() {
  void* library = ::dlopen(TENDON_FAKE_DEVICE, RTLD_NOW);
  data_ = static_cast<std::byte*>(::dlsym(library, kFakeDeviceMemory));
}
DeviceMemory::~DeviceMemory() = default;  // it is the library's

void DeviceMemory::copy_in(void* device, const void* host, std::size_t bytes) {
  std::memcpy(device, host, bytes);
}
void DeviceMemory::copy_out(void* host, const void* device, std::size_t bytes) {
  std::memcpy(host, device, bytes);
}

}  // namespace tendon::test
