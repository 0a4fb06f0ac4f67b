// Drives the tendon command as a user does: arguments in, exit code and text out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "command_outcome.h"
#include "tensor/tensor_file.h"

namespace tendon::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

const std::string kPrograms = std::string(TENDON_TEST_DATA) + "/programs/";
const std::string kMlp = kPrograms + "dynamic_batch_mlp";
const std::string kCounter = kPrograms + "buffer_counter";
const std::string kChannelsLast = kPrograms + "channels_last_output_dynamic_batch";
const std::string kNoneOutputs = kPrograms + "constant_and_none_outputs";

std::string cases(const std::string& program, std::initializer_list<int> numbers) {
  std::string text;
  for (int number : numbers) text += " " + program + "." + std::to_string(number) + ".safetensors";
  return text;
}

// A copy of a case with one output's first element changed.
std::string wrong_case(const std::string& path) {
  auto file = tensor::read_tensor_file(path);
  EXPECT_TRUE(file.ok());
  file->tensors.at("output.0").as<float>()[0] += 1;
  std::vector<tensor::NamedView> views;
  for (const auto& [name, tensor] : file->tensors) views.push_back({name, tensor.view()});
  const std::string copy = temporary("wrong.safetensors");
  EXPECT_TRUE(tensor::write_tensor_file(copy, views, file->metadata).ok());
  return copy;
}

TEST(Usage, HelpAndVersionSucceed) {
  EXPECT_THAT(tendon("--version").out, StartsWith("tendon "));
  const Outcome help = tendon("--help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* command : {"run", "inspect", "check", "bench", "profile"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
    const Outcome own = tendon(std::string(command) + " --help");
    EXPECT_EQ(own.exit_code, 0);
    EXPECT_THAT(own.out, HasSubstr("Example"));
  }
}

/// Arguments, and what the message must hold: what was wrong, where, and what was expected.
struct Mistake {
  std::string arguments;
  std::vector<std::string> said;
};

class BadUsage : public ::testing::TestWithParam<Mistake> {};

TEST_P(BadUsage, ExitsWithTwoAndSaysWhy) {
  const Outcome outcome = tendon(GetParam().arguments);
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  for (const std::string& text : GetParam().said) EXPECT_THAT(outcome.err, HasSubstr(text));
}

INSTANTIATE_TEST_SUITE_P(
    Command, BadUsage,
    ::testing::Values(
        Mistake{"", {"no command", "run, inspect, check, bench, profile"}},
        Mistake{"dance " + kMlp + ".pt2", {"'dance' is no command", "run, inspect"}},
        Mistake{"--json run " + kMlp + ".pt2", {"'--json' is no command"}},
        Mistake{"run", {"MODEL is required"}}, Mistake{"inspect --json", {"MODEL is required"}},
        Mistake{"run \"\"", {"MODEL", "empty, expected a name"}},
        Mistake{"check " + kMlp + ".pt2", {"CASE is required"}},
        Mistake{"profile " + kMlp + ".pt2", {"--trace is required"}},
        Mistake{"run " + kMlp + ".pt2 --frobnicate", {"not expected", "--frobnicate"}},
        Mistake{"inspect " + kMlp + ".pt2 --device cpu", {"not expected", "--device"}},
        Mistake{"run " + kMlp + ".pt2 --inputs a --inputs b", {"--inputs", "At Most 1"}}));

INSTANTIATE_TEST_SUITE_P(
    Values, BadUsage,
    ::testing::Values(
        Mistake{"run " + kMlp + ".pt2 --device tpu", {"--device", "tpu", "cpu,cuda"}},
        Mistake{"run " + kMlp + ".pt2 --precision tf32", {"--precision tf32", "use strict"}},
        Mistake{"run " + kMlp + ".pt2 --cuda-graph auto", {"--cuda-graph needs --device cuda"}},
        Mistake{"run " + kMlp + ".pt2 --cuda-graph on", {"--cuda-graph", "on", "auto,off,strict"}},
        Mistake{"run " + kMlp + ".pt2 --cache-folder kernels",
                {"--cache-folder needs --device cuda"}},
        Mistake{"run " + kMlp + ".pt2 --device cuda --cache-folder \"\"",
                {"--cache-folder", "empty, expected a name"}},
        Mistake{"run " + kMlp + ".pt2 --threads -1", {"--threads", "'-1'", "from 0 to 1024"}},
        Mistake{"run " + kMlp + ".pt2 --threads 2x", {"--threads", "'2x'", "a whole number"}},
        Mistake{"run " + kMlp + ".pt2 --seed -1", {"--seed", "'-1'", "from 0 to"}},
        Mistake{"run " + kMlp + ".pt2 --seed 18446744073709551616",
                {"--seed", "'18446744073709551616'"}},
        Mistake{"run " + kMlp + ".pt2 --model \"\"", {"--model", "empty, expected a name"}},
        Mistake{"run " + kMlp + ".pt2 --inputs \"\"", {"--inputs", "empty, expected a name"}},
        Mistake{"run " + kMlp + ".pt2 --outputs \"\"", {"--outputs", "empty, expected a name"}},
        Mistake{"bench " + kMlp + ".pt2 --outputs \"\"", {"--outputs", "empty, expected a name"}},
        Mistake{"profile " + kMlp + ".pt2 --trace \"\"", {"--trace", "empty, expected a name"}},
        Mistake{"bench " + kMlp + ".pt2 --iterations 0", {"--iterations", "'0'", "from 1 to"}},
        Mistake{"bench " + kMlp + ".pt2 --warmup 1.5", {"--warmup", "'1.5'", "a whole number"}},
        Mistake{"bench " + kMlp + ".pt2 --period nan", {"--period", "'nan'", "from 0 to 60000"}},
        Mistake{"profile " + kMlp + ".pt2 --trace t --top 0", {"--top", "'0'", "from 1 to"}},
        Mistake{"inspect " + kMlp + ".pt2 --stage wishes", {"--stage", "wishes", "aten,tensor"}},
        Mistake{"check " + kMlp + ".pt2 x --rtol -1", {"--rtol", "'-1'", "a number from 0"}},
        Mistake{"check " + kMlp + ".pt2 x --atol nan", {"--atol", "'nan'", "a number from 0"}}));

INSTANTIATE_TEST_SUITE_P(
    Files, BadUsage,
    ::testing::Values(
        Mistake{"run " + kMlp + ".pt2 --inputs /nonexistent.npz", {"/nonexistent.npz", "No such"}},
        Mistake{"run " + kMlp + ".pt2 --inputs " + kPrograms, {kPrograms, "a directory"}},
        Mistake{"run " + kMlp + ".pt2 --inputs " + kMlp + ".pt2", {kMlp + ".pt2"}},
        Mistake{"bench " + kMlp + ".pt2 --inputs /dev/null", {"/dev/null"}},
        Mistake{"check " + kMlp + ".pt2 /nonexistent.safetensors", {"/nonexistent.safetensors"}}));

TEST(Usage, InputsUnderOtherNamesAreListedBesideThoseExpected) {
  const Tensor tensor = *Tensor::allocate(DType::kFloat32, {4, 6});
  const std::string path = temporary("gap.safetensors");
  ASSERT_TRUE(tensor::write_tensor_file(path, {{"input.1", tensor.view()}}).ok());
  for (const std::string& arguments :
       {"run " + kMlp + ".pt2 --inputs " + path, "check " + kMlp + ".pt2 " + path}) {
    const Outcome outcome = tendon(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(path + " has 1 tensors called input.N: input.1"),
                                   HasSubstr("input.0  a_0  float32[")));
  }
}

TEST(Usage, WhatIsReadIsNeverOverwritten) {
  const std::string model = temporary("model.pt2"), inputs = temporary("inputs.safetensors");
  std::filesystem::copy_file(kMlp + ".pt2", model);
  std::filesystem::copy_file(kMlp + ".0.safetensors", inputs);
  const std::string read = model + " --inputs " + inputs;
  for (const std::string& path : {model, inputs}) {
    for (const std::string& arguments :
         {"run " + read + " --outputs " + path, "bench " + read + " --outputs " + path,
          "profile " + read + " --trace " + path}) {
      const Outcome outcome = tendon(arguments);
      EXPECT_EQ(outcome.exit_code, 2) << arguments;
      EXPECT_THAT(outcome.err, HasSubstr("'" + path + "' is read by this command"));
    }
  }
  EXPECT_EQ(tendon("check " + model + " " + inputs).exit_code, 0);
}

TEST(Results, ThatCannotBeWrittenExitWithFour) {
  const std::string folder = temporary("no_such_folder") + "/";
  for (const std::string& arguments :
       {"run " + kMlp + ".pt2 --outputs ", "bench " + kMlp + ".pt2 --iterations 1 --outputs ",
        "profile " + kMlp + ".pt2 --trace "}) {
    for (const std::string& path : {folder + "out.safetensors", folder + "out.npz", kPrograms}) {
      const Outcome outcome = tendon(arguments + path);
      EXPECT_EQ(outcome.exit_code, 4) << arguments << path;
      EXPECT_THAT(outcome.err, HasSubstr("cannot write '" + path + "'"));
    }
  }
}

TEST(Results, AFullStandardOutputExitsWithFour) {
  // A short text stays in the buffer until the end, a long one fails on the way.
  const std::string graph = std::string(TENDON_TEST_DATA) + "/graphs/act_full.json.gz";
  for (const std::string& arguments : {"run " + kMlp + ".pt2", "inspect --stage plan " + graph}) {
    const Outcome outcome = tendon(arguments + " >/dev/full");
    EXPECT_EQ(outcome.exit_code, 4) << arguments;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("standard output"), HasSubstr("No space left")));
  }
}

TEST(Load, WhatCannotBeLoadedExitsWithThree) {
  for (const char* command : {"run", "inspect", "bench"}) {
    const Outcome outcome = tendon(std::string(command) + " /nonexistent.pt2");
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_THAT(outcome.err, HasSubstr("NotFound"));
  }
  const std::string path = temporary("damaged.pt2");
  std::ofstream(path) << "PK\3\4 and then nothing";
  EXPECT_EQ(tendon("run " + path).exit_code, 3);
}

TEST(Load, WithoutItsLibraryADeviceIsRefusedByName) {
  ASSERT_EQ(::setenv("TENDON_CUDA_LIBRARY", "/nonexistent/libtendon_cuda.so", 1), 0);
  const Outcome outcome = tendon("run " + kMlp + ".pt2 --device cuda --cuda-graph auto");
  ::unsetenv("TENDON_CUDA_LIBRARY");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("FailedPrecondition: CUDA is not available"),
                                 HasSubstr("/nonexistent/libtendon_cuda.so")));
}

TEST(Run, WithoutInputsPrintsASummary) {
  const Outcome outcome = tendon("run " + kMlp + ".pt2");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("output.0"), HasSubstr("float32["), HasSubstr("mean")));
}

TEST(Run, OutputsAreWrittenWithTheirStrides) {
  const std::string path = temporary("out.safetensors");
  const Outcome outcome = tendon("run " + kChannelsLast + ".pt2 --inputs" +
                                 cases(kChannelsLast, {0}) + " --outputs " + path);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const auto got = tensor::read_tensor_file(path);
  const auto expected = tensor::read_tensor_file(kChannelsLast + ".0.safetensors");
  ASSERT_TRUE(got.ok() && expected.ok());
  EXPECT_EQ(got->metadata, expected->metadata);
  EXPECT_EQ(got->tensors.at("output.0").sizes(), expected->tensors.at("output.0").sizes());
}

TEST(Run, OutputsKeepTheirPlaceAmongNoneAndNumbers) {
  const Outcome outcome =
      tendon("run " + kNoneOutputs + ".pt2 --json --inputs" + cases(kNoneOutputs, {0}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::vector<std::string> names;
  const Json summary = Json::parse(outcome.out);
  for (const auto& output : summary.at("outputs")) names.push_back(output.at("name"));
  EXPECT_THAT(names, ::testing::IsSupersetOf({"output.0", "output.1", "output.3"}));
  EXPECT_THAT(names, ::testing::Not(::testing::Contains("output.2")));
}

TEST(Run, InputsThatDoNotFitFailTheRun) {
  const Outcome outcome = tendon("run " + kMlp + ".pt2 --inputs" + cases(kChannelsLast, {0}));
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("input 0 ('a_0') has rank 4, expected [s"));
}

TEST(Check, SequencesOfShapesAreRight) {
  for (const std::string& program : {kMlp, kChannelsLast}) {
    const Outcome outcome = tendon("check " + program + ".pt2" + cases(program, {0, 1, 2, 3, 0}));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("5 of 5 cases right"));
  }
  EXPECT_EQ(tendon("check " + kNoneOutputs + ".pt2" + cases(kNoneOutputs, {0})).exit_code, 0);
}

TEST(Check, StateGoesFromCaseToCase) {
  EXPECT_EQ(tendon("check " + kCounter + ".pt2" + cases(kCounter, {0, 1, 2})).exit_code, 0);
  EXPECT_EQ(tendon("check " + kCounter + ".pt2" + cases(kCounter, {1})).exit_code, 1);
}

TEST(Check, ADifferenceExitsWithOneAndSaysWhere) {
  const std::string wrong = wrong_case(kMlp + ".0.safetensors");
  const Outcome text = tendon("check " + kMlp + ".pt2 " + wrong);
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.out, AllOf(HasSubstr("1 of 12 elements differ, first at [0, 0]"),
                              HasSubstr("0 of 1 cases right")));
  EXPECT_EQ(tendon("check " + kMlp + ".pt2 --atol 1.5 " + wrong).exit_code, 0);
  const Outcome json = tendon("check --json " + kMlp + ".pt2 " + wrong + cases(kMlp, {0}));
  EXPECT_EQ(json.exit_code, 1);
  const Json result = Json::parse(json.out);
  EXPECT_FALSE(result.at("ok"));
  EXPECT_FALSE(result.at("cases")[0].at("ok"));
  EXPECT_TRUE(result.at("cases")[1].at("ok"));
  const Json& output = result.at("cases")[0].at("outputs")[0];
  EXPECT_EQ(output.at("mismatches"), 1);
  EXPECT_NEAR(output.at("max_absolute_error"), 1, 1e-4);
  EXPECT_EQ(output.at("first_mismatch").at("index"), Json({0, 0}));
}

TEST(Check, AFailedRunExitsWithFourAndTheNextCaseStillRuns) {
  const Outcome outcome =
      tendon("check " + kMlp + ".pt2" + cases(kChannelsLast, {0}) + cases(kMlp, {0}));
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.out, HasSubstr("1 of 2 cases right"));
}

TEST(Bench, JsonHoldsLatencyStartAndMemory) {
  const std::string path = temporary("bench.safetensors");
  const Outcome outcome =
      tendon("bench " + kMlp + ".pt2 --iterations 7 --warmup 1 --json --inputs" + cases(kMlp, {0}) +
             " --outputs " + path);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json result = Json::parse(outcome.out);
  const double p50 = result.at("p50"), min = result.at("min"), p99 = result.at("p99");
  EXPECT_LE(min, p50);
  EXPECT_LE(p50, p99);
  EXPECT_GT(min, 0);
  EXPECT_GE(result.at("first_answer_s"), result.at("load_s"));
  EXPECT_EQ(result.at("iterations"), 7);
  EXPECT_GT(result.at("peak_rss_bytes"), 1'000'000);
  EXPECT_TRUE(result.contains("arena_bytes") && result.contains("threads"));
  EXPECT_GT(result.at("product_operations"), 0);
  EXPECT_TRUE(tensor::read_tensor_file(path)->tensors.contains("output.0"));
}

TEST(Inspect, SummaryAndStages) {
  const Outcome json = tendon("inspect --json " + kMlp + ".pt2");
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const Json summary = Json::parse(json.out);
  EXPECT_GT(summary.at("kernels"), 0);
  EXPECT_GT(summary.at("weight_bytes"), 0);
  EXPECT_EQ(summary.at("inputs")[0].at("dtype"), "float32");
  EXPECT_THAT(tendon("inspect " + kMlp + ".pt2").out, HasSubstr("input.0"));
  for (const char* stage : {"aten", "tensor", "kernels", "plan"}) {
    const Outcome text = tendon("inspect " + kMlp + ".pt2 --stage " + stage);
    EXPECT_EQ(text.exit_code, 0);
    EXPECT_FALSE(text.out.empty()) << stage;
  }
}

TEST(Inspect, TakesNoMemoryForWeights) {
  const Outcome outcome =
      tendon("inspect --json " + std::string(TENDON_TEST_DATA) + "/graphs/diffusion_full.json.gz");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json summary = Json::parse(outcome.out);
  EXPECT_GT(summary.at("weight_bytes"), 1'000'000'000);
  EXPECT_LT(summary.at("peak_rss_bytes"), 500'000'000);
}

/// What the OpenMP runtime says about itself when the command starts with these variables.
std::string openmp_settings(const std::string& variables) {
  const std::string path = temporary("settings.txt");
  const std::string command = "env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY OMP_DISPLAY_ENV=verbose " +
                              variables + " " TENDON_COMMAND " --version >/dev/null 2>" + path;
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream stream(path);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  // The last time it started: the command may have started itself again.
  return text.substr(text.rfind("OPENMP DISPLAY ENVIRONMENT BEGIN"));
}

TEST(Bench, IdleThreadsSpinBrieflyUnlessTheEnvironmentSaysOtherwise) {
  // The longer, the more threads there are to wake.
  EXPECT_THAT(openmp_settings("OMP_NUM_THREADS=1"), HasSubstr("GOMP_SPINCOUNT = '1000'"));
  EXPECT_THAT(openmp_settings("OMP_NUM_THREADS=2"), HasSubstr("GOMP_SPINCOUNT = '1000'"));
  EXPECT_THAT(openmp_settings("OMP_NUM_THREADS=16"), HasSubstr("GOMP_SPINCOUNT = '15000'"));
  EXPECT_THAT(openmp_settings("GOMP_SPINCOUNT=7"), HasSubstr("GOMP_SPINCOUNT = '7'"));
  EXPECT_THAT(openmp_settings("OMP_WAIT_POLICY=passive"), HasSubstr("GOMP_SPINCOUNT = '0'"));
}

TEST(Bench, CallsStartAPeriodApart) {
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome =
      tendon("bench " + kMlp + ".pt2 --iterations 4 --warmup 0 --period 30 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(90));
  EXPECT_EQ(Json::parse(outcome.out).at("period_ms"), 30);
}

TEST(Bench, PackedWeightsTakeThePlaceOfTheirOriginals) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep freed memory";
#endif
  const std::string graph = std::string(TENDON_TEST_DATA) + "/graphs/act_full.json.gz";
  const Outcome inspected = tendon("inspect --json " + graph);
  const Outcome measured = tendon("bench --json --iterations 1 --warmup 0 " + graph);
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  const Json summary = Json::parse(inspected.out);
  const std::int64_t constants = summary.at("weight_bytes").get<std::int64_t>() +
                                 summary.at("folded_bytes").get<std::int64_t>();
  EXPECT_GT(constants, 200'000'000);
  EXPECT_LT(Json::parse(measured.out).at("peak_rss_bytes"), constants + 100'000'000);
}

TEST(Profile, WritesATraceWithEveryStep) {
  const std::string path = temporary("trace.json");
  const Outcome outcome = tendon("profile " + kMlp + ".pt2 --iterations 2 --trace " + path);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::ifstream stream(path);
  const Json trace = Json::parse(stream);
  std::map<std::string, int> categories;
  for (const auto& event : trace.at("traceEvents")) ++categories[event.at("cat")];
  EXPECT_EQ(categories["run"], 2);
  EXPECT_GE(categories["load"], 2);
  EXPECT_GT(categories["step"], 0);
  EXPECT_EQ(categories["step"] % 2, 0);
}

}  // namespace
}  // namespace tendon::tools
