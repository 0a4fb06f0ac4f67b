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

 private:
  MappedFile(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  std::byte* data_;
  std::size_t size_;
};

}  // namespace tendon::base
