// A program ready to be called, and how failures reach the user.
#pragma once

#include <optional>
#include <string_view>

#include "base/trace.h"
#include "options.h"
#include "tendon/method.h"
#include "tendon/program.h"

namespace tendon::tools {

/// Prints the error on standard error; returns the code, so that a command can end with it.
int fail(ExitCode code, const Status& status);
/// The same with a message that stands for itself.
int fail(ExitCode code, std::string_view message);

struct Session {
  Program program;
  Method method;
  double load_seconds = 0;  // until the method was made
};

/// Loads the program and makes a method; prints warnings, progress, and what went wrong. On failure
/// there is no session, and `exit_code` says what to return.
std::optional<Session> open_session(const SessionOptions& options, int& exit_code,
                                    base::TraceSink* trace = nullptr);

/// Prints at most a few of them on standard error.
void print_warnings(const std::vector<std::string>& warnings);

/// Threads that a run uses: those asked for, or the default.
int thread_count(const SessionOptions& options);

/// The most physical memory this process has had so far.
std::int64_t peak_resident_bytes();

}  // namespace tendon::tools
