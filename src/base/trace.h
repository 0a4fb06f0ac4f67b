// Spans of time: what ran, where, how long. The caller gives a sink to those calls it wants to see
// inside; without one, a span costs a test of a pointer.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tendon::base {

struct TraceSpan {
  std::string name;
  std::string_view category;  // a literal: "load", "step", ...
  std::int64_t begin_ns = 0;  // of a steady clock
  std::int64_t duration_ns = 0;
  std::int64_t thread = 0;  // the operating system's id
  std::vector<std::pair<std::string, std::string>> arguments;
};

/// Collects spans from any number of threads.
class TraceSink {
 public:
  void add(TraceSpan span);
  /// A span of this thread that began at `begin_ns` and ends now.
  void add_since(std::int64_t begin_ns, std::string_view category, std::string_view name,
                 std::vector<std::pair<std::string, std::string>> arguments = {});
  /// The spans so far, in the order of their ends; the sink is empty afterwards.
  std::vector<TraceSpan> take();

  static std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

 private:
  std::mutex mutex_;
  std::vector<TraceSpan> spans_;
};

/// The span from here to the end of the scope. `sink` may be null; it must outlive the scope, and
/// so must the characters of `name`.
///
///   ScopedSpan span(options.trace, "load", "read archive");
///   span.argument("bytes", std::to_string(size));
class ScopedSpan {
 public:
  ScopedSpan(TraceSink* sink, std::string_view category, std::string_view name)
      : sink_(sink), category_(category), name_(name) {
    if (sink_ != nullptr) begin_ns_ = TraceSink::now_ns();
  }
  ~ScopedSpan() {
    if (sink_ != nullptr) sink_->add_since(begin_ns_, category_, name_, std::move(arguments_));
  }
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

  /// Whether anybody listens: ask before making an argument's text costs something.
  bool active() const { return sink_ != nullptr; }
  void argument(std::string key, std::string value) {
    if (sink_ != nullptr) arguments_.emplace_back(std::move(key), std::move(value));
  }

 private:
  TraceSink* sink_;
  std::string_view category_;
  std::string_view name_;
  std::int64_t begin_ns_ = 0;
  std::vector<std::pair<std::string, std::string>> arguments_;
};

}  // namespace tendon::base
