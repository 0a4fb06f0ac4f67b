// The shared library of a device's backend, found and opened when a program asks for the device.
#pragma once

#include "backends/device.h"
#include "tendon/status.h"

namespace tendon::runtime {

/// The backend for CUDA devices, from the file that the environment variable TENDON_CUDA_LIBRARY
/// names, otherwise from libtendon_cuda.so next to this code or the running program, otherwise from
/// where the system's loader looks. It stays loaded until the process ends. Thread-safe.
/// Errors: FailedPrecondition (no such library, not one of this version, or it finds no device).
Result<backends::DeviceBackend*> load_device_backend();

}  // namespace tendon::runtime
