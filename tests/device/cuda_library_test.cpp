// libtendon_cuda.so where there is no GPU.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "backends/device.h"
#include "command_outcome.h"
#include "library_variable.h"
#include "tendon/version.h"

namespace tendon::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(CudaLibrary, WithoutAGpuTheCommandSaysWhatIsMissing) {
  if (std::filesystem::exists("/dev/nvidiactl") || std::filesystem::exists("/dev/dxg")) {
    GTEST_SKIP() << "there is a GPU here";
  }
  const LibraryVariable variable(TENDON_CUDA_BACKEND);
  const tools::Outcome outcome =
      tools::tendon("run " TENDON_TEST_DATA "/programs/buffer_counter.pt2 --device cuda");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("FailedPrecondition: CUDA is not available: "),
                                 HasSubstr(TENDON_CUDA_BACKEND),
                                 AnyOf(HasSubstr("no NVIDIA driver"), HasSubstr("no NVIDIA GPU"))));
}

TEST(CudaLibrary, AnotherVersionIsRefusedBeforeAnythingElse) {
  void* library = ::dlopen(TENDON_CUDA_BACKEND, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto entry = reinterpret_cast<backends::DeviceBackendEntry>(
      ::dlsym(library, backends::kDeviceBackendEntry));
  ASSERT_NE(entry, nullptr);
  char reason[200] = "";
  EXPECT_EQ(entry("0.0.1", reason, sizeof(reason)), nullptr);
  EXPECT_THAT(reason, AllOf(HasSubstr(TENDON_VERSION), HasSubstr("0.0.1")));
  // A reason that is too long is cut off.
  char cut[5] = "";
  EXPECT_EQ(entry("0.0.1", cut, sizeof(cut)), nullptr);
  EXPECT_EQ(std::string(cut), std::string(reason).substr(0, 4));
}

}  // namespace
}  // namespace tendon::test
