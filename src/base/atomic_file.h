// Files that appear complete or not at all.
#pragma once

#include <string>

#include "tendon/status.h"

namespace tendon::base {

/// A file written beside its final place and renamed into it, so that readers (also one that has
/// the old file mapped) never see a half-written one. A path that exists and is no regular file
/// (/dev/null, a pipe) is written in place.
///
///   TENDON_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create("out.bin"));
///   ... write file.path() ...
///   return file.commit();
class AtomicFile {
 public:
  /// Errors: NotFound (the folder does not exist, or cannot be written).
  static Result<AtomicFile> create(const std::string& final_path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  /// Removes what was written, unless committed.
  ~AtomicFile();

  /// Where to write until commit.
  const std::string& path() const { return path_; }
  Status commit();

 private:
  AtomicFile(std::string path, std::string final_path)
      : path_(std::move(path)), final_path_(std::move(final_path)) {}
  std::string path_;  // empty once committed or moved from
  std::string final_path_;
};

/// Writes a whole text file atomically. Errors: NotFound, ResourceExhausted.
Status write_text_file(const std::string& path, const std::string& text);

}  // namespace tendon::base
