// The promises of Program and Method, each with a test, on real programs.
#include "tendon/method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "runtime/allocation_counter.h"
#include "tensor/tensor_file.h"

namespace tendon {
namespace {

using ::testing::HasSubstr;

const std::string kData = TENDON_TEST_DATA;

/// A program with the inputs and outputs of a recorded case.
struct Case {
  std::vector<Tensor> inputs, outputs;
  std::vector<TensorView> views() const {
    std::vector<TensorView> result;
    for (const Tensor& tensor : inputs) result.push_back(tensor.view());
    return result;
  }
};

Program load(const std::string& name) {
  auto program = Program::load(kData + "/" + name);
  EXPECT_TRUE(program.ok()) << program.status().to_string();
  return *program;
}

Case read_case(const Program& program, const std::string& name) {
  auto file = tensor::read_tensor_file(kData + "/" + name);
  EXPECT_TRUE(file.ok()) << file.status().to_string();
  Case result;
  for (const TensorInfo& info : program.inputs()) {
    result.inputs.push_back(file->tensors.at("input." + std::to_string(info.position)));
  }
  for (const TensorInfo& info : program.outputs()) {
    result.outputs.push_back(file->tensors.at("output." + std::to_string(info.position)));
  }
  return result;
}

void expect_close(const TensorView& got, const Tensor& expected) {
  ASSERT_EQ(got.sizes, expected.sizes());
  auto copy = Tensor(got, nullptr).contiguous_copy();
  ASSERT_TRUE(copy.ok());
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const float a = copy->as<float>()[i], b = expected.as<float>()[i];
    ASSERT_NEAR(a, b, 1e-5f + 1e-4f * std::abs(b)) << "element " << i;
  }
}

std::vector<float> copy_of(const TensorView& view) {
  return {view.as<float>(), view.as<float>() + view.elements()};
}

TEST(Method, PoliciesGiveWhatPyTorchGave) {
  for (const char* name : {"act_tiny", "act_tiny_dyn", "diffusion_tiny", "smolvla_tiny"}) {
    const std::string base = std::string("policies/") + name;
    const Program program = load(base + ".pt2");
    const Case recorded = read_case(program, base + ".safetensors");
    auto method = Method::create(program);
    ASSERT_TRUE(method.ok()) << method.status().to_string();
    const auto outputs = method->run(recorded.views());
    ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
    for (std::size_t i = 0; i < outputs->size(); ++i)
      expect_close((*outputs)[i], recorded.outputs[i]);
  }
}

TEST(Method, AllocatesNothingAfterWarmUp) {
  for (const char* name : {"act_tiny", "diffusion_tiny", "smolvla_tiny"}) {
    const std::string base = std::string("policies/") + name;
    const Program program = load(base + ".pt2");
    const Case recorded = read_case(program, base + ".safetensors");
    auto method = Method::create(program);
    ASSERT_TRUE(method.ok());
    const std::vector<TensorView> views = recorded.views();
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(method->run(views).ok());
    const std::int64_t before = test::allocation_count();
    const bool ok = method->run(views).ok();
    const std::int64_t after = test::allocation_count();
    EXPECT_TRUE(ok);
    EXPECT_EQ(after - before, 0) << name;
  }
}

TEST(Method, SameInputsGiveTheSameBits) {
  const Program program = load("policies/smolvla_tiny.pt2");
  const Case recorded = read_case(program, "policies/smolvla_tiny.safetensors");
  std::vector<float> first;
  for (int round = 0; round < 3; ++round) {
    auto method = Method::create(program);
    ASSERT_TRUE(method.ok());
    const auto outputs = method->run(recorded.views());
    ASSERT_TRUE(outputs.ok());
    const std::vector<float> bits = copy_of((*outputs)[0]);
    if (round == 0) first = bits;
    EXPECT_EQ(std::memcmp(bits.data(), first.data(), bits.size() * sizeof(float)), 0);
  }
}

TEST(Method, ABatchIsItsSamplesInAnyOrderOfSizes) {
  const Program program = load("policies/act_tiny_dyn.pt2");
  const Case recorded = read_case(program, "policies/act_tiny_dyn.safetensors");
  auto method = Method::create(program);
  ASSERT_TRUE(method.ok());
  const auto together = method->run(recorded.views());
  ASSERT_TRUE(together.ok());
  const std::vector<float> batch = copy_of((*together)[0]);
  const std::int64_t count = recorded.inputs[0].sizes()[0];
  const std::size_t each = batch.size() / static_cast<std::size_t>(count);
  const std::int64_t operations = method->stats().product_operations;
  for (std::int64_t sample = 0; sample < count; ++sample) {
    std::vector<TensorView> views = recorded.views();
    for (TensorView& view : views) {
      view.sizes[0] = 1;
      view.data = view.as<std::byte>() +
                  sample * view.strides[0] * static_cast<std::int64_t>(dtype_size(view.dtype));
    }
    const auto alone = method->run(views);
    ASSERT_TRUE(alone.ok()) << alone.status().to_string();
    ASSERT_EQ((*alone)[0].sizes[0], 1);
    for (std::size_t i = 0; i < each; ++i) {
      ASSERT_NEAR((*alone)[0].as<float>()[i], batch[static_cast<std::size_t>(sample) * each + i],
                  1e-5);
    }
  }
  EXPECT_EQ(method->stats().shape_keys, 2);
  EXPECT_EQ(method->stats().product_operations * count, operations);
}

TEST(Method, BoundOutputsAreCheckedAgainstTheUpperBound) {
  const Program program = load("policies/act_tiny_dyn.pt2");
  const Case recorded = read_case(program, "policies/act_tiny_dyn.safetensors");
  auto method = Method::create(program);
  ASSERT_TRUE(method.ok());
  const auto bound = program.outputs()[0].upper_bound_bytes();
  ASSERT_TRUE(bound.has_value());
  std::vector<std::byte> memory(static_cast<std::size_t>(*bound));
  // Large enough for today's batch, not for the largest one.
  const Status refused = method->bind_output(0, memory.data(), memory.size() - 1);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr(std::to_string(*bound)));
  EXPECT_EQ(method->bind_output(7, memory.data(), memory.size()).code(),
            StatusCode::kInvalidArgument);
  ASSERT_TRUE(method->bind_output(0, memory.data(), memory.size()).ok());
  auto outputs = method->run(recorded.views());
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ((*outputs)[0].data, memory.data());
  expect_close((*outputs)[0], recorded.outputs[0]);
  ASSERT_TRUE(method->bind_output(0, nullptr, 0).ok());
  outputs = method->run(recorded.views());
  ASSERT_TRUE(outputs.ok());
  EXPECT_NE((*outputs)[0].data, memory.data());
}

TEST(Method, InputsThatDoNotFitAreRefusedByName) {
  const Program program = load("policies/act_tiny_dyn.pt2");
  const Case recorded = read_case(program, "policies/act_tiny_dyn.safetensors");
  auto method = Method::create(program);
  ASSERT_TRUE(method.ok());
  const auto refused = [&](const std::vector<TensorView>& views, const std::string& text) {
    const auto outputs = method->run(views);
    ASSERT_FALSE(outputs.ok());
    EXPECT_EQ(outputs.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(outputs.status().message(), HasSubstr(text));
  };
  std::vector<TensorView> views = recorded.views();
  refused({views[0]}, "2 tensor inputs, not 1");
  views[0].dtype = DType::kFloat64;
  refused(views, "input 0 ('state') is float64, expected float32");
  views = recorded.views();
  views[0].sizes[1] = 13;
  refused(views, "axis 1: size 13, expected 14");
  views = recorded.views();
  views[0].sizes[0] = 9;
  refused(views, "axis 0: size 9");
  views = recorded.views();
  views[0].sizes[0] = 1;  // export assumed that state and images have one batch
  refused(views, "axis 0");
  // The method goes on as if nothing had been asked.
  const auto outputs = method->run(recorded.views());
  ASSERT_TRUE(outputs.ok());
  expect_close((*outputs)[0], recorded.outputs[0]);
}

TEST(Method, OtherStridesGiveTheSameValues) {
  const Program program = load("policies/act_tiny.pt2");
  const Case recorded = read_case(program, "policies/act_tiny.safetensors");
  auto method = Method::create(program);
  ASSERT_TRUE(method.ok());
  // The state with a gap behind every element.
  const TensorView& state = recorded.inputs[0].view();
  std::vector<float> wide(static_cast<std::size_t>(state.elements()) * 2, -1.0f);
  for (std::int64_t i = 0; i < state.elements(); ++i)
    wide[static_cast<std::size_t>(2 * i)] = state.as<float>()[i];
  std::vector<TensorView> views = recorded.views();
  views[0].data = wide.data();
  for (std::int64_t& stride : views[0].strides) stride *= 2;
  const auto outputs = method->run(views);
  ASSERT_TRUE(outputs.ok());
  expect_close((*outputs)[0], recorded.outputs[0]);
}

TEST(Method, BuffersAdvanceOncePerCallAndBelongToTheMethod) {
  const Program program = load("programs/buffer_counter.pt2");
  const Case first = read_case(program, "programs/buffer_counter.0.safetensors");
  const Case second = read_case(program, "programs/buffer_counter.1.safetensors");
  auto method = Method::create(program);
  auto other = Method::create(program);
  ASSERT_TRUE(method.ok() && other.ok());
  auto outputs = method->run(first.views());
  ASSERT_TRUE(outputs.ok());
  expect_close((*outputs)[0], first.outputs[0]);
  // A call that is refused counts nothing.
  EXPECT_FALSE(method->run({}).ok());
  outputs = method->run(second.views());
  ASSERT_TRUE(outputs.ok());
  expect_close((*outputs)[0], second.outputs[0]);
  outputs = other->run(first.views());
  ASSERT_TRUE(outputs.ok());
  expect_close((*outputs)[0], first.outputs[0]);
  ASSERT_TRUE(method->reset().ok());
  outputs = method->run(first.views());
  ASSERT_TRUE(outputs.ok());
  expect_close((*outputs)[0], first.outputs[0]);
}

TEST(Method, ChannelsLastOutputsKeepTheirLayout) {
  const Program program = load("programs/channels_last_output_dynamic_batch.pt2");
  auto method = Method::create(program);
  ASSERT_TRUE(method.ok());
  for (int i = 0; i < 4; ++i) {
    const Case recorded = read_case(program, "programs/channels_last_output_dynamic_batch." +
                                                 std::to_string(i) + ".safetensors");
    const auto outputs = method->run(recorded.views());
    ASSERT_TRUE(outputs.ok());
    EXPECT_EQ((*outputs)[0].strides[1], 1);
    expect_close((*outputs)[0], recorded.outputs[0]);
  }
}

std::ptrdiff_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST(Method, UsesNoMoreThreadsThanAskedFor) {
  const Program program = load("policies/act_tiny.pt2");
  const Case recorded = read_case(program, "policies/act_tiny.safetensors");
  std::ptrdiff_t before = 0, after = 0;
  // A thread of its own, which has no workers yet.
  std::thread([&] {
    before = threads_of_process();
    MethodOptions options;
    options.threads = 1;
    auto method = Method::create(program, options);
    ASSERT_TRUE(method.ok() && method->run(recorded.views()).ok());
    after = threads_of_process();
  }).join();
  EXPECT_EQ(before, after);
}

TEST(Program, ThreadsLoadAndRunSideBySide) {
  const Program shared = load("policies/act_tiny.pt2");
  const Case recorded = read_case(shared, "policies/act_tiny.safetensors");
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      const Program program = i == 0 ? load("policies/act_tiny.pt2") : shared;
      MethodOptions options;
      options.threads = 1;
      auto method = Method::create(program, options);
      ASSERT_TRUE(method.ok());
      for (int round = 0; round < 3; ++round) {
        const auto outputs = method->run(recorded.views());
        ASSERT_TRUE(outputs.ok());
        expect_close((*outputs)[0], recorded.outputs[0]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Program, WhatCannotBeLoadedSaysWhy) {
  EXPECT_EQ(Program::load(kData + "/nothing.pt2").status().code(), StatusCode::kNotFound);
  const Status wrong = Program::load(kData + "/policies/act_tiny.safetensors").status();
  EXPECT_EQ(wrong.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(wrong.message(), HasSubstr("a safetensors file"));
}

}  // namespace
}  // namespace tendon
