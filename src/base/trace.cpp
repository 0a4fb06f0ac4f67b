#include "base/trace.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace tendon::base {

void TraceSink::add(TraceSpan span) {
  const std::lock_guard lock(mutex_);
  spans_.push_back(std::move(span));
}

std::vector<TraceSpan> TraceSink::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(spans_, {});
}

void ScopedSpan::finish() {
  const std::int64_t end_ns = TraceSink::now_ns();
  sink_->add({.name = std::string(name_),
              .category = category_,
              .begin_ns = begin_ns_,
              .duration_ns = end_ns - begin_ns_,
              .thread = ::syscall(SYS_gettid),
              .arguments = std::move(arguments_)});
}

}  // namespace tendon::base
