#include "backends/cuda/kernel_cache.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/atomic_file.h"

namespace tendon::backends::cuda {

namespace {

/// FNV-1a, 64 bits (draft-eastlake-fnv).
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string default_folder() {
  if (const char* folder = std::getenv("TENDON_CACHE")) return folder;
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder != nullptr && *folder != '\0')
    return std::string(folder) + "/tendon";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::string(home) + "/.cache/tendon";
  return "";
}

/// The frame of an entry: sizes, key, content, and a checksum of the content.
std::string header(const std::string& key, const std::string& content) {
  return fmt::format("tendon-kernels 1 {} {} {:016x}\n", key.size(), content.size(),
                     hash_of(content));
}

}  // namespace

KernelCache::KernelCache(std::string folder)
    : folder_(folder.empty() ? default_folder() : std::move(folder)) {}

std::string KernelCache::path_of(const std::string& key) const {
  return fmt::format("{}/{:016x}.kernels", folder_, hash_of(key));
}

std::optional<std::string> KernelCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(path_of(key), std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream stream;
  stream << file.rdbuf();
  const std::string text = stream.str();
  const std::size_t line = text.find('\n');
  if (line == std::string::npos || text.size() < line + 1 + key.size()) return std::nullopt;
  if (text.compare(line + 1, key.size(), key) != 0) return std::nullopt;
  std::string content = text.substr(line + 1 + key.size());
  if (text.substr(0, line + 1) != header(key, content)) return std::nullopt;
  return content;
}

void KernelCache::store(const std::string& key, const std::string& content) const {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return;
  (void)base::write_text_file(path_of(key), header(key, content) + key + content);
}

}  // namespace tendon::backends::cuda
