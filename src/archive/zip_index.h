// The table of contents of a zip archive in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tendon/status.h"

namespace tendon::archive {

struct ZipEntry {
  std::uint64_t size = 0;  // inflated
  bool stored = true;
  std::uint32_t checksum = 0;
  /// A stored entry's bytes, in place; empty for a deflated one.
  std::span<const std::byte> bytes;

  /// Whether the content is what it was when the archive was written. Always true under a fuzzer,
  /// which could not get past it.
  bool matches_checksum(std::span<const std::byte> content) const;
};

/// One thread at a time.
class ZipIndex {
 public:
  /// Errors: DataLoss, for an archive that contradicts itself or lies outside its file.
  static Result<ZipIndex> open(std::span<const std::byte> archive);

  /// Full names, root folder included.
  const std::map<std::string, ZipEntry, std::less<>>& entries() const { return entries_; }
  const ZipEntry* find(std::string_view name) const;
  /// A copy of an entry's content, inflated if need be. Errors: NotFound; DataLoss;
  /// ResourceExhausted for an entry that claims more than `limit` bytes, or one that makes all that
  /// was inflated far larger than the archive.
  Result<std::vector<std::byte>> read(std::string_view name, std::uint64_t limit) const;

 private:
  std::span<const std::byte> archive_;
  std::map<std::string, ZipEntry, std::less<>> entries_;
  mutable std::uint64_t inflated_ = 0;  // bytes in all
};

}  // namespace tendon::archive
