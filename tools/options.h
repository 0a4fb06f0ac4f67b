// What the user asked for, as the command line was parsed; one struct a subcommand.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tendon::tools {

/// What the process returns.
enum ExitCode {
  kRight = 0,
  kWrongResult = 1,  // check found a difference
  kBadUsage = 2,     // arguments, or files given as arguments
  kCannotLoad = 3,   // the model cannot be loaded or lowered
  kRunFailed = 4,
};

/// Options of every subcommand that runs a program.
struct SessionOptions {
  std::string path;   // MODEL.pt2
  std::string model;  // which program of the archive
  std::string device = "cpu";
  std::string precision = "strict";
  std::string cuda_graph;    // empty: not given
  std::string cache_folder;  // likewise
  int threads = 0;
  std::uint64_t seed = 0;
};

struct RunOptions {
  SessionOptions session;
  std::string inputs, outputs;
  bool json = false;
};

struct InspectOptions {
  std::string path, model;
  std::string stage;  // empty: the summary
  bool json = false;
};

struct CheckOptions {
  SessionOptions session;
  std::vector<std::string> cases;
  std::optional<double> relative, absolute;
  bool json = false;
};

struct BenchOptions {
  SessionOptions session;
  std::string inputs, outputs;
  int iterations = 50;
  int warmup = 5;
  double period = 0;  // milliseconds from one call's start to the next; 0: at once
  bool json = false;
  std::chrono::steady_clock::time_point process_start;
};

struct ProfileOptions {
  SessionOptions session;
  std::string inputs, trace;
  int iterations = 1;
  int warmup = 3;
  int top = 20;
};

int run(const RunOptions& options);
int inspect(const InspectOptions& options);
int check(const CheckOptions& options);
int bench(const BenchOptions& options);
int profile(const ProfileOptions& options);

}  // namespace tendon::tools
