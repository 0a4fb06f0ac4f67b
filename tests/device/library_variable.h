// Which library programs for a CUDA device are loaded with.
#pragma once

#include <cstdlib>
#include <string>

namespace tendon::test {

/// Sets TENDON_CUDA_LIBRARY as long as it lives.
class LibraryVariable {
 public:
  explicit LibraryVariable(const std::string& path) { ::setenv(kName, path.c_str(), 1); }
  ~LibraryVariable() { ::unsetenv(kName); }
  LibraryVariable(const LibraryVariable&) = delete;
  LibraryVariable& operator=(const LibraryVariable&) = delete;

 private:
  static constexpr const char* kName = "TENDON_CUDA_LIBRARY";
};

}  // namespace tendon::test
