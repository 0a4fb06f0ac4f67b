// The promises of Program and Method that concern devices.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/trace.h"
#include "fake_device.h"
#include "library_variable.h"
#include "recorded_program.h"
#include "tendon/method.h"

namespace tendon::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Ne;
using ::testing::NotNull;
using ::testing::StartsWith;

/// Where bound outputs and inputs lie on the device.
std::byte* device_memory() {
  void* library = ::dlopen(TENDON_FAKE_DEVICE, RTLD_NOW);
  return static_cast<std::byte*>(::dlsym(library, kFakeDeviceMemory));
}

/// Programs on the fake device.
class DeviceMethod : public ::testing::Test {
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

 private:
  const LibraryVariable variable_{TENDON_FAKE_DEVICE};
};

// Inputs float32[s, 6] twice, s in [1, 9]; the batches recorded are 4, 8 and 2.
constexpr const char* kTwoBatches = "same_bytes_other_shape";

TEST_F(DeviceMethod, InputsAreCheckedBeforeAnythingRuns) {
  const RecordedProgram recorded = load(kTwoBatches);
  FakeStream stream;
  MethodOptions options;
  options.cuda_stream = &stream;
  Method method = make(recorded, options);
  const auto refused = [&](const std::vector<TensorView>& inputs, const std::string& why) {
    const auto outputs = method.run(inputs);
    ASSERT_FALSE(outputs.ok()) << why;
    EXPECT_EQ(outputs.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(outputs.status().message(), HasSubstr(why));
  };
  std::vector<float> memory(120, 1.0f);
  const auto floats = [&](Sizes sizes) {
    return TensorView::contiguous(memory.data(), DType::kFloat32, std::move(sizes));
  };
  const auto refuse_all = [&] {
    refused({floats({2, 6})}, "takes 2 tensor inputs, not 1");
    refused({floats({10, 6}), floats({10, 6})}, "input 0 ('a_0'), axis 0: size 10, expected");
    refused({floats({0, 6}), floats({0, 6})}, "axis 0: size 0, expected");
    refused({floats({2, 6}), floats({3, 6})}, "input 1 ('a_1'), axis 0: size 3");
    // As many bytes as a right call's.
    refused({floats({3, 4}), floats({3, 4})}, "input 0 ('a_0'), axis 1: size 4, expected 6");
    refused({floats({12}), floats({12})}, "input 0 ('a_0') has rank 1");
    std::vector<TensorView> inputs = {floats({2, 6}), floats({2, 6})};
    inputs[1].dtype = DType::kInt32;
    refused(inputs, "input 1 ('a_1') is int32, expected float32");
    inputs[1] = TensorView::contiguous(nullptr, DType::kFloat32, {2, 6});
    refused(inputs, "input 1 ('a_1') has no data");
  };
  refuse_all();
  EXPECT_EQ(stream.runs, 0);
  expect_right(method, recorded, 1);
  refuse_all();  // nor does a call that was right a moment ago let them pass
  EXPECT_EQ(stream.runs, 1);
  expect_right(method, recorded, 1);
  EXPECT_EQ(method.stats().runs, 2);
}

TEST_F(DeviceMethod, EveryCallHasTheShapesOfItsInputs) {
  const RecordedProgram recorded = load(kTwoBatches);
  Method method = make(recorded);
  for (const std::size_t call : {0u, 1u, 2u, 1u, 1u, 0u}) expect_right(method, recorded, call);
}

TEST_F(DeviceMethod, SizesFromDataAreThoseOfTheRun) {
  for (const char* name : {"mask_read_rows", "nonzero_gather", "data_dependent_slice"}) {
    const RecordedProgram recorded = load(name);
    Method method = make(recorded);
    for (std::size_t call = 0; call < recorded.calls.size(); ++call)
      expect_right(method, recorded, call);
    expect_right(method, recorded, 0);
  }
}

TEST_F(DeviceMethod, OutputsKeepTheirLayout) {
  for (const char* name : {"channels_last_output_dynamic_batch", "permuted_output"}) {
    const RecordedProgram recorded = load(name);
    Method method = make(recorded);
    for (std::size_t call = 0; call < recorded.calls.size(); ++call)
      expect_right(method, recorded, call);
  }
}

TEST_F(DeviceMethod, OutputsAreBoundByTheirUpperBoundInAnyMemory) {
  const RecordedProgram recorded = load(kTwoBatches);
  Method method = make(recorded);
  const std::size_t bound = 9 * sizeof(float);
  ASSERT_EQ(recorded.program.outputs()[0].upper_bound_bytes(), bound);
  std::vector<std::byte> memory(bound);
  // Enough for a batch of 2, not for the largest one.
  const Status small = method.bind_output(0, memory.data(), bound - 1);
  EXPECT_EQ(small.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(small.message(), HasSubstr("has 35 bytes, expected at least 36"));
  EXPECT_EQ(method.bind_output(1, memory.data(), bound).code(), StatusCode::kInvalidArgument);

  const ::testing::Matcher<void*> own = AllOf(Ne(memory.data()), Ne(device_memory()), NotNull());
  const auto expect_written_to = [&](const ::testing::Matcher<void*>& data, Device device) {
    for (const std::size_t call : {1u, 2u}) {
      const auto outputs = method.run(recorded.inputs(call));
      ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
      recorded.expect_outputs(call, *outputs);
      EXPECT_EQ((*outputs)[0].device, device);
      EXPECT_THAT((*outputs)[0].data, data);
    }
  };
  expect_written_to(own, Device::kCpu);
  ASSERT_TRUE(method.bind_output(0, memory.data(), bound).ok());
  expect_written_to(memory.data(), Device::kCpu);
  ASSERT_TRUE(method.bind_output(0, device_memory(), bound).ok());
  expect_written_to(device_memory(), Device::kCuda);
  ASSERT_TRUE(method.bind_output(0, nullptr, 0).ok());
  expect_written_to(own, Device::kCpu);
}

TEST_F(DeviceMethod, AnOutputWithoutABoundCannotBeBound) {
  const RecordedProgram recorded = load("repeat_interleave_by_tensor");
  Method method = make(recorded);
  std::vector<std::byte> memory(1 << 20);
  const Status status = method.bind_output(0, memory.data(), memory.size());
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("no finite upper bound"));
  for (std::size_t call = 0; call < recorded.calls.size(); ++call)
    expect_right(method, recorded, call);
}

TEST_F(DeviceMethod, InputsMayLieOnTheDevice) {
  const RecordedProgram recorded = load(kTwoBatches);
  std::vector<TensorView> inputs = recorded.inputs(0);
  std::memcpy(device_memory(), inputs[1].data, inputs[1].bytes());
  inputs[1].data = device_memory();
  inputs[1].device = Device::kCuda;
  Method method = make(recorded);
  const auto outputs = method.run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
  recorded.expect_outputs(0, *outputs);

  const RecordedProgram on_cpu = load_recorded(kTwoBatches, {});
  Method cpu_method = make(on_cpu);
  EXPECT_THAT(cpu_method.run(inputs).status().message(),
              HasSubstr("input 1 ('a_1') is not in CPU memory"));
}

TEST_F(DeviceMethod, WhatAProgramWritesToAnInputIsWrittenToTheCallers) {
  const RecordedProgram recorded = load("input_mutation");  // a += 1; return 2 * a
  Method method = make(recorded);
  std::vector<float> memory = {1, -1, 2, -1, 3, -1};
  TensorView input = TensorView::contiguous(memory.data(), DType::kFloat32, {3});
  input.strides = {2};
  ASSERT_TRUE(method.run(std::vector<TensorView>{input}).ok());
  EXPECT_THAT(memory, ElementsAre(2, -1, 3, -1, 4, -1));
}

TEST_F(DeviceMethod, StatesAdvanceOncePerCallThatSucceeds) {
  const RecordedProgram recorded = load("kv_cache_step");
  Method method = make(recorded), other = make(recorded);
  expect_right(method, recorded, 0);
  // A position that the cache does not have.
  std::int64_t position = 8;
  std::vector<TensorView> inputs = recorded.inputs(2);
  inputs[3].data = &position;
  EXPECT_EQ(method.run(inputs).status().code(), StatusCode::kOutOfRange);
  for (std::size_t call = 1; call < recorded.calls.size(); ++call)
    expect_right(method, recorded, call);
  EXPECT_EQ(method.stats().runs, static_cast<std::int64_t>(recorded.calls.size()));
  // States are the method's own.
  expect_right(other, recorded, 0);
}

TEST_F(DeviceMethod, ResetGivesBackWhatWasSaved) {
  const RecordedProgram recorded = load("buffer_counter");
  Method method = make(recorded);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t call = 0; call < recorded.calls.size(); ++call)
      expect_right(method, recorded, call);
    ASSERT_TRUE(method.reset().ok());
  }
}

TEST_F(DeviceMethod, StatsSayHowEveryKeyIsCaptured) {
  const RecordedProgram recorded = load(kTwoBatches);
  Method method = make(recorded);
  EXPECT_EQ(method.stats().shape_keys, 0);
  for (const std::size_t call : {0u, 1u, 1u, 1u}) expect_right(method, recorded, call);
  const MethodStats stats = method.stats();
  EXPECT_EQ(stats.runs, 4);
  EXPECT_EQ(stats.shape_keys, 2);
  ASSERT_EQ(stats.cuda_graphs.size(), 2u);
  const CudaGraphStats& graph = stats.cuda_graphs[1];
  EXPECT_EQ(graph.key, "float32[8, 6], float32[8, 6]");
  EXPECT_EQ(graph.state, "captured whole");
  EXPECT_EQ(graph.pieces, 1);
  EXPECT_EQ(graph.runs, 3);
  EXPECT_EQ(graph.replays, 2);
}

TEST_F(DeviceMethod, StatsCountTheArenaAndTheOperationsOfProducts) {
  const RecordedProgram recorded = load("dynamic_batch_mlp");
  const RecordedProgram on_cpu = load_recorded("dynamic_batch_mlp", {});
  Method method = make(recorded), cpu_method = make(on_cpu);
  EXPECT_GT(method.stats().arena_bytes, 0);
  EXPECT_EQ(method.stats().product_operations, 0);
  for (std::size_t call = 0; call < recorded.calls.size(); ++call) {
    expect_right(method, recorded, call);
    expect_right(cpu_method, on_cpu, call);
    EXPECT_GT(method.stats().product_operations, 0);
    EXPECT_EQ(method.stats().product_operations, cpu_method.stats().product_operations);
  }
}

TEST_F(DeviceMethod, KeepsAsManyGraphsAsItMay) {
  const RecordedProgram recorded = load(kTwoBatches);
  MethodOptions options;
  for (const int wrong : {0, -1}) {
    options.max_cuda_graphs = wrong;
    const Status status = Method::create(recorded.program, options).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(),
              "max_cuda_graphs is " + std::to_string(wrong) + ", expected 1 or more");
  }
  options.max_cuda_graphs = 2;
  Method method = make(recorded, options);
  for (const std::size_t call : {0u, 1u, 0u, 2u}) expect_right(method, recorded, call);
  const std::vector<CudaGraphStats> graphs = method.stats().cuda_graphs;
  ASSERT_EQ(graphs.size(), 2u);
  EXPECT_THAT(graphs[0].key, StartsWith("float32[4, 6]"));
  EXPECT_THAT(graphs[1].key, StartsWith("float32[2, 6]"));
}

TEST_F(DeviceMethod, GraphsAreCapturedAsAskedFor) {
  const RecordedProgram recorded = load("cond_on_tensor");
  MethodOptions options;
  Method by_default = make(recorded, options);
  expect_right(by_default, recorded, 0);
  EXPECT_EQ(by_default.stats().cuda_graphs[0].state, "captured in pieces");
  options.cuda_graphs = CudaGraphs::kOff;
  Method off = make(recorded, options);
  expect_right(off, recorded, 0);
  EXPECT_EQ(off.stats().cuda_graphs[0].state, "not captured");
  options.cuda_graphs = CudaGraphs::kStrict;
  Method strict = make(recorded, options);
  const auto outputs = strict.run(recorded.inputs(0));
  ASSERT_FALSE(outputs.ok());
  EXPECT_THAT(outputs.status().message(), HasSubstr("cannot be captured whole"));
  EXPECT_EQ(strict.stats().runs, 0);
}

TEST_F(DeviceMethod, AProgramIsUploadedOnceWhateverTheNumberOfMethods) {
  const std::string folder = ::testing::TempDir() + std::to_string(::getpid()) + "_kernels/deep";
  const RecordedProgram recorded = load("dynamic_batch_mlp", folder);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      MethodOptions options;
      options.threads = 1;
      Method method = make(recorded, options);
      for (const std::size_t call : {0u, 1u, 0u}) expect_right(method, recorded, call);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::ifstream kernels(std::filesystem::path(folder) / kFakeKernels);
  std::string line;
  int loads = 0;
  while (std::getline(kernels, line)) ++loads;
  EXPECT_EQ(loads, 1);
}

TEST_F(DeviceMethod, ALoadThatFailsOnTheDeviceSaysWhyAndMayBeTriedAgain) {
  const std::string folder = ::testing::TempDir() + std::to_string(::getpid()) + "_not_a_folder";
  std::ofstream(folder) << "a file";
  const RecordedProgram recorded = load("dynamic_batch_mlp", folder);
  EXPECT_THAT(Method::create(recorded.program).status().message(),
              HasSubstr(folder + ": kernels cannot be kept there"));
  std::filesystem::remove(folder);
  Method method = make(recorded);
  expect_right(method, recorded, 0);
}

TEST_F(DeviceMethod, RunsAreTraced) {
  const RecordedProgram recorded = load("buffer_counter");
  base::TraceSink sink;
  MethodOptions options;
  options.trace = &sink;
  Method method = make(recorded, options);
  sink.take();
  expect_right(method, recorded, 0);
  const std::vector<base::TraceSpan> spans = sink.take();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].category, "step");
}

// One rand of four elements, without weights.
constexpr const char* kRandomGraph = R"({"graph_module":{"graph":{"inputs":[],
"outputs":[{"as_tensor":{"name":"rand"}}],
"nodes":[{"target":"torch.ops.aten.rand.default",
  "inputs":[{"name":"size","arg":{"as_ints":[4]},"kind":1}],
  "outputs":[{"as_tensor":{"name":"rand"}}],"metadata":{},
  "is_hop_single_tensor_return":null,"name":"rand"}],
"tensor_values":{"rand":{"dtype":7,"sizes":[{"as_int":4}],"requires_grad":false,
  "device":{"type":"cpu","index":null},"strides":[{"as_int":1}],"storage_offset":{"as_int":0},
  "layout":7}},
"sym_int_values":{},"sym_bool_values":{},"is_single_tensor_return":false,"custom_obj_values":{},
"sym_float_values":{}},
"signature":{"input_specs":[],
  "output_specs":[{"user_output":{"arg":{"as_tensor":{"name":"rand"}}}}]},
"module_call_graph":[{"fqn":"","signature":{"inputs":[],"outputs":[],
  "in_spec":"[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": []}, {\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]",
  "out_spec":"[1, {\"type\": null, \"context\": null, \"children_spec\": []}]",
  "forward_arg_names":[]}}],"metadata":{},"treespec_namedtuple_fields":{}},
"opset_version":{"aten":10},"range_constraints":{},"schema_version":{"major":8,"minor":17},
"verifiers":["TRAINING"],"torch_version":"2.11.0","guards_code":[]})";

TEST_F(DeviceMethod, RandomNumbersFollowFromTheSeed) {
  const std::string path = ::testing::TempDir() + std::to_string(::getpid()) + "_rand.json";
  std::ofstream(path) << kRandomGraph;
  const auto draws = [&](Device device, std::uint64_t seed) {
    LoadOptions load_options;
    load_options.device = device;
    const auto program = Program::load(path, load_options);
    EXPECT_TRUE(program.ok()) << program.status().to_string();
    MethodOptions options;
    options.seed = seed;
    auto method = Method::create(*program, options);
    EXPECT_TRUE(method.ok()) << method.status().to_string();
    const auto run = [&] {
      const auto outputs = method->run({});
      EXPECT_TRUE(outputs.ok()) << outputs.status().to_string();
      const TensorView& output = (*outputs)[0];
      return std::vector<float>(output.as<float>(), output.as<float>() + output.elements());
    };
    std::vector<std::vector<float>> all = {run(), run()};
    EXPECT_TRUE(method->reset().ok());
    EXPECT_EQ(run(), all[0]);
    return all;
  };
  const auto first = draws(Device::kCuda, 1);
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(draws(Device::kCuda, 2), first);
  EXPECT_EQ(draws(Device::kCpu, 1), first);
}

}  // namespace
}  // namespace tendon::test
