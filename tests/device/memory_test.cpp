// Inputs, outputs and order of runs on the device itself; on any device.
#include <gmock/gmock.h>

#include "device_fixture.h"
#include "device_memory.h"

namespace tendon::test {
namespace {

using ::testing::HasSubstr;

constexpr int kRounds = 4;

class MemoryOfTheDevice : public DeviceTest {
 protected:
  /// Binds every output to the device's memory.
  void bind_all(Method& method, const RecordedProgram& recorded) {
    const std::vector<TensorInfo>& outputs = recorded.program.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(*outputs[i].upper_bound_bytes());
      const Status status = method.bind_output(i, memory_.take(bytes), bytes);
      EXPECT_TRUE(status.ok()) << status.to_string();
    }
  }
  /// Outputs that lie on the device.
  static void expect_outputs(const RecordedProgram& recorded, std::size_t call,
                             std::span<const TensorView> outputs) {
    std::vector<Tensor> tensors;
    std::vector<TensorView> views;
    for (const TensorView& output : outputs) {
      EXPECT_EQ(output.device, Device::kCuda);
      tensors.push_back(DeviceMemory::download(output));
      views.push_back(tensors.back().view());
    }
    recorded.expect_outputs(call, views);
  }

  DeviceMemory memory_;
};

TEST_F(MemoryOfTheDevice, MayHoldInputs) {
  const RecordedProgram recorded = load(kTwoBatches);
  std::vector<TensorView> inputs = recorded.inputs(0);
  inputs[1] = memory_.upload(inputs[1]);
  Method method = make(recorded);
  for (int round = 0; round < kRounds; ++round) {
    const auto outputs = method.run(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
    recorded.expect_outputs(0, *outputs);
    // On the host again, or both there.
    if (round == 1) inputs = recorded.inputs(0);
    if (round == 2) inputs = {memory_.upload(inputs[0]), memory_.upload(inputs[1])};
  }
  EXPECT_EQ(method.stats().shape_keys, 1);

  const RecordedProgram on_cpu = load_recorded(kTwoBatches, {});
  Method cpu_method = make(on_cpu);
  EXPECT_THAT(cpu_method.run(inputs).status().message(),
              HasSubstr("input 0 ('a_0') is not in CPU memory"));
}

TEST_F(MemoryOfTheDevice, MayHoldBoundOutputs) {
  const RecordedProgram recorded = load(kTwoBatches);
  Method method = make(recorded);
  const std::size_t bytes = 9 * sizeof(float);
  for (int round = 0; round < kRounds; ++round) {
    std::byte* bound = memory_.take(bytes);
    ASSERT_TRUE(method.bind_output(0, bound, bytes).ok());
    for (const std::size_t call : {1u, 2u}) {
      const auto outputs = method.run(recorded.inputs(call));
      ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
      EXPECT_EQ((*outputs)[0].data, bound);
      expect_outputs(recorded, call, *outputs);
    }
  }
  ASSERT_TRUE(method.bind_output(0, nullptr, 0).ok());
  const auto outputs = method.run(recorded.inputs(0));
  ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
  EXPECT_EQ((*outputs)[0].device, Device::kCpu);
  recorded.expect_outputs(0, *outputs);
}

TEST_F(MemoryOfTheDevice, MustHoldAllOutputsOfRunsInStreamOrder) {
  const RecordedProgram recorded = load(kTwoBatches);
  MethodOptions options;
  options.cuda_stream_order = true;
  Method method = make(recorded, options);
  const auto refused = method.run(recorded.inputs(0));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("output 0 is not bound to device memory"));
  bind_all(method, recorded);
  for (const std::size_t call : {0u, 0u, 1u, 0u, 1u, 1u}) {
    const auto outputs = method.run(recorded.inputs(call));
    ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
    ASSERT_TRUE(method.wait().ok());
    expect_outputs(recorded, call, *outputs);
  }
}

TEST_F(MemoryOfTheDevice, RunsInStreamOrderGiveTheirErrorsLater) {
  const RecordedProgram recorded = load("kv_cache_step");
  MethodOptions options;
  options.cuda_stream_order = true;
  Method method = make(recorded, options);
  bind_all(method, recorded);
  const auto expect_next = [&](std::size_t call) {
    const auto outputs = method.run(recorded.inputs(call));
    ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
    ASSERT_TRUE(method.wait().ok());
    expect_outputs(recorded, call, *outputs);
  };
  expect_next(0);
  expect_next(1);
  std::int64_t position = 8;  // the cache does not have it
  std::vector<TensorView> inputs = recorded.inputs(2);
  inputs[3].data = &position;
  EXPECT_TRUE(method.run(inputs).ok());
  EXPECT_EQ(method.wait().code(), StatusCode::kOutOfRange);
  EXPECT_TRUE(method.wait().ok());  // it is told once
  for (std::size_t call = 2; call < recorded.calls.size(); ++call) expect_next(call);
}

TEST_F(MemoryOfTheDevice, WithoutStreamOrderThereIsNothingToWaitFor) {
  const RecordedProgram recorded = load("kv_cache_step"),
                        on_cpu = load_recorded("kv_cache_step", {});
  Method method = make(recorded), cpu_method = make(on_cpu);
  for (Method* waiting : {&method, &cpu_method}) {
    std::int64_t position = 8;
    std::vector<TensorView> inputs = recorded.inputs(0);
    inputs[3].data = &position;
    EXPECT_EQ(waiting->run(inputs).status().code(), StatusCode::kOutOfRange);
    EXPECT_TRUE(waiting->wait().ok());
  }
}

}  // namespace
}  // namespace tendon::test
