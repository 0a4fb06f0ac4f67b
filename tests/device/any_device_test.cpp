// The promises of Program and Method on any device, each against what breaks it elsewhere: run on
// the fake device, and on a GPU where there is one.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <thread>

#include "device_fixture.h"

namespace tendon::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// More runs of one key than a device needs to warm up, capture and replay.
constexpr int kRounds = 4;

class AnyDevice : public DeviceTest {};

/// Inputs in memory of their own, which the test may change.
struct CopiedInputs {
  explicit CopiedInputs(const std::vector<TensorView>& inputs) {
    for (const TensorView& input : inputs) {
      tensors.push_back(*Tensor(input, nullptr).contiguous_copy());
      views.push_back(tensors.back().view());
    }
  }
  void overwrite() {
    for (const TensorView& view : views) std::memset(view.data, 0x7f, view.bytes());
  }
  std::vector<Tensor> tensors;
  std::vector<TensorView> views;
};

TEST_F(AnyDevice, InputsThatDoNotFitAreRefusedAndNothingIsWritten) {
  const RecordedProgram recorded = load(kTwoBatches);
  Method method = make(recorded);
  std::vector<float> written(9, -1.0f);
  ASSERT_TRUE(method.bind_output(0, written.data(), written.size() * sizeof(float)).ok());
  std::vector<float> memory(120, 1.0f);
  const auto floats = [&](Sizes sizes) {
    return TensorView::contiguous(memory.data(), DType::kFloat32, std::move(sizes));
  };
  TensorView integers = floats({2, 6}), missing = floats({2, 6}), strideless = floats({2, 6});
  integers.dtype = DType::kInt32;
  missing.data = nullptr;
  strideless.strides = {6};
  const std::pair<std::vector<TensorView>, const char*> mistakes[] = {
      {{floats({2, 6})}, "takes 2 tensor inputs, not 1"},
      {{floats({10, 6}), floats({10, 6})}, "input 0 ('a_0'), axis 0: size 10, expected"},
      {{floats({0, 6}), floats({0, 6})}, "axis 0: size 0, expected"},
      {{floats({2, 6}), floats({3, 6})}, "input 1 ('a_1'), axis 0: size 3"},
      // As many bytes as a right call's.
      {{floats({3, 4}), floats({3, 4})}, "input 0 ('a_0'), axis 1: size 4, expected 6"},
      {{floats({6, 2}), floats({6, 2})}, "input 0 ('a_0'), axis 1: size 2, expected 6"},
      {{floats({12}), floats({12})}, "input 0 ('a_0') has rank 1"},
      {{floats({2, 6}), integers}, "input 1 ('a_1') is int32, expected float32"},
      {{floats({2, 6}), missing}, "input 1 ('a_1') has no data"},
      {{floats({2, 6}), strideless},
       "input 1 ('a_1') has 1 strides, expected one for each of its 2"},
  };
  constexpr std::size_t kBatchOfTwo = 2;
  std::int64_t runs = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (const auto& [inputs, why] : mistakes) {
      std::fill(written.begin(), written.end(), -1.0f);
      const auto outputs = method.run(inputs);
      ASSERT_FALSE(outputs.ok()) << why;
      EXPECT_EQ(outputs.status().code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(outputs.status().message(), HasSubstr(why));
      EXPECT_THAT(written, Each(-1.0f));
      // Nor does a call that was right a moment ago let the next mistake pass.
      expect_right(method, recorded, kBatchOfTwo);
      ++runs;
    }
  }
  EXPECT_EQ(method.stats().runs, runs);
  // A mistake costs no preparation.
  EXPECT_EQ(method.stats().shape_keys, 1);
}

TEST_F(AnyDevice, EveryCallHasTheShapesOfItsInputs) {
  const RecordedProgram recorded = load(kTwoBatches);
  for (const int graphs : {1, 2, 8}) {
    MethodOptions options;
    options.max_cuda_graphs = graphs;
    Method method = make(recorded, options);
    for (const std::size_t call : {0u, 1u, 2u, 1u, 1u, 1u, 0u, 0u, 0u, 0u, 2u, 1u, 0u, 2u, 2u})
      expect_right(method, recorded, call);
  }
}

TEST_F(AnyDevice, OtherStridesGiveTheSameValues) {
  const RecordedProgram recorded = load(kTwoBatches);
  Method method = make(recorded);
  // The same bytes in number, column after column.
  std::vector<TensorView> inputs = recorded.inputs(0);
  const std::int64_t rows = inputs[0].sizes[0], columns = inputs[0].sizes[1];
  std::vector<float> turned(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    turned[static_cast<std::size_t>(i % columns * rows + i / columns)] =
        inputs[0].as<const float>()[i];
  }
  inputs[0].data = turned.data();
  inputs[0].strides = {1, rows};
  for (int round = 0; round < kRounds; ++round) {
    expect_right(method, recorded, 0);
    const auto outputs = method.run(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
    recorded.expect_outputs(0, *outputs);
  }
}

TEST_F(AnyDevice, WhatTheCallerDoesWithItsInputsAfterwardsChangesNothing) {
  const RecordedProgram recorded = load(kTwoBatches);
  Method method = make(recorded);
  for (int round = 0; round < kRounds; ++round) {
    CopiedInputs inputs(recorded.inputs(0));
    const auto outputs = method.run(inputs.views);
    ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
    inputs.overwrite();
    recorded.expect_outputs(0, *outputs);
  }
}

// A mask's count stays on the device: neither a read nor a write needs the host.
TEST_F(AnyDevice, MaskReadsAndWritesAreCapturedWhole) {
  for (const char* name :
       {"mask_read_rows", "mask_read_full", "mask_last_dims", "mask_read_mean",
        "mask_read_then_linear", "mask_read_softmax_scatter_back", "mask_write_scalar",
        "mask_write_rows_vector", "mask_write_from_mask_read", "nonzero_gather"}) {
    const RecordedProgram recorded = load(name);
    MethodOptions options;
    options.cuda_graphs = CudaGraphs::kStrict;
    Method method = make(recorded, options);
    for (int round = 0; round < kRounds; ++round) expect_all_right(method, recorded);
    for (const CudaGraphStats& graph : method.stats().cuda_graphs)
      EXPECT_EQ(graph.state, "captured whole") << name << ": " << graph.reason;
  }
}

// Control flow and sizes that the host must know: captured in pieces or not at all, never wrong.
TEST_F(AnyDevice, NoCallFailsBecauseOfCapture) {
  for (const char* name : {"cond_on_tensor", "while_loop_count", "scans", "data_dependent_slice",
                           "repeat_interleave_by_tensor", "unique_values"}) {
    const RecordedProgram recorded = load(name);
    Method method = make(recorded);
    for (int round = 0; round < kRounds; ++round) expect_all_right(method, recorded);
    const MethodStats stats = method.stats();
    ASSERT_FALSE(stats.cuda_graphs.empty());
    for (const CudaGraphStats& graph : stats.cuda_graphs)
      EXPECT_EQ(graph.state == "captured whole", graph.reason.empty()) << name;
  }
}

TEST_F(AnyDevice, OutputsKeepTheirLayoutAndAreCapturedWhole) {
  for (const char* name : {"channels_last_output_dynamic_batch", "permuted_output"}) {
    const RecordedProgram recorded = load(name);
    Method method = make(recorded);
    for (int round = 0; round < kRounds; ++round) expect_all_right(method, recorded);
    for (const CudaGraphStats& graph : method.stats().cuda_graphs)
      EXPECT_EQ(graph.state, "captured whole") << name << ": " << graph.reason;
  }
}

TEST_F(AnyDevice, OutputsThatAliasInPyTorchAreEachRight) {
  const RecordedProgram recorded = load("outputs_that_alias");
  Method method = make(recorded);
  for (int round = 0; round < kRounds; ++round) expect_all_right(method, recorded);
}

TEST_F(AnyDevice, OutputsAreBoundByTheirUpperBound) {
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
  const auto outputs = method.run(recorded.inputs(0));
  ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
  EXPECT_NE((*outputs)[0].data, memory.data());
  EXPECT_EQ((*outputs)[0].device, Device::kCpu);
}

TEST_F(AnyDevice, AnOutputWithoutABoundCannotBeBound) {
  const RecordedProgram recorded = load("repeat_interleave_by_tensor");
  Method method = make(recorded);
  std::vector<std::byte> memory(1 << 20);
  const Status status = method.bind_output(0, memory.data(), memory.size());
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("no finite upper bound"));
  expect_all_right(method, recorded);
}

TEST_F(AnyDevice, OutputsMayBeBoundAnewBetweenCalls) {
  const RecordedProgram recorded = load(kTwoBatches);
  Method method = make(recorded);
  std::vector<float> first(9), second(9);
  for (int round = 0; round < 2 * kRounds; ++round) {
    std::vector<float>& bound = round % 2 == 0 ? first : second;
    std::vector<float>& other = round % 2 == 0 ? second : first;
    std::fill(other.begin(), other.end(), -1.0f);
    ASSERT_TRUE(method.bind_output(0, bound.data(), bound.size() * sizeof(float)).ok());
    const auto outputs = method.run(recorded.inputs(1));
    ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
    EXPECT_EQ((*outputs)[0].data, bound.data());
    recorded.expect_outputs(1, *outputs);
    EXPECT_THAT(other, Each(-1.0f));
  }
  ASSERT_TRUE(method.bind_output(0, nullptr, 0).ok());
  std::fill(second.begin(), second.end(), -1.0f);
  expect_right(method, recorded, 1);
  EXPECT_THAT(second, Each(-1.0f));
}

TEST_F(AnyDevice, WhatAProgramWritesToAnInputIsWrittenToTheCallers) {
  const RecordedProgram recorded = load("input_mutation");  // a += 1; return 2 * a
  Method method = make(recorded);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<float> memory = {1, -1, 2, -1, 3, -1};
    TensorView input = TensorView::contiguous(memory.data(), DType::kFloat32, {3});
    input.strides = {2};
    ASSERT_TRUE(method.run(std::vector<TensorView>{input}).ok());
    EXPECT_THAT(memory, ElementsAre(2, -1, 3, -1, 4, -1));
  }
}

TEST_F(AnyDevice, StatesAdvanceOncePerCall) {
  const RecordedProgram recorded = load("buffer_counter");  // count += 1; return a * count
  Method method = make(recorded), other = make(recorded);
  float ones[] = {1, 1};
  const std::vector<TensorView> inputs = {TensorView::contiguous(ones, DType::kFloat32, {2})};
  const auto count_of = [&](Method& counting) {
    const auto outputs = counting.run(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status().to_string();
    return outputs.ok() ? (*outputs)[0].as<float>()[1] : -1.0f;
  };
  for (int call = 1; call <= 2 * kRounds; ++call) {
    EXPECT_EQ(count_of(method), static_cast<float>(call));
  }
  EXPECT_EQ(count_of(other), 1.0f);
  ASSERT_TRUE(method.reset().ok());
  EXPECT_EQ(count_of(method), 1.0f);
  EXPECT_EQ(count_of(other), 2.0f);
}

TEST_F(AnyDevice, ACallThatFailsLeavesTheStatesAsTheyWere) {
  const RecordedProgram recorded = load("kv_cache_step");
  Method method = make(recorded);
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(method.reset().ok());
    for (std::size_t call = 0; call < recorded.calls.size(); ++call) {
      // A position that the cache does not have.
      std::int64_t position = 8;
      std::vector<TensorView> inputs = recorded.inputs(call);
      inputs[3].data = &position;
      const auto outputs = method.run(inputs);
      EXPECT_EQ(outputs.status().code(), StatusCode::kOutOfRange);
      // The operator, the value, the axis and its size.
      EXPECT_THAT(outputs.status().message(),
                  AllOf(HasSubstr("aten.index_copy"),
                        HasSubstr("index 8 is out of bounds for dimension 1 with size 8")));
      expect_right(method, recorded, call);
    }
  }
  EXPECT_EQ(method.stats().runs, kRounds * static_cast<std::int64_t>(recorded.calls.size()));
}

TEST_F(AnyDevice, AfterAnErrorInTheDataTheNextCallIsRight) {
  const RecordedProgram recorded = load("index_then_embedding_sum");  // of 11 rows
  Method method = make(recorded);
  for (int round = 0; round < kRounds; ++round) {
    for (const std::int64_t index : {std::int64_t{11}, std::int64_t{-1}}) {
      CopiedInputs inputs(recorded.inputs(0));
      inputs.tensors[0].as<std::int64_t>()[3] = index;
      const auto outputs = method.run(inputs.views);
      ASSERT_FALSE(outputs.ok());
      EXPECT_EQ(outputs.status().code(), StatusCode::kOutOfRange);
      EXPECT_THAT(outputs.status().message(), HasSubstr("index out of range in self"));
    }
    expect_all_right(method, recorded);
  }
}

TEST_F(AnyDevice, MethodsRunSideBySide) {
  const RecordedProgram recorded = load("dynamic_batch_mlp");
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      MethodOptions options;
      options.threads = 1;
      Method method = make(recorded, options);
      for (int round = 0; round < kRounds; ++round) expect_all_right(method, recorded);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(AnyDevice, StatsCountRunsByKey) {
  const RecordedProgram recorded = load(kTwoBatches);
  Method method = make(recorded);
  for (const std::size_t call : {0u, 1u, 1u, 1u, 1u}) expect_right(method, recorded, call);
  const MethodStats stats = method.stats();
  EXPECT_EQ(stats.runs, 5);
  ASSERT_EQ(stats.cuda_graphs.size(), 2u);
  std::int64_t runs = 0, replays = 0;
  for (const CudaGraphStats& graph : stats.cuda_graphs) {
    runs += graph.runs;
    EXPECT_EQ(graph.state, "captured whole") << graph.reason;
    EXPECT_LT(graph.replays, graph.runs);  // a run that captures is no replay
    replays += graph.replays;
  }
  EXPECT_EQ(runs, 5);
  EXPECT_GT(replays, 0);
}

TEST_F(AnyDevice, StatsCountTheArenaAndTheOperationsOfProducts) {
  const RecordedProgram recorded = load("dynamic_batch_mlp");
  const RecordedProgram on_cpu = load_recorded("dynamic_batch_mlp", {});
  Method method = make(recorded), cpu_method = make(on_cpu);
  EXPECT_EQ(method.stats().product_operations, 0);
  for (std::size_t call = 0; call < recorded.calls.size(); ++call) {
    expect_right(method, recorded, call);
    expect_right(cpu_method, on_cpu, call);
    EXPECT_GT(method.stats().arena_bytes, 0);
    EXPECT_GT(method.stats().product_operations, 0);
    EXPECT_EQ(method.stats().product_operations, cpu_method.stats().product_operations);
  }
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

TEST_F(AnyDevice, RandomNumbersFollowFromTheSeed) {
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
