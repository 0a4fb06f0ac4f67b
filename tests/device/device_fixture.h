// Programs on a device: the fake one where TENDON_FAKE_DEVICE names its library, otherwise the one
// that the runtime finds.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "library_variable.h"
#include "recorded_program.h"
#include "tendon/method.h"

namespace tendon::test {

/// Inputs float32[s, 6] twice, s in [1, 9]; output float32[s]. The batches recorded are 4, 8 and 2.
inline constexpr const char* kTwoBatches = "same_bytes_other_shape";

class DeviceTest : public ::testing::Test {
 protected:
  static RecordedProgram load(const std::string& name, const std::string& cache_folder = "") {
    LoadOptions options;
    options.device = Device::kCuda;
    options.cache_folder = cache_folder;
    return load_recorded(name, options);
  }
  static Method make(const RecordedProgram& recorded, const MethodOptions& options = {}) {
    auto method = Method::create(recorded.program, options);
    EXPECT_TRUE(method.ok()) << method.status().to_string();
    return std::move(*method);
  }
  /// Makes a recorded call, and compares.
  static void expect_right(Method& method, const RecordedProgram& recorded, std::size_t call) {
    const auto outputs = method.run(recorded.inputs(call));
    ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
    recorded.expect_outputs(call, *outputs);
  }
  static void expect_all_right(Method& method, const RecordedProgram& recorded) {
    for (std::size_t call = 0; call < recorded.calls.size(); ++call)
      expect_right(method, recorded, call);
  }

#ifdef TENDON_FAKE_DEVICE
 private:
  const LibraryVariable variable_{TENDON_FAKE_DEVICE};
#endif
};

}  // namespace tendon::test
