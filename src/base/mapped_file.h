// A file as memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tendon/status.h"

namespace tendon::base {

/// The bytes of a file, mapped. The file must not be truncated while the mapping lives.
class MappedFile {
 public:
  enum class Access {
    kReadOnly,
    kCopyOnWrite,  // writable; what is written stays in this process
  };

  /// Errors: NotFound (no such file, no permission), InvalidArgument (not a regular file),
  /// ResourceExhausted.
  static Result<std::shared_ptr<MappedFile>> open(const std::string& path,
                                                  Access access = Access::kReadOnly);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Page-aligned; writable only under kCopyOnWrite.
  std::span<std::byte> bytes() const { return {data_, size_}; }

  /// Takes the pages that lie wholly within `part` out of physical memory; the next read brings
  /// them back from the file. Nothing under kCopyOnWrite, where that would undo writes.
  /// Thread-safe.
  void give_back(std::span<const std::byte> part) const;

 private:
  MappedFile(std::byte* data, std::size_t size, Access access)
      : data_(data), size_(size), access_(access) {}
  std::byte* data_;
  std::size_t size_;
  Access access_;
};

}  // namespace tendon::base
