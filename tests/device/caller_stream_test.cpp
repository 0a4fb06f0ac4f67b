// Runs in a stream of the caller's; only on a GPU.
#include <cuda_runtime_api.h>

#include <chrono>
#include <thread>

#include "device_fixture.h"
#include "device_memory.h"

namespace tendon::test {
namespace {

constexpr int kRounds = 4;

void CUDART_CB wait_a_while(void*) { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

class CallerStream : public DeviceTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess); }
  cudaStream_t stream_ = nullptr;
  DeviceMemory memory_;
};

// What the caller put into the stream before a run comes before it, and what it puts there
// afterwards comes after it, although nobody waits.
TEST_F(CallerStream, HoldsRunsInTheirPlace) {
  const RecordedProgram recorded = load(kTwoBatches);
  for (const bool stream_order : {false, true}) {
    MethodOptions options;
    options.cuda_stream = stream_;
    options.cuda_stream_order = stream_order;
    Method method = make(recorded, options);
    const std::size_t bytes = 9 * sizeof(float);
    std::byte* output = memory_.take(bytes);
    ASSERT_TRUE(method.bind_output(0, output, bytes).ok());
    std::vector<TensorView> inputs;
    for (const TensorView& input : recorded.inputs(0)) inputs.push_back(memory_.upload(input));
    Tensor got = *Tensor::allocate(DType::kFloat32, {inputs[0].sizes[0]});
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        ASSERT_EQ(cudaMemsetAsync(inputs[i].data, 0xff, inputs[i].bytes(), stream_), cudaSuccess);
        ASSERT_EQ(cudaLaunchHostFunc(stream_, wait_a_while, nullptr), cudaSuccess);
        ASSERT_EQ(cudaMemcpyAsync(inputs[i].data, recorded.inputs(0)[i].data, inputs[i].bytes(),
                                  cudaMemcpyHostToDevice, stream_),
                  cudaSuccess);
      }
      const auto outputs = method.run(inputs);
      ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
      ASSERT_EQ(cudaMemcpyAsync(got.view().data, output, got.view().bytes(), cudaMemcpyDeviceToHost,
                                stream_),
                cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
      recorded.expect_outputs(0, std::vector<TensorView>{got.view()});
    }
    EXPECT_TRUE(method.wait().ok());
  }
}

}  // namespace
}  // namespace tendon::test
