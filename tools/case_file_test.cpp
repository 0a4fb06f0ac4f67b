#include "case_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tendon::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Strides, TextRoundTrip) {
  for (const Sizes& strides : {Sizes{}, Sizes{1}, Sizes{60, 1, 15, 3}, Sizes{0, -4}}) {
    const auto parsed = parse_strides(strides_text(strides));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, strides);
  }
  EXPECT_EQ(strides_text(Sizes{60, 1, 15, 3}), "[60, 1, 15, 3]");
  EXPECT_EQ(*parse_strides(" [60,1,15,3] "), (Sizes{60, 1, 15, 3}));
}

TEST(Strides, WhatIsNoListIsRefused) {
  for (const char* text : {"", "[", "]", "1", "[1", "[1,]", "[,1]", "[1 2]", "[1]x", "[a]", "[1.5]",
                           "[99999999999999999999]"}) {
    EXPECT_EQ(parse_strides(text).status().code(), StatusCode::kDataLoss) << text;
  }
}

TEST(Strides, AgreementIgnoresWhatNoElementSees) {
  EXPECT_TRUE(strides_agree({2, 3}, {3, 1}, {3, 1}));
  EXPECT_FALSE(strides_agree({2, 3}, {3, 1}, {1, 2}));
  EXPECT_FALSE(strides_agree({2, 3}, {1, 2}, {3, 1}));
  EXPECT_TRUE(strides_agree({1, 3}, {3, 1}, {99, 1}));  // an axis of one
  EXPECT_TRUE(strides_agree({0, 3}, {1, 1}, {3, 1}));   // no elements
  EXPECT_TRUE(strides_agree({}, {}, {}));
  EXPECT_TRUE(strides_agree({2, 3}, {3, 1}, {8, 1}));   // a view with gaps: made dense
  EXPECT_FALSE(strides_agree({2, 3}, {8, 1}, {8, 1}));  // and must be
  EXPECT_TRUE(strides_agree({2, 3}, {3, 1}, {0, 1}));   // expanded
}

Tensor number(float value) {
  Tensor tensor = *Tensor::allocate(DType::kFloat32, {1});
  tensor.as<float>()[0] = value;
  return tensor;
}

TEST(CaseFile, TensorsAreFoundByNumberNotByText) {
  tensor::TensorFile file;
  for (const char* name :
       {"input.10", "input.2", "input.x", "input.", "input.-1", "input.3a", "output.0", "other"}) {
    file.tensors.emplace(name, number(0));
  }
  const auto inputs = numbered_tensors(file, "input");
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs.begin()->first, 2);
  EXPECT_EQ(inputs.rbegin()->first, 10);
}

TEST(CaseFile, WrittenOutputsAreReadBackAsExpectedOnes) {
  std::vector<float> values = {0, 1, 2, 3, 4, 5};
  TensorInfo first, second;
  first.position = 0;
  second.position = 3;  // None and numbers lie between
  const std::vector<TensorView> outputs = {
      {values.data(), DType::kFloat32, {3, 2}, {1, 3}},
      TensorView::contiguous(values.data(), DType::kFloat32, {}),
  };
  const std::string path = ::testing::TempDir() + "outputs.safetensors";
  ASSERT_TRUE(write_outputs(path, {first, second}, outputs).ok());
  const auto file = tensor::read_tensor_file(path);
  ASSERT_TRUE(file.ok());
  const auto expected = expected_outputs(*file);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  EXPECT_THAT(*expected->at(0).strides, ElementsAre(1, 3));
  EXPECT_EQ(expected->at(0).values.as<float>()[1], 3);
  EXPECT_THAT(*expected->at(3).strides, ElementsAre());
}

TEST(CaseFile, StridesOfAnotherRankAreRefused) {
  tensor::TensorFile file;
  file.tensors.emplace("output.0", number(1));
  file.metadata["output.0"] = "[4, 1]";
  const Status status = expected_outputs(file).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("strides [4, 1] for a tensor of 1 axes"));
}

}  // namespace
}  // namespace tendon::tools
