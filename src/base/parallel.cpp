#include "base/parallel.h"

#include <omp.h>

#include <algorithm>

// ThreadSanitizer does not see the synchronisation inside libgomp; these tell it.
#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#define TENDON_TSAN_ACQUIRE(address) __tsan_acquire(address)
#define TENDON_TSAN_RELEASE(address) __tsan_release(address)
#else
#define TENDON_TSAN_ACQUIRE(address) (void)(address)
#define TENDON_TSAN_RELEASE(address) (void)(address)
#endif

namespace tendon::base {

int default_threads() { return std::max(1, omp_get_max_threads()); }

ThreadCountScope::ThreadCountScope(int threads) : before_(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}
ThreadCountScope::~ThreadCountScope() { omp_set_num_threads(before_); }

void parallel_for(std::int64_t count, std::int64_t grain, int threads, WorkerBody body) {
  if (count <= 0) return;
  if (threads <= 0) threads = default_threads();
  grain = std::max<std::int64_t>(grain, 1);
  const int pieces = static_cast<int>(std::min<std::int64_t>(threads, (count + grain - 1) / grain));
  if (pieces <= 1 || omp_in_parallel() != 0) {
    body(0, 0, count);
    return;
  }
  char fork = 0;
  char join = 0;
  TENDON_TSAN_RELEASE(&fork);
#pragma omp parallel num_threads(pieces)
  {
    TENDON_TSAN_ACQUIRE(&fork);
    // The runtime may give fewer threads than asked for; the pieces stay the same.
    for (int piece = omp_get_thread_num(); piece < pieces; piece += omp_get_num_threads()) {
      const std::int64_t begin = count * piece / pieces;
      const std::int64_t end = count * (piece + 1) / pieces;
      if (begin < end) body(piece, begin, end);
    }
    TENDON_TSAN_RELEASE(&join);
  }
  TENDON_TSAN_ACQUIRE(&join);
}

}  // namespace tendon::base
