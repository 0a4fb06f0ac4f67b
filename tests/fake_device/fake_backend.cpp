// The library's entry, and what it hands out.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backends/device.h"
#include "base/status_macros.h"
#include "fake_device.h"
#include "fake_memory.h"
#include "fake_method.h"
#include "tendon/version.h"

extern "C" std::byte tendon_fake_device_memory[tendon::test::kFakeDeviceMemoryBytes];
std::byte tendon_fake_device_memory[tendon::test::kFakeDeviceMemoryBytes];

namespace tendon::test {

namespace {

class LoadedFakeProgram final : public backends::DeviceProgram {
 public:
  explicit LoadedFakeProgram(FakeProgram program)
      : program_(std::make_shared<const FakeProgram>(std::move(program))) {}

  Result<std::unique_ptr<backends::DeviceMethod>> make_method(
      const backends::DeviceMethodOptions& options) override {
    return std::unique_ptr<backends::DeviceMethod>(std::make_unique<FakeMethod>(program_, options));
  }

 private:
  std::shared_ptr<const FakeProgram> program_;
};

/// "Compiled kernels": how many the plan has.
Status keep_kernels(const schedule::Plan& plan, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::ofstream file(std::filesystem::path(folder) / kFakeKernels, std::ios::app);
  file << plan.steps.size() << " kernels\n";
  return file ? Status()
              : Status(StatusCode::kFailedPrecondition, folder + ": kernels cannot be kept there");
}

class FakeBackend final : public backends::DeviceBackend {
 public:
  Result<std::shared_ptr<backends::DeviceProgram>> load(
      std::shared_ptr<const schedule::Plan> plan, std::span<const Tensor> constants,
      const backends::DeviceLoadOptions& options) override {
    if (!options.cache_folder.empty())
      TENDON_RETURN_IF_ERROR(keep_kernels(*plan, options.cache_folder));
    FakeProgram program{std::move(plan), {}};
    for (const Tensor& constant : constants) {
      // Those that no step reads come without data.
      Tensor uploaded = constant;
      if (constant.view().data != nullptr) {
        TENDON_ASSIGN_OR_RETURN(uploaded, constant.contiguous_copy());
      }
      program.constants.push_back(std::move(uploaded));
    }
    return std::shared_ptr<backends::DeviceProgram>(
        std::make_shared<LoadedFakeProgram>(std::move(program)));
  }
  std::string describe() const override { return "a fake device"; }
};

}  // namespace

bool is_device_memory(const void* data) {
  const auto* byte = static_cast<const std::byte*>(data);
  return byte >= tendon_fake_device_memory &&
         byte < tendon_fake_device_memory + kFakeDeviceMemoryBytes;
}

}  // namespace tendon::test

extern "C" tendon::backends::DeviceBackend* tendon_device_backend(const char* version, char* error,
                                                                  std::size_t error_bytes) {
  static tendon::test::FakeBackend backend;
  if (std::strcmp(version, TENDON_FAKE_VERSION) == 0) return &backend;
  std::snprintf(error, error_bytes, "it is of version " TENDON_FAKE_VERSION ", expected %s",
                version);
  return nullptr;
}
