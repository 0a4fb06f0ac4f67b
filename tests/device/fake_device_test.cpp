// What the runtime hands to a device and takes from it, as only a device that tells can show.
#include "fake_device.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/trace.h"
#include "device_fixture.h"

namespace tendon::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class FakeDevice : public DeviceTest {};

TEST_F(FakeDevice, RunsArePutIntoTheCallersStreamOnceInputsAreChecked) {
  const RecordedProgram recorded = load(kTwoBatches);
  FakeStream stream;
  MethodOptions options;
  options.cuda_stream = &stream;
  Method method = make(recorded, options);
  EXPECT_FALSE(method.run({}).ok());
  EXPECT_EQ(stream.runs, 0);
  expect_right(method, recorded, 1);
  EXPECT_EQ(stream.runs, 1);
}

TEST_F(FakeDevice, SizesFromDataAreThoseOfTheRun) {
  for (const char* name : {"mask_read_rows", "nonzero_gather", "data_dependent_slice"}) {
    const RecordedProgram recorded = load(name);
    Method method = make(recorded);
    expect_all_right(method, recorded);
    expect_right(method, recorded, 0);
  }
}

TEST_F(FakeDevice, StatsSayHowEveryKeyIsCaptured) {
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

TEST_F(FakeDevice, KeepsAsManyGraphsAsItMay) {
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

TEST_F(FakeDevice, GraphsAreCapturedAsAskedFor) {
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

TEST_F(FakeDevice, AProgramIsUploadedOnceWhateverTheNumberOfMethods) {
  const std::string folder = ::testing::TempDir() + std::to_string(::getpid()) + "_kernels/deep";
  const RecordedProgram recorded = load("dynamic_batch_mlp", folder);
  for (int i = 0; i < 3; ++i) {
    Method method = make(recorded);
    for (const std::size_t call : {0u, 1u, 0u}) expect_right(method, recorded, call);
  }
  std::ifstream kernels(std::filesystem::path(folder) / kFakeKernels);
  std::string line;
  int loads = 0;
  while (std::getline(kernels, line)) ++loads;
  EXPECT_EQ(loads, 1);
}

TEST_F(FakeDevice, ALoadThatFailsOnTheDeviceSaysWhyAndMayBeTriedAgain) {
  const std::string folder = ::testing::TempDir() + std::to_string(::getpid()) + "_not_a_folder";
  std::ofstream(folder) << "a file";
  const RecordedProgram recorded = load("dynamic_batch_mlp", folder);
  EXPECT_THAT(Method::create(recorded.program).status().message(),
              HasSubstr(folder + ": kernels cannot be kept there"));
  std::filesystem::remove(folder);
  Method method = make(recorded);
  expect_right(method, recorded, 0);
}

TEST_F(FakeDevice, RunsAreTraced) {
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

}  // namespace
}  // namespace tendon::test
