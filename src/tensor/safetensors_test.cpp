#include "tensor/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace tendon::tensor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kData = std::string(TENDON_TEST_DATA) + "/tensor/";

/// A path of this process's own: tests run side by side.
std::string temporary(const std::string& name) {
  return ::testing::TempDir() + std::to_string(::getpid()) + "_" + name;
}

Result<TensorFile> parse(const std::string& json, std::size_t data_bytes, std::uint64_t claim) {
  auto bytes = std::make_shared<std::vector<std::byte>>(8 + json.size() + data_bytes);
  std::memcpy(bytes->data(), &claim, 8);
  std::memcpy(bytes->data() + 8, json.data(), json.size());
  return parse_safetensors(*bytes, bytes);
}
Result<TensorFile> parse(const std::string& json, std::size_t data_bytes = 0) {
  return parse(json, data_bytes, json.size());
}

TEST(Safetensors, ReadsAFileOfTheReferenceImplementation) {
  auto file = read_safetensors(kData + "reference.safetensors");
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  EXPECT_EQ(file->metadata.at("output.0"), "[4, 1]");
  EXPECT_EQ(file->tensors.size(), 16u);
  for (const char* name : {"uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
                           "float16", "float32", "float64", "complex64", "bool"}) {
    const Tensor& tensor = file->tensors.at(name);
    EXPECT_EQ(dtype_name(tensor.dtype()), name);
    EXPECT_THAT(tensor.sizes(), ElementsAre(2, 3));
  }
  EXPECT_EQ(file->tensors.at("int64").as<std::int64_t>()[5], 3);
  EXPECT_EQ(file->tensors.at("uint16").as<std::uint16_t>()[5], 5);
  EXPECT_EQ(file->tensors.at("float64").as<double>()[0], -2.0);
  EXPECT_EQ(file->tensors.at("scalar").as<double>()[0], 2.5);
  EXPECT_TRUE(file->tensors.at("scalar").sizes().empty());
  EXPECT_THAT(file->tensors.at("empty").sizes(), ElementsAre(0, 3));
}

TEST(Safetensors, WritesAndReadsBackStridedTensorsAndMetadata) {
  std::vector<float> floats = {0, 1, 2, 3, 4, 5};
  std::vector<std::uint8_t> bytes = {7, 8, 9};
  const std::string path = temporary("written.safetensors");
  const Status status = write_safetensors(
      path,
      {{"odd \"name\"\n", TensorView::contiguous(bytes.data(), DType::kUInt8, {3})},
       {"transposed", {floats.data(), DType::kFloat32, {3, 2}, {1, 3}}}},
      {{"output.0", "[1, 3]"}});
  ASSERT_TRUE(status.ok()) << status.to_string();
  auto file = read_tensor_file(path);
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  EXPECT_EQ(file->metadata.at("output.0"), "[1, 3]");
  const Tensor& transposed = file->tensors.at("transposed");
  EXPECT_THAT(std::vector<float>(transposed.as<float>(), transposed.as<float>() + 6),
              ElementsAre(0, 3, 1, 4, 2, 5));
  const Tensor& odd = file->tensors.at("odd \"name\"\n");
  EXPECT_THAT(std::vector<int>(odd.as<std::uint8_t>(), odd.as<std::uint8_t>() + 3),
              ElementsAre(7, 8, 9));
  // The mapping is private: a program that mutates its input must not change the file.
  transposed.as<float>()[0] = 100;
  EXPECT_EQ(read_safetensors(path)->tensors.at("transposed").as<float>()[0], 0);
}

TEST(Safetensors, TensorsOutliveTheFileObject) {
  Tensor tensor;
  {
    auto file = read_safetensors(kData + "reference.safetensors");
    ASSERT_TRUE(file.ok());
    tensor = file->tensors.at("int32");
  }
  EXPECT_EQ(tensor.as<std::int32_t>()[1], -1);
}

TEST(Safetensors, WriteRefusesWhatTheFormatLacks) {
  double value[2] = {};
  const auto code = [&](std::vector<NamedView> tensors,
                        std::map<std::string, std::string> metadata = {}) {
    return write_safetensors(temporary("refused.safetensors"), tensors, metadata).code();
  };
  const TensorView real = TensorView::contiguous(value, DType::kFloat64, {2});
  const TensorView complex = TensorView::contiguous(value, DType::kComplex128, {1});
  EXPECT_EQ(code({{"x", complex}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"x", real}, {"x", real}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"__metadata__", real}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"\xff", real}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"x", real}}, {{"key", "\xc3"}}), StatusCode::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(temporary("refused.safetensors")));
  EXPECT_EQ(write_safetensors("/nonexistent/x.safetensors", {}).code(), StatusCode::kNotFound);
}

TEST(Safetensors, ReadErrorsNameTheFile) {
  EXPECT_EQ(read_safetensors("/nonexistent").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(read_safetensors(::testing::TempDir()).status().code(), StatusCode::kInvalidArgument);
  const std::string path = temporary("short.safetensors");
  std::ofstream(path) << "abc";
  const Status status = read_safetensors(path).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("short.safetensors"));
}

TEST(Safetensors, ContradictoryLengthIsDataLoss) {
  EXPECT_EQ(parse("{}", 0, 3).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(parse("{}", 0, ~std::uint64_t{0}).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(parse("{}", 0, std::uint64_t{1} << 63).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(parse("{}", 0, 0).status().code(), StatusCode::kDataLoss);
  EXPECT_TRUE(parse("{}      ").ok());
}

struct BadHeader {
  const char* what;
  const char* json;
  std::size_t data_bytes;
  const char* message;
};

class SafetensorsBadHeader : public ::testing::TestWithParam<BadHeader> {};

TEST_P(SafetensorsBadHeader, IsRefusedWithTheReason) {
  const auto file = parse(GetParam().json, GetParam().data_bytes);
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.status().message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, SafetensorsBadHeader,
    ::testing::Values(
        BadHeader{"Syntax", R"({"a":)", 0, "not valid JSON at byte"},
        BadHeader{"TrailingText", R"({} x)", 0, "not valid JSON"},
        BadHeader{"Array", R"([])", 0, "expected an object"},
        BadHeader{"Number", R"(1)", 0, "expected an object, not the number 1"},
        BadHeader{"TensorIsNumber", R"({"a":1})", 0, "'a' must be an object"},
        BadHeader{"DeepNesting", R"({"a":{"dtype":[[[[)", 0, "unexpected an array"},
        BadHeader{"DeepShape", R"({"a":{"shape":[[1]]}})", 0, "unexpected an array"},
        BadHeader{"MetadataNumber", R"({"__metadata__":{"k":1}})", 0, "must be a string"},
        BadHeader{"RepeatedTensor",
                  R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},
                      "a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                  0, "'a' comes twice"},
        BadHeader{"RepeatedKey", R"({"a":{"dtype":"U8","dtype":"U8"}})", 0, "comes twice"},
        BadHeader{"UnknownKey", R"({"a":{"color":"red"}})", 0, "unknown key 'color'"},
        BadHeader{"MissingKey", R"({"a":{"dtype":"U8","shape":[]}})", 0, "lacks one of"},
        BadHeader{"OneOffset", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1,
                  "must be two numbers"},
        BadHeader{"ThreeOffsets", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", 1,
                  "unexpected the number 2"},
        BadHeader{"NegativeSize", R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1,
                  "negative number -1"},
        BadHeader{"FloatSize", R"({"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}})", 1,
                  "number 1.5"},
        BadHeader{"SizeBeyondInt64",
                  R"({"a":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,1]}})", 1,
                  "has a size of 9223372036854775808"},
        BadHeader{"ProductOverflows",
                  R"({"a":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,8]}})",
                  8, "cannot take 8 bytes"},
        BadHeader{"BytesOverflow",
                  R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0,
                  "cannot take 0 bytes"},
        BadHeader{"WrongByteCount", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
                  "of dtype F32 and shape [2] cannot take 4 bytes"},
        BadHeader{"EndBeforeBegin", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,-1]}})", 1,
                  "negative number"},
        BadHeader{"BeyondTheFile", R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 2,
                  "ends at byte 4, but the file has only 2"},
        BadHeader{"Hole",
                  R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
                      "b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
                  3, "expected it to begin at 1"},
        BadHeader{"Overlap",
                  R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},
                      "b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                  3, "expected it to begin at 2"},
        BadHeader{"Reversed", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", 1,
                  "expected it to begin at 0"},
        BadHeader{"BytesLeftOver", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 3,
                  "2 bytes after the last tensor"},
        BadHeader{"UnknownDType", R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})",
                  1, "unsupported dtype 'F8_E4M3'"}),
    [](const auto& info) { return info.param.what; });

TEST(Safetensors, MisalignedTensorsAreCopied) {
  // The header has an odd length, so that the float lies at an odd address.
  std::string json = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  while (json.size() % 4 != 1) json += ' ';
  auto file = parse(json, 4);
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file->tensors.at("a").view().data) % 4, 0u);
}

TEST(Safetensors, BoolsMustBeZeroOrOne) {
  const std::string json = R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})";
  std::vector<std::byte> bytes(8 + json.size() + 2);
  bytes[0] = static_cast<std::byte>(json.size());
  std::memcpy(bytes.data() + 8, json.data(), json.size());
  bytes.back() = std::byte{2};
  const Status status = parse_safetensors(bytes, nullptr).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("element 1 of a bool tensor is 2"));
}

}  // namespace
}  // namespace tendon::tensor
