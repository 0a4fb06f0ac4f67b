// A library of a device that this machine does not have.
#include <cstdio>

#include "backends/device.h"

extern "C" tendon::backends::DeviceBackend* tendon_device_backend(const char*, char* error,
                                                                  std::size_t error_bytes) {
  std::snprintf(error, error_bytes, "there is no such device in this drawer");
  return nullptr;
}
