#include "base/atomic_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/status_macros.h"

namespace tendon::base {

Result<AtomicFile> AtomicFile::create(const std::string& final_path) {
  struct stat info {};
  if (::stat(final_path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) {
      return Status(StatusCode::kInvalidArgument, "cannot write '" + final_path + "': a directory");
    }
    return AtomicFile(final_path, final_path);
  }
  std::string temporary = final_path + ".XXXXXX";
  const int file = ::mkstemp(temporary.data());
  if (file < 0) {
    return Status(StatusCode::kNotFound,
                  "cannot write '" + final_path + "': " + std::strerror(errno));
  }
  // mkstemp makes the file private; give it what a plain open would have given.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(file, 0666 & ~mask);
  ::close(file);
  return AtomicFile(std::move(temporary), final_path);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), final_path_(std::move(other.final_path_)) {}

AtomicFile::~AtomicFile() {
  if (!path_.empty() && path_ != final_path_) ::unlink(path_.c_str());
}

Status AtomicFile::commit() {
  if (path_ != final_path_ && std::rename(path_.c_str(), final_path_.c_str()) != 0) {
    return Status(StatusCode::kNotFound,
                  "cannot write '" + final_path_ + "': " + std::strerror(errno));
  }
  path_.clear();
  return {};
}

Status write_text_file(const std::string& path, const std::string& text) {
  TENDON_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  std::FILE* stream = std::fopen(file.path().c_str(), "wb");
  if (stream == nullptr) {
    return Status(StatusCode::kNotFound, "cannot write '" + path + "': " + std::strerror(errno));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  if (std::fclose(stream) != 0 || !written) {
    return Status(StatusCode::kResourceExhausted,
                  "cannot write '" + path + "': " + std::strerror(errno));
  }
  return file.commit();
}

}  // namespace tendon::base
