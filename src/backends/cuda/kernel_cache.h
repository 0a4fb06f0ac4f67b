// Compiled kernels on disk. An entry's name is a hash of everything that decides its content; the
// entry repeats it whole and is checked against it, so that a stale or damaged one is never used.
#pragma once

#include <optional>
#include <string>

namespace tendon::backends::cuda {

class KernelCache {
 public:
  /// `folder` empty: TENDON_CACHE, else the user's cache folder; where there is none, nothing is
  /// kept.
  explicit KernelCache(std::string folder);
  /// What was stored under exactly this key.
  std::optional<std::string> find(const std::string& key) const;
  /// Best effort: a cache that cannot be written is no error.
  void store(const std::string& key, const std::string& content) const;
  const std::string& folder() const { return folder_; }

 private:
  std::string path_of(const std::string& key) const;
  std::string folder_;
};

}  // namespace tendon::backends::cuda
