#include "progress.h"

#include <cstdio>

namespace tendon::tools {

Progress::Progress(std::string activity)
    : activity_(std::move(activity)),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

void Progress::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const bool ended = wake_.wait_for(lock, stop, std::chrono::seconds(1),
                                    [&stop] { return stop.stop_requested(); });
  if (ended) return;
  announced_ = true;
  std::fprintf(stderr, "tendon: %s ...\n", activity_.c_str());
}

Progress::~Progress() {
  thread_.request_stop();
  thread_.join();
  if (!announced_) return;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
  std::fprintf(stderr, "tendon: %s took %.1f s\n", activity_.c_str(), seconds.count());
}

}  // namespace tendon::tools
