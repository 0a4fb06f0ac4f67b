#include "tensor/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <complex>
#include <fstream>
#include <iterator>

#include "base/half.h"
#include "tensor/npy_header.h"

namespace tendon::tensor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kData = std::string(TENDON_TEST_DATA) + "/tensor/";

std::span<const std::byte> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
std::string read_text(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class NumpyFile : public ::testing::TestWithParam<const char*> {};

TEST_P(NumpyFile, ReadsEveryDType) {
  auto file = read_tensor_file(kData + GetParam());
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  const auto& tensors = file->tensors;
  EXPECT_EQ(tensors.size(), 17u);
  for (const char* name : {"uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
                           "float16", "float32", "float64", "complex64", "complex128", "bool"}) {
    EXPECT_EQ(dtype_name(tensors.at(name).dtype()), name);
    EXPECT_THAT(tensors.at(name).sizes(), ElementsAre(2, 3));
  }
  EXPECT_TRUE(tensors.at("bool").as<bool>()[1]);
  EXPECT_EQ(tensors.at("int8").as<std::int8_t>()[0], -2);
  EXPECT_EQ(tensors.at("uint64").as<std::uint64_t>()[5], 5u);
  EXPECT_EQ(static_cast<float>(tensors.at("float16").as<Float16>()[5]), 3.0f);
  EXPECT_EQ(tensors.at("complex64").as<std::complex<float>>()[5], std::complex<float>(3, 6));
  EXPECT_EQ(tensors.at("complex128").as<std::complex<double>>()[0], std::complex<double>(-2, -4));
  EXPECT_EQ(tensors.at("scalar").as<double>()[0], 2.5);
  EXPECT_THAT(tensors.at("empty").sizes(), ElementsAre(0, 3));
  const Tensor& fortran = tensors.at("fortran");
  EXPECT_THAT(fortran.sizes(), ElementsAre(2, 3, 4));
  EXPECT_THAT(fortran.strides(), ElementsAre(1, 2, 6));
  const Tensor dense = *fortran.contiguous_copy();
  for (int i = 0; i < 24; ++i) EXPECT_EQ(dense.as<std::int32_t>()[i], i);
}

INSTANTIATE_TEST_SUITE_P(All, NumpyFile,
                         ::testing::Values("numpy_stored.npz", "numpy_deflated.npz"),
                         [](const auto& info) {
                           return std::string(info.param).find("stored") != std::string::npos
                                      ? "Stored"
                                      : "Deflated";
                         });

TEST(Npz, ReadsFormatVersions) {
  auto file = read_npz(kData + "numpy_versions.npz");
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  for (const char* name : {"version1", "version2", "version3"}) {
    EXPECT_EQ(file->tensors.at(name).as<std::int16_t>()[3], 3);
  }
}

TEST(Npz, WritesAndReadsBack) {
  std::vector<double> values = {0, 1, 2, 3, 4, 5};
  for (auto compression : {NpzCompression::kStored, NpzCompression::kDeflated}) {
    const std::string path = ::testing::TempDir() + std::to_string(::getpid()) + "_written.npz";
    ASSERT_TRUE(write_npz(path,
                          {{"a", {values.data(), DType::kFloat64, {3, 2}, {1, 3}}},
                           {"b", TensorView::contiguous(values.data(), DType::kFloat64, {})},
                           {"c", TensorView::contiguous(nullptr, DType::kInt8, {2, 0})}},
                          compression)
                    .ok());
    auto file = read_npz(path);
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    const Tensor& a = file->tensors.at("a");
    EXPECT_THAT(std::vector<double>(a.as<double>(), a.as<double>() + 6),
                ElementsAre(0, 3, 1, 4, 2, 5));
    EXPECT_TRUE(file->tensors.at("b").sizes().empty());
    EXPECT_THAT(file->tensors.at("c").sizes(), ElementsAre(2, 0));
  }
}

TEST(Npz, WriteRefusesWhatNumpyLacks) {
  std::uint16_t value = 0;
  const TensorView view = TensorView::contiguous(&value, DType::kBFloat16, {});
  const Status status = write_tensor_file(::testing::TempDir() + "refused.npz", {{"x", view}});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("no type for bfloat16"));
}

TEST(Npz, EveryTruncationIsAnError) {
  const std::string whole = read_text(kData + "numpy_versions.npz");
  ASSERT_TRUE(parse_npz(as_bytes(whole)).ok());
  // Up to the end record, the only part that the entries themselves do not need.
  for (std::size_t size = 0; size < whole.size() - 22; ++size) {
    EXPECT_FALSE(parse_npz(as_bytes(whole).first(size)).ok()) << size;
  }
}

TEST(Npz, FlippedContentFailsTheChecksum) {
  std::string text = read_text(kData + "numpy_versions.npz");
  const std::size_t data = text.find("version2.npy") - 40;  // in the elements of version1
  text[data] = static_cast<char>(text[data] ^ 1);
  const Status status = parse_npz(as_bytes(text)).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("version1.npy"));
}

std::string npy(const std::string& literal, std::size_t data_bytes = 0) {
  std::string text = "\x93NUMPY";
  text += {1, 0, static_cast<char>(literal.size()), 0};
  return text + literal + std::string(data_bytes, '\0');
}

struct BadNpy {
  const char* what;
  const char* literal;
  std::size_t data_bytes;
  const char* message;
};

class NpyBadHeader : public ::testing::TestWithParam<BadNpy> {};

TEST_P(NpyBadHeader, IsRefusedWithTheReason) {
  const std::string text = npy(GetParam().literal, GetParam().data_bytes);
  const auto tensor = parse_npy(as_bytes(text));
  ASSERT_FALSE(tensor.ok());
  EXPECT_THAT(tensor.status().message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, NpyBadHeader,
    ::testing::Values(
        BadNpy{"Empty", "", 0, "expected '{' at byte 0"},
        BadNpy{"Unclosed", "{'descr': '<f4", 0, "closing quote"},
        BadNpy{"NoColon", "{'descr' '<f4'}", 0, "expected ':'"},
        BadNpy{"MissingShape", "{'descr': '<f4', 'fortran_order': False}", 0, "is missing"},
        BadNpy{"Repeated", "{'descr': '<f4', 'descr': '<f4'}", 0, "repeated key 'descr'"},
        BadNpy{"UnknownKey", "{'color': 1}", 0, "unknown or repeated key 'color'"},
        BadNpy{"BadBool", "{'fortran_order': 1}", 0, "True or False"},
        BadNpy{"NegativeSize", "{'shape': (-1,)}", 0, "a size"},
        BadNpy{"HugeNumber", "{'shape': (99999999999999999999,)}", 0, "a size"},
        BadNpy{"NoComma", "{'shape': (1 2)}", 0, "',' or ')'"},
        BadNpy{"BigEndian", "{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", 4,
               "big-endian"},
        BadNpy{"Structured", "{'descr': [('x', '<f4')], 'fortran_order': False}", 4, "structured"},
        BadNpy{"Raw", "{'descr': '|V2', 'fortran_order': False, 'shape': (1,)}", 2,
               "unsupported NumPy type '|V2'"},
        BadNpy{"EmptyDescr", "{'descr': '', 'fortran_order': False, 'shape': (1,)}", 2,
               "unsupported NumPy type ''"},
        BadNpy{"TrailingText", "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", 4,
               "expected the end"},
        BadNpy{"TooFewBytes", "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 7,
               "cannot take 7 bytes"},
        BadNpy{"Overflow",
               "{'descr': '<f8', 'fortran_order': True, 'shape': (4294967296, 4294967296)}", 0,
               "cannot take 0 bytes"}),
    [](const auto& info) { return info.param.what; });

TEST(Npy, BadMagicVersionAndLength) {
  EXPECT_FALSE(parse_npy({}).ok());
  EXPECT_FALSE(parse_npy(as_bytes("not numpy at all")).ok());
  std::string text = npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4);
  ASSERT_TRUE(parse_npy(as_bytes(text)).ok());
  std::string version = text;
  version[6] = 4;
  EXPECT_EQ(parse_npy(as_bytes(version)).status().code(), StatusCode::kUnimplemented);
  std::string length = text;
  length[9] = '\x7f';
  EXPECT_EQ(parse_npy(as_bytes(length)).status().code(), StatusCode::kDataLoss);
}

TEST(Npy, LongHeadersBecomeVersionTwo) {
  const NpyHeader header{DType::kFloat32, false, Sizes(30000, 1)};
  const std::string text = *print_npy_header(header);
  EXPECT_EQ(text[6], 2);
  EXPECT_EQ(text.size() % 64, 0u);
  EXPECT_EQ(text.size(), 12u + static_cast<unsigned char>(text[8]) +
                             256u * static_cast<unsigned char>(text[9]) +
                             65536u * static_cast<unsigned char>(text[10]));
}

}  // namespace
}  // namespace tendon::tensor
