#include "archive/zip_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minizip/zip.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tendon::archive {
namespace {

using ::testing::HasSubstr;

struct Content {
  std::string name, data;
  bool deflated = false;
};

/// An archive as minizip writes it.
std::string write_zip(const std::vector<Content>& contents) {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("tendon_zip_index_" + std::to_string(::getpid()) + ".zip");
  zipFile file = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  for (const Content& content : contents) {
    zip_fileinfo info{};
    zipOpenNewFileInZip64(file, content.name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                          content.deflated ? Z_DEFLATED : 0, 9, 0);
    zipWriteInFileInZip(file, content.data.data(), static_cast<unsigned>(content.data.size()));
    zipCloseFileInZip(file);
  }
  zipClose(file, nullptr);
  std::ifstream stream(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  std::filesystem::remove(path);
  return bytes;
}

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const std::vector<Content> kContents = {{"root/a", "stored bytes"},
                                        {"root/b", std::string(5000, 'b'), true},
                                        {"root/empty", ""},
                                        {"root/last", "z"}};

TEST(ZipIndex, StoredEntriesLieInPlaceAndDeflatedOnesInflate) {
  const std::string zip = write_zip(kContents);
  const auto index = ZipIndex::open(as_bytes(zip));
  ASSERT_TRUE(index.ok()) << index.status().to_string();
  ASSERT_EQ(index->entries().size(), kContents.size());
  for (const Content& content : kContents) {
    const ZipEntry* entry = index->find(content.name);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->size, content.data.size());
    EXPECT_EQ(entry->stored, !content.deflated);
    if (entry->stored) {
      EXPECT_EQ(as_text(entry->bytes), content.data);
      EXPECT_GE(static_cast<const void*>(entry->bytes.data()), zip.data());
      EXPECT_LE(static_cast<const void*>(entry->bytes.data() + entry->bytes.size()),
                zip.data() + zip.size());
    }
    const auto copy = index->read(content.name, 5000);
    ASSERT_TRUE(copy.ok()) << copy.status().to_string();
    EXPECT_EQ(as_text(*copy), content.data);
  }
  EXPECT_EQ(index->find("root"), nullptr);
  EXPECT_EQ(index->read("root/c", 10).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(index->read("root/b", 4999).status().code(), StatusCode::kResourceExhausted);
}

TEST(ZipIndex, NoTruncationIsAccepted) {
  const std::string zip = write_zip(kContents);
  for (std::size_t size = 0; size < zip.size(); ++size) {
    const std::string part = zip.substr(0, size);
    const auto index = ZipIndex::open(as_bytes(part));
    ASSERT_FALSE(index.ok()) << size;
    EXPECT_EQ(index.status().code(), StatusCode::kDataLoss);
  }
  EXPECT_THAT(ZipIndex::open(as_bytes(zip.substr(0, 60))).status().message(),
              HasSubstr("truncated"));
}

TEST(ZipIndex, AlteredBytesGiveEntriesInsideTheFileOrAnError) {
  const std::string zip = write_zip(kContents);
  for (std::size_t at = 0; at < zip.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string altered = zip;
      altered[at] = static_cast<char>(altered[at] ^ change);
      const auto index = ZipIndex::open(as_bytes(altered));
      if (!index.ok()) {
        EXPECT_EQ(index.status().code(), StatusCode::kDataLoss);
        continue;
      }
      for (const auto& [name, entry] : index->entries()) {
        if (entry.stored) {
          ASSERT_GE(entry.bytes.data(), as_bytes(altered).data());
          ASSERT_LE(entry.bytes.data() + entry.bytes.size(),
                    as_bytes(altered).data() + altered.size());
        } else {
          const auto content = index->read(name, 1 << 20);
          if (content.ok()) {
            ASSERT_EQ(content->size(), entry.size);
          }
        }
      }
    }
  }
}

TEST(ZipIndex, DamagedDeflatedContentIsFound) {
  const std::string zip = write_zip({{"b", std::string(5000, 'b') + "end", true}});
  int refused = 0;
  for (std::size_t at = 31; at < 40; ++at) {
    std::string altered = zip;
    altered[at] = static_cast<char>(altered[at] ^ 0x10);
    const auto index = ZipIndex::open(as_bytes(altered));
    ASSERT_TRUE(index.ok());
    const auto content = index->read("b", 1 << 20);
    refused += content.ok() ? 0 : 1;
    if (!content.ok()) {
      EXPECT_EQ(content.status().code(), StatusCode::kDataLoss);
    }
  }
  EXPECT_EQ(refused, 9);
}

TEST(ZipIndex, DuplicateNamesAreRefused) {
  const auto index = ZipIndex::open(as_bytes(write_zip({{"a", "1"}, {"a", "2"}})));
  ASSERT_FALSE(index.ok());
  EXPECT_THAT(index.status().message(), HasSubstr("'a' appears twice"));
}

TEST(ZipIndex, BombsAreRefused) {
  const std::string zip = write_zip({{"zeros", std::string(std::size_t{96} << 20, '\0'), true}});
  ASSERT_LT(zip.size(), 1u << 20);
  const auto index = ZipIndex::open(as_bytes(zip));
  ASSERT_TRUE(index.ok());
  // All entries draw on one budget; two may be what they seem, the third is too much.
  EXPECT_TRUE(index->read("zeros", ~std::uint64_t{0}).ok());
  EXPECT_TRUE(index->read("zeros", ~std::uint64_t{0}).ok());
  const auto third = index->read("zeros", ~std::uint64_t{0});
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.status().code(), StatusCode::kResourceExhausted);
}

TEST(ZipIndex, ArchivesMayFollowOtherBytes) {
  // As in a self-extracting archive; offsets are then relative to the archive's own start.
  const std::string zip = "some bytes before it" + write_zip(kContents);
  const auto index = ZipIndex::open(as_bytes(zip));
  ASSERT_TRUE(index.ok()) << index.status().to_string();
  EXPECT_EQ(as_text(index->find("root/a")->bytes), "stored bytes");
}

}  // namespace
}  // namespace tendon::archive
