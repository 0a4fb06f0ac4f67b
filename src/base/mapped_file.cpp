#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tendon::base {

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string& path, Access access) {
  // Without O_NONBLOCK a pipe would wait for its writer.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return Status(StatusCode::kNotFound, "cannot open '" + path + "': " + std::strerror(errno));
  }
  struct stat info {};
  const bool has_info = ::fstat(file, &info) == 0;
  if (!has_info || !S_ISREG(info.st_mode)) {
    ::close(file);
    const bool directory = has_info && S_ISDIR(info.st_mode);
    return Status(StatusCode::kInvalidArgument,
                  "'" + path + "' is " + (directory ? "a directory, " : "") + "not a regular file");
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  void* data = nullptr;
  if (size != 0) {
    const int protection = access == Access::kCopyOnWrite ? PROT_READ | PROT_WRITE : PROT_READ;
    data = ::mmap(nullptr, size, protection, MAP_PRIVATE, file, 0);
  }
  const int map_error = errno;
  ::close(file);
  if (data == MAP_FAILED) {
    return Status(StatusCode::kResourceExhausted,
                  "cannot map '" + path + "': " + std::strerror(map_error));
  }
  return std::shared_ptr<MappedFile>(new MappedFile(static_cast<std::byte*>(data), size, access));
}

MappedFile::~MappedFile() {
  if (size_ != 0) ::munmap(data_, size_);
}

void MappedFile::give_back(std::span<const std::byte> part) const {
  if (access_ != Access::kReadOnly) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<std::size_t>(part.data() - data_);
  const std::size_t begin = (offset + page - 1) / page * page;
  const std::size_t end = (offset + part.size()) / page * page;
  if (begin < end) ::madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

}  // namespace tendon::base
