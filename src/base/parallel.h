// The one thread pool: OpenMP's, which the math library uses too.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace tendon::base {

/// A borrowed callable: no allocation, unlike std::function. Lives no longer than what it borrows.
class WorkerBody {
 public:
  template <typename F>
  WorkerBody(const F& f)  // NOLINT(google-explicit-constructor)
      : object_(&f),
        call_([](const void* object, int worker, std::int64_t begin, std::int64_t end) {
          const F& function = *static_cast<const F*>(object);
          if constexpr (std::is_invocable_v<const F&, int, std::int64_t, std::int64_t>) {
            function(worker, begin, end);
          } else {
            function(begin, end);
          }
        }) {}
  void operator()(int worker, std::int64_t begin, std::int64_t end) const {
    call_(object_, worker, begin, end);
  }

 private:
  const void* object_;
  void (*call_)(const void*, int, std::int64_t, std::int64_t);
};

/// Calls body(begin, end) or body(worker, begin, end), worker in [0, threads), for contiguous
/// pieces that cover [0, count) once, on up to `threads` threads (0: default_threads()), each piece
/// at least `grain` long but for the last; the calling thread takes part. Which piece goes to which
/// worker is fixed for fixed arguments. Nested calls run on the calling thread. The body must not
/// throw.
void parallel_for(std::int64_t count, std::int64_t grain, int threads, WorkerBody body);

/// While it lives, parallel regions that the calling thread opens, the math library's too, have
/// this many threads unless they say otherwise.
class ThreadCountScope {
 public:
  explicit ThreadCountScope(int threads);
  ~ThreadCountScope();
  ThreadCountScope(const ThreadCountScope&) = delete;
  ThreadCountScope& operator=(const ThreadCountScope&) = delete;

 private:
  int before_;
};

/// Threads that 0 stands for: OMP_NUM_THREADS, or the processors this process may use.
int default_threads();

}  // namespace tendon::base
