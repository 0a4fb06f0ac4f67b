// Signs of life on standard error.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace tendon::tools {

/// Says what goes on once it has gone on for a second, and how long it took when it ends; shorter
/// work says nothing.
class Progress {
 public:
  explicit Progress(std::string activity);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void watch(const std::stop_token& stop);

  std::string activity_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool announced_ = false;  // guarded by mutex_ until the thread has ended
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace tendon::tools
