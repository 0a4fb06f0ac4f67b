#include "archive/file_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "archive/load.h"

namespace tendon::archive {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(FileKind, WrongFilesAreNamedAndRefused) {
  const std::pair<std::string, const char*> files[] = {
      {"", "an empty file"},
      {"\x20\0\0\0ET12rest of a flatbuffer"s, "an ExecuTorch program"},
      {"GGUF\x03\0\0\0"s, "a GGUF model"},
      {"\x89HDF\r\n\x1a\n\0"s, "an HDF5 file"},
      {"\x7f"
       "ELF\x02\x01\x01"s,
       "a compiled library"},
      {"\x93NUMPY\x01\0"s, "a NumPy array"},
      {"\x1c\0\0\0TFL3"s, "a TensorFlow Lite model"},
      {"\x80\x02\x8a\x0al\xfc\x9c"s, "a pickle"},
      {"\x80\x04\x95\x10\0\0\0\0\0\0\0"s, "a pickle"},
      {"\x02\0\0\0\0\0\0\0{}"s, "a safetensors file"},
      {"\x08\x08\x12\x07pytorch\x1a\x05"s + "2.1.0", "an ONNX model"},
      {"\x08\x0a\x3a\x20"s + "...ai.onnx...", "an ONNX model"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", "a Git LFS pointer"},
      {"<!DOCTYPE html>\n<html><body>404</body></html>", "a web page"},
      {"import torch\n", "a text file"},
      {std::string(300, '\0'), "a file of zeros"},
      {"\x01\x02\x03\x04\x05"s, "an unknown kind of file"},
      {std::string(257, 'a') + "ustar", "a tar archive"},
  };
  for (const auto& [content, kind] : files) {
    const auto program = read_program(as_bytes(content), nullptr, "file");
    ASSERT_FALSE(program.ok()) << kind;
    EXPECT_EQ(program.status().code(), StatusCode::kInvalidArgument) << kind;
    EXPECT_THAT(program.status().message(), HasSubstr(kind));
    EXPECT_THAT(program.status().message(), HasSubstr("torch.export"));
  }
}

TEST(FileKind, SignaturesNeedTheirWholeText) {
  for (const std::string& content : {"\x7f"s, "GGU"s, "\x08"s, "\x08\x07\x12"s, "\x20\0\0\0ETxy"s,
                                     "\xff\xff\xff\xff\xff\xff\xff\x7f{"s, "\x80"s}) {
    EXPECT_THAT(describe_bytes(as_bytes(content)), testing::AnyOf("", "a text file"));
  }
}

}  // namespace
}  // namespace tendon::archive
