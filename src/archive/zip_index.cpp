#include "archive/zip_index.h"

#include <minizip/unzip.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/status_macros.h"
#include "tensor/memory_zip.h"

namespace tendon::archive {

namespace {

constexpr std::uint64_t kMaxEntries = 1u << 20;
/// What may be inflated: far more than weights shrink by, far less than what zeros do (1000 times).
constexpr std::uint64_t kMaxInflation = 64;
constexpr std::uint64_t kFreeInflation = std::uint64_t{1} << 28;

Status data_loss(std::string message) { return Status(StatusCode::kDataLoss, std::move(message)); }

struct Close {
  void operator()(void* file) const { unzClose(file); }
};
using Unzip = std::unique_ptr<void, Close>;

Unzip open_zip(tensor::MemoryZip& memory) {
  zlib_filefunc64_def functions = tensor::memory_zip_functions(memory);
  return Unzip(unzOpen2_64("", &functions));
}

Status index_entry(void* file, std::span<const std::byte> archive,
                   std::map<std::string, ZipEntry, std::less<>>& entries) {
  unz_file_info64 info{};
  char name[4096];
  if (unzGetCurrentFileInfo64(file, &info, name, sizeof(name), nullptr, 0, nullptr, 0) != UNZ_OK) {
    return data_loss("the zip archive's table of contents is broken");
  }
  if (info.size_filename >= sizeof(name)) return data_loss("an entry's name is too long");
  if (std::strlen(name) != info.size_filename)
    return data_loss("an entry's name holds a zero byte");
  if ((info.flag & 1) != 0) return data_loss(std::string("entry '") + name + "' is encrypted");
  ZipEntry entry;
  entry.size = info.uncompressed_size;
  entry.checksum = static_cast<std::uint32_t>(info.crc);
  entry.stored = info.compression_method == 0;
  if (!entry.stored && info.compression_method != Z_DEFLATED) {
    return data_loss(std::string("entry '") + name + "' has an unknown compression method");
  }
  if (entry.stored) {
    // Opening checks the local header against the table of contents.
    int method = 0;
    if (unzOpenCurrentFile2(file, &method, nullptr, 1) != UNZ_OK) {
      return data_loss(std::string("entry '") + name + "' has a broken header");
    }
    const std::uint64_t offset = unzGetCurrentFileZStreamPos64(file);
    unzCloseCurrentFile(file);
    if (info.compressed_size != info.uncompressed_size || offset > archive.size() ||
        info.uncompressed_size > archive.size() - offset) {
      return data_loss(std::string("entry '") + name + "' lies outside the file");
    }
    entry.bytes = archive.subspan(offset, info.uncompressed_size);
  }
  if (!entries.emplace(name, entry).second) {
    return data_loss(std::string("entry '") + name + "' appears twice");
  }
  return {};
}

}  // namespace

bool ZipEntry::matches_checksum(std::span<const std::byte> content) const {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  static_cast<void>(content);
  return true;
#else
  const auto* data = reinterpret_cast<const Bytef*>(content.data());
  return crc32_z(0, data, content.size()) == checksum;
#endif
}

Result<ZipIndex> ZipIndex::open(std::span<const std::byte> archive) {
  tensor::MemoryZip memory{archive};
  const Unzip file = open_zip(memory);
  if (file == nullptr) {
    return data_loss(
        "the zip archive is truncated: its table of contents, the last part, is missing");
  }
  unz_global_info64 info{};
  if (unzGetGlobalInfo64(file.get(), &info) != UNZ_OK || info.number_entry > kMaxEntries) {
    return data_loss("the zip archive's table of contents is broken");
  }
  ZipIndex index;
  index.archive_ = archive;
  if (info.number_entry == 0) return index;
  if (unzGoToFirstFile(file.get()) != UNZ_OK) {
    return data_loss("the zip archive's table of contents is broken");
  }
  for (std::uint64_t i = 0; i < info.number_entry; ++i) {
    TENDON_RETURN_IF_ERROR(index_entry(file.get(), archive, index.entries_));
    const int next = unzGoToNextFile(file.get());
    if (next == UNZ_END_OF_LIST_OF_FILE) break;
    if (next != UNZ_OK) return data_loss("the zip archive's table of contents is broken");
  }
  return index;
}

const ZipEntry* ZipIndex::find(std::string_view name) const {
  const auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : &it->second;
}

Result<std::vector<std::byte>> ZipIndex::read(std::string_view name, std::uint64_t limit) const {
  const ZipEntry* entry = find(name);
  if (entry == nullptr) {
    return Status(StatusCode::kNotFound, "no entry '" + std::string(name) + "'");
  }
  if (entry->size > limit) {
    return Status(StatusCode::kResourceExhausted, "entry '" + std::string(name) + "' claims " +
                                                      std::to_string(entry->size) + " bytes");
  }
  if (entry->stored) return std::vector<std::byte>(entry->bytes.begin(), entry->bytes.end());
  if (entry->size > kFreeInflation + kMaxInflation * archive_.size() - inflated_) {
    return Status(StatusCode::kResourceExhausted,
                  "entry '" + std::string(name) + "' claims to inflate to " +
                      std::to_string(entry->size) + " bytes, too many for an archive of " +
                      std::to_string(archive_.size()));
  }
  inflated_ += entry->size;
  tensor::MemoryZip memory{archive_};
  const Unzip file = open_zip(memory);
  const std::string path(name);
  if (file == nullptr || unzLocateFile(file.get(), path.c_str(), 1) != UNZ_OK ||
      unzOpenCurrentFile(file.get()) != UNZ_OK) {
    return data_loss("entry '" + path + "' cannot be opened");
  }
  // Grows as bytes really come: a claimed size is not believed.
  std::vector<std::byte> content;
  std::vector<std::byte> block(std::size_t{1} << 18);
  while (true) {
    const int count =
        unzReadCurrentFile(file.get(), block.data(), static_cast<unsigned>(block.size()));
    if (count < 0) return data_loss("entry '" + path + "' cannot be inflated");
    if (count == 0) break;
    content.insert(content.end(), block.begin(), block.begin() + count);
    if (content.size() > entry->size)
      return data_loss("entry '" + path + "' is larger than it says");
  }
  if (unzCloseCurrentFile(file.get()) != UNZ_OK || content.size() != entry->size) {
    return data_loss("entry '" + path + "' is damaged");
  }
  return content;
}

}  // namespace tendon::archive
