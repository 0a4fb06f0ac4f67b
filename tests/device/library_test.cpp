// How the library of a device is found, and what is said where it cannot be used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "library_variable.h"
#include "tendon/program.h"
#include "tendon/version.h"

namespace tendon::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kCounter = TENDON_TEST_DATA "/programs/buffer_counter.pt2";

Status load_with(const std::string& library, Device device = Device::kCuda) {
  const LibraryVariable variable(library);
  LoadOptions options;
  options.device = device;
  return Program::load(kCounter, options).status();
}

void expect_unavailable(const std::string& library, const ::testing::Matcher<std::string>& said) {
  const Status status = load_with(library);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("CUDA is not available"), said));
}

TEST(DeviceLibrary, OneThatIsNotThereIsNamedWithWhereItBelongs) {
  expect_unavailable(
      "/nonexistent/device.so",
      AllOf(HasSubstr("/nonexistent/device.so: cannot open shared object file"),
            HasSubstr("libtendon_cuda.so is built with Tendon where CMake finds the CUDA toolkit"),
            HasSubstr("next to the program"), HasSubstr("LD_LIBRARY_PATH")));
}

TEST(DeviceLibrary, AnotherFileIsRefused) {
  expect_unavailable(kCounter, AllOf(HasSubstr(kCounter), HasSubstr("ELF")));
}

// A bare name is looked up by the system's loader.
TEST(DeviceLibrary, ALibraryOfSomethingElseIsRefused) {
  expect_unavailable("libm.so.6", HasSubstr("libm.so.6 is not a library of a device: it has no "
                                            "function tendon_device_backend"));
}

TEST(DeviceLibrary, AnotherVersionIsRefusedWithBoth) {
  expect_unavailable(
      TENDON_OTHER_VERSION,
      HasSubstr(TENDON_OTHER_VERSION ": it is of version 0.0.1, expected " TENDON_VERSION));
}

TEST(DeviceLibrary, ADeviceThatIsNotThereSaysWhy) {
  expect_unavailable(TENDON_ABSENT_DEVICE,
                     HasSubstr(TENDON_ABSENT_DEVICE ": there is no such device in this drawer"));
}

TEST(DeviceLibrary, AFailureIsNotRemembered) {
  EXPECT_FALSE(load_with("/nonexistent/device.so").ok());
  EXPECT_FALSE(load_with(TENDON_ABSENT_DEVICE).ok());
  const Status status = load_with(TENDON_FAKE_DEVICE);
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(DeviceLibrary, TheCpuNeedsNone) {
  const Status status = load_with("/nonexistent/device.so", Device::kCpu);
  EXPECT_TRUE(status.ok()) << status.to_string();
}

}  // namespace
}  // namespace tendon::test
