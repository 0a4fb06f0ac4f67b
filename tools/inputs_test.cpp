#include "inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tendon::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorInfo info(const std::string& name, DType dtype, std::vector<AxisRange> axes) {
  TensorInfo result;
  result.name = name;
  result.dtype = dtype;
  result.axes = std::move(axes);
  return result;
}

TEST(DrawInputs, SizesLieInTheirRanges) {
  const auto inputs = draw_inputs({info("x", DType::kFloat32,
                                        {{.lower = 3, .upper = 3},
                                         {.lower = 0, .upper = 8},
                                         {.lower = 5, .upper = std::nullopt, .multiple = 4},
                                         {.lower = 0, .upper = 0}})},
                                  0);
  ASSERT_TRUE(inputs.ok());
  EXPECT_THAT(inputs->tensors[0].sizes(), ElementsAre(3, 1, 8, 0));
}

TEST(DrawInputs, ContentsFollowDTypeAndSeed) {
  const std::vector<TensorInfo> infos = {
      info("floats", DType::kFloat32, {{.lower = 64, .upper = 64}}),
      info("tokens", DType::kInt64, {{.lower = 64, .upper = 64}}),
      info("mask", DType::kBool, {{.lower = 64, .upper = 64}}),
  };
  const auto inputs = draw_inputs(infos, 1), again = draw_inputs(infos, 1),
             other = draw_inputs(infos, 2);
  ASSERT_TRUE(inputs.ok() && again.ok() && other.ok());
  const auto* tokens = inputs->tensors[1].as<std::int64_t>();
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(tokens[i] == 0 || tokens[i] == 1);
  const auto floats = [](const Inputs& from) {
    const auto* data = from.tensors[0].as<float>();
    return std::vector<float>(data, data + 64);
  };
  EXPECT_EQ(floats(*inputs), floats(*again));
  EXPECT_NE(floats(*inputs), floats(*other));
}

TEST(InputsOfFile, ComeInTheOrderOfTheirNumbers) {
  tensor::TensorFile file;
  for (int i = 0; i <= 10; ++i) {
    Tensor tensor = *Tensor::allocate(DType::kInt32, {1});
    tensor.as<std::int32_t>()[0] = i;
    file.tensors.emplace("input." + std::to_string(i), tensor);
  }
  const std::vector<TensorInfo> infos(11, info("x", DType::kInt32, {{.lower = 1, .upper = 1}}));
  const auto inputs = inputs_of_file(file, "case", infos);
  ASSERT_TRUE(inputs.ok());
  EXPECT_EQ(inputs->views()[2].as<std::int32_t>()[0], 2);
  EXPECT_EQ(inputs->views()[10].as<std::int32_t>()[0], 10);
}

TEST(InputsOfFile, AGapOrASecondSpellingIsRefused) {
  const std::vector<TensorInfo> infos(2, info("x", DType::kInt32, {{.lower = 1, .upper = 1}}));
  for (const char* second : {"input.2", "input.01", "input.+1"}) {
    tensor::TensorFile file;
    file.tensors.emplace("input.0", *Tensor::allocate(DType::kInt32, {1}));
    file.tensors.emplace(second, *Tensor::allocate(DType::kInt32, {1}));
    const Status status = inputs_of_file(file, "case", infos).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << second;
    EXPECT_THAT(status.message(), HasSubstr("tensors called input.N: input.0")) << second;
  }
}

TEST(InputsOfFile, AnotherNumberNamesWhatTheProgramTakes) {
  TensorInfo image = info("image", DType::kUInt8, {});
  image.shape_text = "[]";
  const Status status = inputs_of_file({}, "case.safetensors", {image}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("case.safetensors has 0 tensors called input.N"));
  EXPECT_THAT(status.message(), HasSubstr("input.0  image  uint8[]"));
}

}  // namespace
}  // namespace tendon::tools
