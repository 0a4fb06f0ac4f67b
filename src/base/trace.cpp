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

void TraceSink::add_since(std::int64_t begin_ns, std::string_view category, std::string_view name,
                          std::vector<std::pair<std::string, std::string>> arguments) {
  const std::int64_t end_ns = now_ns();
  add({.name = std::string(name),
       .category = category,
       .begin_ns = begin_ns,
       .duration_ns = end_ns - begin_ns,
       .thread = ::syscall(SYS_gettid),
       .arguments = std::move(arguments)});
}

}  // namespace tendon::base
