#include "session.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>

#include "base/parallel.h"
#include "progress.h"

namespace tendon::tools {

namespace {

constexpr std::size_t kMaxWarnings = 10;

// What this build accepts; empty if all is well.
std::string usage_problem(const SessionOptions& options) {
  if (options.precision != "strict") {
    return "--precision " + options.precision + " is not supported yet; use strict";
  }
  if (!options.cuda_graph.empty() && options.device != "cuda") {
    return "--cuda-graph needs --device cuda";
  }
  if (!options.cache_folder.empty() && options.device != "cuda") {
    return "--cache-folder needs --device cuda";
  }
  return {};
}

CudaGraphs cuda_graphs(const SessionOptions& options) {
  if (options.cuda_graph == "off") return CudaGraphs::kOff;
  return options.cuda_graph == "strict" ? CudaGraphs::kStrict : CudaGraphs::kAuto;
}

}  // namespace

int fail(ExitCode code, std::string_view message) {
  std::fprintf(stderr, "tendon: error: %.*s\n", static_cast<int>(message.size()), message.data());
  return code;
}

int fail(ExitCode code, const Status& status) { return fail(code, status.to_string()); }

void print_warnings(const std::vector<std::string>& warnings) {
  const std::size_t shown = std::min(warnings.size(), kMaxWarnings);
  for (std::size_t i = 0; i < shown; ++i) {
    std::fprintf(stderr, "tendon: warning: %s\n", warnings[i].c_str());
  }
  if (shown < warnings.size()) {
    std::fprintf(stderr, "tendon: warning: and %zu more; tendon inspect lists all\n",
                 warnings.size() - shown);
  }
}

std::optional<Session> open_session(const SessionOptions& options, int& exit_code,
                                    base::TraceSink* trace) {
  if (const std::string problem = usage_problem(options); !problem.empty()) {
    exit_code = fail(kBadUsage, problem);
    return std::nullopt;
  }
  const auto start = std::chrono::steady_clock::now();
  const Progress progress("loading " + options.path);
  LoadOptions load_options;
  load_options.device = options.device == "cuda" ? Device::kCuda : Device::kCpu;
  load_options.model = options.model;
  load_options.trace = trace;
  load_options.cache_folder = options.cache_folder;
  auto program = Program::load(options.path, load_options);
  if (!program.ok()) {
    exit_code = fail(kCannotLoad, program.status());
    return std::nullopt;
  }
  print_warnings(program->warnings());
  MethodOptions method_options;
  method_options.threads = options.threads;
  method_options.seed = options.seed;
  method_options.trace = trace;
  method_options.cuda_graphs = cuda_graphs(options);
  auto method = Method::create(*program, method_options);
  if (!method.ok()) {
    exit_code = fail(kCannotLoad, method.status());
    return std::nullopt;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return Session{std::move(*program), std::move(*method), seconds.count()};
}

int thread_count(const SessionOptions& options) {
  return options.threads > 0 ? options.threads : base::default_threads();
}

std::int64_t peak_resident_bytes() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace tendon::tools
