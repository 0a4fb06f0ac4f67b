// The tendon command with --device cuda, on the fake device and without one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "command_outcome.h"
#include "fake_device.h"
#include "library_variable.h"
#include "recorded_program.h"

namespace tendon::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using tools::Outcome;
using tools::temporary;
using tools::tendon;
using Json = nlohmann::json;

const std::string kMlp = TENDON_TEST_DATA "/programs/dynamic_batch_mlp";

/// "CASE.0.safetensors CASE.1.safetensors ..."
std::string cases(const std::string& program, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += " " + program + "." + std::to_string(i) + ".safetensors";
  return text;
}

/// Every command that runs a program.
std::vector<std::string> commands() {
  return {"run " + kMlp + ".pt2", "check " + kMlp + ".pt2" + cases(kMlp, 1),
          "bench " + kMlp + ".pt2", "profile " + kMlp + ".pt2 --trace " + temporary("trace.json")};
}

TEST(DeviceCommand, EachRunsOnTheDevice) {
  const LibraryVariable variable(TENDON_FAKE_DEVICE);
  for (const std::string& command : commands()) {
    const Outcome outcome = tendon(command + " --device cuda --cuda-graph strict");
    EXPECT_EQ(outcome.exit_code, 0) << command << "\n" << outcome.err;
    EXPECT_EQ(outcome.err, "") << command;
  }
}

TEST(DeviceCommand, ProgramsGiveWhatPyTorchGave) {
  const LibraryVariable variable(TENDON_FAKE_DEVICE);
  for (const char* name : {"act_tiny", "act_tiny_dyn", "diffusion_tiny", "smolvla_tiny"}) {
    const std::string policy = std::string(TENDON_TEST_DATA "/policies/") + name;
    const Outcome checked =
        tendon("check " + policy + ".pt2 " + policy + ".safetensors --device cuda");
    EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  }
  const Outcome checked =
      tendon("check " + kMlp + ".pt2" + cases(kMlp, 4) + " --device cuda --cuda-graph auto");
  EXPECT_EQ(checked.exit_code, 0) << checked.out;
  EXPECT_THAT(checked.out, HasSubstr("4 of 4 cases right"));
}

TEST(DeviceCommand, WithoutADeviceEachSaysWhy) {
  const LibraryVariable variable(TENDON_ABSENT_DEVICE);
  for (const std::string& command : commands()) {
    const Outcome outcome = tendon(command + " --device cuda");
    EXPECT_EQ(outcome.exit_code, 3) << command;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err,
                AllOf(StartsWith("tendon: error: FailedPrecondition: CUDA is not available"),
                      HasSubstr("there is no such device in this drawer")));
  }
  for (const std::string& command : commands())
    EXPECT_EQ(tendon(command + " --device cpu").exit_code, 0) << command;
}

TEST(DeviceCommand, BenchSaysHowCallsAreCaptured) {
  const LibraryVariable variable(TENDON_FAKE_DEVICE);
  const std::string command = "bench " + kMlp + ".pt2 --device cuda --iterations 3 --warmup 1";
  const Json json = Json::parse(tendon(command + " --json").out);
  EXPECT_EQ(json.at("device"), "cuda");
  ASSERT_EQ(json.at("cuda_graphs").size(), 1u);
  const Json& graph = json.at("cuda_graphs")[0];
  EXPECT_THAT(graph.at("key").get<std::string>(), StartsWith("float32["));
  EXPECT_EQ(graph.at("state"), "captured whole");
  EXPECT_EQ(graph.at("reason"), "");
  EXPECT_EQ(graph.at("pieces"), 1);
  EXPECT_EQ(graph.at("runs"), 5);
  EXPECT_EQ(graph.at("replays"), 4);
  EXPECT_THAT(tendon(command).out, HasSubstr("captured whole, 1 pieces, 4 of 5 runs replayed"));
  const Outcome off = tendon(command + " --cuda-graph off");
  EXPECT_THAT(off.out, HasSubstr("not captured: graphs are off"));
}

TEST(DeviceCommand, WhatCannotBeCapturedWholeIsAFailedRunIfThatWasAskedFor) {
  const LibraryVariable variable(TENDON_FAKE_DEVICE);
  const std::string command = "run " + program_file("cond_on_tensor") + " --device cuda";
  EXPECT_EQ(tendon(command).exit_code, 0);
  const Outcome strict = tendon(command + " --cuda-graph strict");
  EXPECT_EQ(strict.exit_code, 4);
  EXPECT_EQ(strict.out, "");
  EXPECT_THAT(strict.err, HasSubstr("cannot be captured whole: control flow needs the host"));
}

TEST(DeviceCommand, KernelsAreKeptWhereTheUserSays) {
  const LibraryVariable variable(TENDON_FAKE_DEVICE);
  const std::string folder = temporary("kernels");
  const Outcome outcome = tendon("run " + kMlp + ".pt2 --device cuda --cache-folder " + folder);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(folder + "/" + kFakeKernels));
}

TEST(DeviceCommand, TheLibraryMayLieNextToTheCommand) {
  const std::filesystem::path folder = temporary("installed");
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(TENDON_COMMAND, folder / "tendon");
  const std::string command = "run " + kMlp + ".pt2 --device cuda";
  std::filesystem::copy_file(TENDON_ABSENT_DEVICE, folder / "libtendon_cuda.so");
  EXPECT_THAT(tendon(command, folder / "tendon").err,
              HasSubstr((folder / "libtendon_cuda.so").string() + ": there is no such device"));
  std::filesystem::remove(folder / "libtendon_cuda.so");
  std::filesystem::copy_file(TENDON_FAKE_DEVICE, folder / "libtendon_cuda.so");
  const Outcome outcome = tendon(command, folder / "tendon");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

}  // namespace
}  // namespace tendon::test
