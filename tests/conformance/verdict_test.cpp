// The runner itself: that wrong results fail.
#include "verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "tensor/safetensors.h"

namespace tendon::conformance {
namespace {

using ::testing::HasSubstr;
using Kind = Verdict::Kind;

Tensor floats(Sizes sizes, std::initializer_list<float> elements) {
  Tensor tensor = *Tensor::allocate(DType::kFloat32, std::move(sizes));
  std::copy(elements.begin(), elements.end(), tensor.as<float>());
  return tensor;
}

/// Two calls that expect twice their input, and no program.
Case doubling_case() {
  Case test;
  test.name = "doubling.float32.0";
  test.program = std::make_shared<std::vector<std::byte>>();
  for (const float x : {1.0f, 5.0f}) {
    const Tensor input = floats({2}, {x, x + 1});
    const Tensor output = floats({2}, {2 * x, 2 * x + 2});
    const std::string path = ::testing::TempDir() + "doubling.safetensors";
    EXPECT_TRUE(tensor::write_safetensors(path,
                                          {{"input.0", input.view()}, {"output.1", output.view()}},
                                          {{"output.1", "[1]"}})
                    .ok());
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> text((std::istreambuf_iterator<char>(file)),
                                 std::istreambuf_iterator<char>());
    auto bytes = std::make_shared<std::vector<std::byte>>(text.size());
    std::transform(text.begin(), text.end(), bytes->begin(),
                   [](char c) { return static_cast<std::byte>(c); });
    test.calls.push_back(std::move(bytes));
    std::remove(path.c_str());
  }
  return test;
}

/// Doubles its input, and does to the result what the test asks for.
template <typename Behaviour>
class FakeSession final : public Session {
 public:
  Result<std::vector<Output>> run(const std::vector<Tensor>& inputs) override {
    const float* x = inputs.at(0).as<float>();
    return Behaviour::outputs(floats({2}, {2 * x[0], 2 * x[1]}), calls_++);
  }

 private:
  int calls_ = 0;
};

template <typename Behaviour>
Result<std::unique_ptr<Session>> open_fake(const Case&) {
  return std::unique_ptr<Session>(std::make_unique<FakeSession<Behaviour>>());
}

template <typename Behaviour>
Verdict verdict_on(Strictness strictness = {}) {
  return run_case(doubling_case(), open_fake<Behaviour>, strictness);
}

struct Right {
  static Result<std::vector<Output>> outputs(Tensor doubled, int) {
    return std::vector<Output>{{1, std::move(doubled)}};
  }
};
struct WrongInTheSecondCall {
  static Result<std::vector<Output>> outputs(Tensor doubled, int call) {
    doubled.as<float>()[1] += static_cast<float>(call);
    return std::vector<Output>{{1, std::move(doubled)}};
  }
};
struct AnotherShape {
  static Result<std::vector<Output>> outputs(const Tensor&, int) {
    return std::vector<Output>{{1, floats({1}, {2})}};
  }
};
struct AnotherPlace {
  static Result<std::vector<Output>> outputs(Tensor doubled, int) {
    return std::vector<Output>{{0, std::move(doubled)}};
  }
};
struct Nothing {
  static Result<std::vector<Output>> outputs(const Tensor&, int) { return std::vector<Output>(); }
};
struct Refusal {
  static Result<std::vector<Output>> outputs(const Tensor&, int) {
    return Status(StatusCode::kUnimplemented, "no doubling");
  }
};
struct OtherStrides {
  static Result<std::vector<Output>> outputs(const Tensor& doubled, int) {
    const Tensor wide = floats({4}, {doubled.as<float>()[0], 0, doubled.as<float>()[1], 0});
    TensorView view = wide.view();
    view.sizes = {2};
    view.strides = {2};
    return std::vector<Output>{{1, Tensor(view, std::make_shared<Tensor>(wide))}};
  }
};

TEST(VerdictTest, RightPasses) { EXPECT_EQ(verdict_on<Right>().kind, Kind::kPassed); }

TEST(VerdictTest, EveryCallCounts) {
  const Verdict verdict = verdict_on<WrongInTheSecondCall>();
  EXPECT_EQ(verdict.kind, Kind::kFailed);
  EXPECT_THAT(verdict.detail, HasSubstr("call 1, output.1: 1 of 2 elements differ, first at [1]"));
  EXPECT_EQ(verdict_on<WrongInTheSecondCall>({.values = false}).kind, Kind::kPassed);
}

TEST(VerdictTest, OutputsMustBeThoseExpected) {
  EXPECT_EQ(verdict_on<AnotherShape>().kind, Kind::kFailed);
  EXPECT_EQ(verdict_on<AnotherShape>({.values = false}).kind, Kind::kFailed);
  EXPECT_EQ(verdict_on<AnotherPlace>().kind, Kind::kFailed);
  EXPECT_EQ(verdict_on<Nothing>().kind, Kind::kFailed);
}

TEST(VerdictTest, StridesCountIfAsked) {
  EXPECT_EQ(verdict_on<OtherStrides>().kind, Kind::kPassed);
  EXPECT_EQ(verdict_on<OtherStrides>({.strides = true}).kind, Kind::kFailed);
}

TEST(VerdictTest, WhatIsNotThereIsMissing) {
  const Verdict verdict = verdict_on<Refusal>();
  EXPECT_EQ(verdict.kind, Kind::kMissing);
  EXPECT_THAT(verdict.detail, HasSubstr("no doubling"));
}

TEST(SuiteTest, Patterns) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("index_put.*", "index_put.int64.0"));
  EXPECT_FALSE(matches("index_put.*", "_index_put.int64.0"));
  EXPECT_TRUE(matches("*.float?2.*", "sort.float32.0"));
  EXPECT_FALSE(matches("sort", "sort.float32.0"));
  EXPECT_TRUE(matches("a*b*c", "aXbXbXc"));
}

TEST(SuiteTest, HeldBackCases) {
  const std::string path = ::testing::TempDir() + "held_back.txt";
  std::ofstream(path) << "# comment\n\nnormal.*: random numbers\ncpu/sort.bool.0: unstable\n";
  const auto cpu = HeldBack::read(path, "cpu");
  const auto oracle = HeldBack::read(path, "oracle");
  ASSERT_TRUE(cpu.ok() && oracle.ok());
  EXPECT_EQ(*oracle->reason("normal.float32.0"), "random numbers");
  EXPECT_NE(cpu->reason("sort.bool.0"), nullptr);
  EXPECT_EQ(oracle->reason("sort.bool.0"), nullptr);
  std::ofstream(path) << "normal.*\n";
  EXPECT_EQ(HeldBack::read(path, "cpu").status().code(), StatusCode::kInvalidArgument);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tendon::conformance
