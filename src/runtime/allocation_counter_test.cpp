// Replaces operator new in the test program, to count.
#include "runtime/allocation_counter.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<std::int64_t> count{0};

/// oneDNN makes a small table of arguments whenever it executes a primitive; its interface leaves
/// no way around that.
bool is_math_library(const void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "libdnnl") != nullptr;
}

}  // namespace

void* operator new(std::size_t size) {
  if (!is_math_library(__builtin_return_address(0))) count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tendon::test {
std::int64_t allocation_count() { return count.load(std::memory_order_relaxed); }
}  // namespace tendon::test
