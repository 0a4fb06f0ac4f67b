#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/atomic_file.h"
#include "base/mapped_file.h"

namespace tendon::base {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("files_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ / name; }
  static std::string read(const std::string& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::ptrdiff_t count() const { return std::distance(fs::directory_iterator(folder_), {}); }

  fs::path folder_;
};

TEST_F(Files, CopyOnWriteLeavesTheFileAlone) {
  ASSERT_TRUE(write_text_file(path("a"), "text").ok());
  auto file = MappedFile::open(path("a"), MappedFile::Access::kCopyOnWrite);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ((*file)->bytes().size(), 4u);
  (*file)->bytes()[0] = std::byte{'n'};
  EXPECT_EQ(read(path("a")), "text");
}

TEST_F(Files, WhatCannotBeMappedSaysWhy) {
  EXPECT_EQ(MappedFile::open(path("none")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(MappedFile::open(folder_).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(MappedFile::open("/dev/null").status().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(write_text_file(path("empty"), "").ok());
  auto empty = MappedFile::open(path("empty"));
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE((*empty)->bytes().empty());
}

TEST_F(Files, ReplacingAFileLeavesItsMappingWhole) {
  ASSERT_TRUE(write_text_file(path("a"), "old").ok());
  auto file = MappedFile::open(path("a"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(write_text_file(path("a"), "").ok());
  EXPECT_EQ((*file)->bytes()[2], std::byte{'d'});
  EXPECT_EQ(read(path("a")), "");
}

/// Bytes of mapped files that are in this process's physical memory.
std::size_t resident_file_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kibibytes = 0;
    if (word == "RssFile:" && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

TEST_F(Files, PagesGivenBackLeaveMemoryAndComeBackWhenRead) {
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  ASSERT_TRUE(write_text_file(path("a"), std::string(kBytes, 'x')).ok());
  auto file = MappedFile::open(path("a"));
  ASSERT_TRUE(file.ok());
  const auto bytes = (*file)->bytes();
  const auto all_read = [&] {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{'x'}; });
  };
  EXPECT_TRUE(all_read());
  const std::size_t before = resident_file_bytes();
  (*file)->give_back(bytes.subspan(1));
  EXPECT_LT(resident_file_bytes() + kBytes / 2, before);
  EXPECT_TRUE(all_read());
}

TEST_F(Files, WrittenPagesAreNotGivenBack) {
  ASSERT_TRUE(write_text_file(path("a"), std::string(10000, 'x')).ok());
  auto file = MappedFile::open(path("a"), MappedFile::Access::kCopyOnWrite);
  ASSERT_TRUE(file.ok());
  (*file)->bytes()[5000] = std::byte{'y'};
  (*file)->give_back((*file)->bytes());
  EXPECT_EQ((*file)->bytes()[5000], std::byte{'y'});
}

TEST_F(Files, WithoutCommitNothingAppears) {
  ASSERT_TRUE(write_text_file(path("a"), "old").ok());
  {
    auto file = AtomicFile::create(path("a"));
    ASSERT_TRUE(file.ok());
    std::ofstream(file->path()) << "half";
    AtomicFile moved = std::move(*file);
  }
  EXPECT_EQ(read(path("a")), "old");
  EXPECT_EQ(count(), 1);
}

TEST_F(Files, CommittedFilesAreReadableByOthersAsUsual) {
  ASSERT_TRUE(write_text_file(path("a"), "text").ok());
  std::ofstream(path("b")) << "text";
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::status(path("b")).permissions());
}

TEST_F(Files, DevicesAreWrittenInPlace) {
  EXPECT_TRUE(write_text_file("/dev/null", "text").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(write_text_file(folder_, "text").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(write_text_file(path("no/such/folder"), "text").code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tendon::base
