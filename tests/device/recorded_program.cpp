#include "recorded_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "tensor/compare.h"

namespace tendon::test {

namespace {

conformance::Case find_case(const std::string& name) {
  auto cases = conformance::read_cases(TENDON_TEST_DATA "/conformance/programs.zip");
  EXPECT_TRUE(cases.ok()) << cases.status().to_string();
  const auto found = std::find_if(cases->begin(), cases->end(),
                                  [&](const conformance::Case& test) { return test.name == name; });
  EXPECT_NE(found, cases->end()) << name;
  return *found;
}

std::string write_program(const conformance::Case& test) {
  const std::string path =
      ::testing::TempDir() + std::to_string(::getpid()) + "_" + test.name + ".pt2";
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(test.program->data()),
             static_cast<std::streamsize>(test.program->size()));
  return path;
}

}  // namespace

std::string program_file(const std::string& name) { return write_program(find_case(name)); }

RecordedProgram load_recorded(const std::string& name, const LoadOptions& options) {
  const conformance::Case test = find_case(name);
  const std::string path = write_program(test);
  auto program = Program::load(path, options);
  EXPECT_TRUE(program.ok()) << program.status().to_string();
  std::remove(path.c_str());  // it stays mapped
  RecordedProgram recorded{std::move(*program), {}};
  for (std::size_t i = 0; i < test.calls.size(); ++i) {
    auto call = test.call(i);
    EXPECT_TRUE(call.ok()) << call.status().to_string();
    recorded.calls.push_back(std::move(*call));
  }
  return recorded;
}

std::vector<TensorView> RecordedProgram::inputs(std::size_t i) const {
  std::vector<TensorView> views;
  for (const Tensor& input : calls.at(i).inputs) views.push_back(input.view());
  return views;
}

void RecordedProgram::expect_outputs(std::size_t i, std::span<const TensorView> outputs) const {
  ASSERT_EQ(outputs.size(), program.outputs().size());
  for (std::size_t output = 0; output < outputs.size(); ++output) {
    const TensorView& got = outputs[output];
    const auto& expected = calls.at(i).expected.at(program.outputs()[output].position);
    const auto comparison =
        tensor::compare(got, expected.values.view(), tensor::default_tolerance(got.dtype));
    ASSERT_TRUE(comparison.ok()) << comparison.status().to_string();
    EXPECT_TRUE(comparison->ok()) << "call " << i << ", output " << output << ": got "
                                  << comparison->got << ", expected " << comparison->expected;
    if (expected.strides) {
      EXPECT_TRUE(tools::strides_agree(got.sizes, got.strides, *expected.strides))
          << "call " << i << ", output " << output << ": strides "
          << tools::strides_text(got.strides);
    }
  }
}

}  // namespace tendon::test
