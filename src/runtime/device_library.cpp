#include "runtime/device_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tendon/version.h"

namespace tendon::runtime {

namespace {

constexpr const char* kVariable = "TENDON_CUDA_LIBRARY";
constexpr const char* kName = "libtendon_cuda.so";
constexpr const char* kHint =
    "; libtendon_cuda.so is built with Tendon where CMake finds the CUDA toolkit (TENDON_CUDA=ON), "
    "and belongs next to the program or where the system's loader looks (LD_LIBRARY_PATH)";

Status unavailable(const std::string& message) {
  return Status(StatusCode::kFailedPrecondition, "CUDA is not available: " + message);
}

/// A path, or a bare name for the system's loader.
std::string library_path() {
  if (const char* named = std::getenv(kVariable); named != nullptr && *named != '\0') return named;
  std::error_code error;
  std::vector<std::filesystem::path> neighbours = {
      std::filesystem::read_symlink("/proc/self/exe", error)};
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&load_device_backend), &info) != 0) {
    neighbours.insert(neighbours.begin(), info.dli_fname);
  }
  for (const std::filesystem::path& neighbour : neighbours) {
    const std::filesystem::path library = neighbour.parent_path() / kName;
    // A program that was started by its bare name does not say where it is.
    if (neighbour.has_parent_path() && std::filesystem::exists(library, error)) return library;
  }
  return kName;
}

}  // namespace

Result<backends::DeviceBackend*> load_device_backend() {
  const std::string path = library_path();
  // Never unloaded: programs and methods of the library may outlive any owner here.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    return unavailable((reason != nullptr ? reason : path) + std::string(kHint));
  }
  const auto entry = reinterpret_cast<backends::DeviceBackendEntry>(
      ::dlsym(library, backends::kDeviceBackendEntry));
  if (entry == nullptr) {
    return unavailable(path + " is not a library of a device: it has no function " +
                       backends::kDeviceBackendEntry);
  }
  char reason[1024] = "";
  backends::DeviceBackend* backend = entry(TENDON_VERSION, reason, sizeof(reason));
  if (backend == nullptr) return unavailable(path + ": " + reason);
  return backend;
}

}  // namespace tendon::runtime
