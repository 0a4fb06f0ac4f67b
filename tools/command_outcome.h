// Runs the tendon command as a user does; for tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>

namespace tendon::tools {

/// A path of this process's own: tests run side by side.
inline std::string temporary(const std::string& name) {
  return ::testing::TempDir() + std::to_string(::getpid()) + "_" + name;
}

struct Outcome {
  int exit_code = -1;
  std::string out, err;
};

inline Outcome tendon(const std::string& arguments, const std::string& program = TENDON_COMMAND) {
  const std::string err_path = temporary("stderr.txt");
  const std::string command = program + " " + arguments + " 2>" + err_path;
  Outcome outcome;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    outcome.out.append(buffer.data(), count);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  std::ifstream err(err_path);
  outcome.err.assign(std::istreambuf_iterator<char>(err), {});
  return outcome;
}

}  // namespace tendon::tools
