// Stands for device_std.cuh when tests compile kernels for the host: one thread block at a time,
// every thread of it a fiber that runs until it waits for others.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <numbers>
#include <numeric>
#include <type_traits>
#include <vector>

#define __device__
#define __global__
#define __shared__ static
#define __align__(bytes) alignas(bytes)
#define __launch_bounds__(...)

namespace emulator {

struct Index {
  unsigned x = 0;
};

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  bool done = false;
};

/// Arrivals of the current meeting; threads that have ended are not waited for.
struct Meeting {
  int arrived = 0;
  unsigned number = 0;
};

constexpr std::size_t kStackBytes = 128 << 10;
constexpr int kMaxThreads = 1024;

inline std::vector<Fiber> fibers;
inline Meeting block_meeting, lane_meetings[kMaxThreads];
inline std::uint64_t words[kMaxThreads];  // that lanes exchange
inline int count = 0;
inline unsigned long steps = 0;  // that threads have made: a meeting that never ends makes none
inline ucontext_t scheduler;
inline void (*entry)() = nullptr;

}  // namespace emulator

inline emulator::Index threadIdx, blockIdx, blockDim, gridDim;
inline char* dynamic_shared = nullptr;

namespace emulator {

inline Fiber& self() { return fibers[threadIdx.x]; }
inline void yield() { swapcontext(&self().context, &scheduler); }

template <typename Expected>
void meet(Meeting& meeting, const Expected& expected) {
  ++steps;
  const unsigned number = meeting.number;
  ++meeting.arrived;
  while (meeting.number == number) {
    if (meeting.arrived >= expected()) {
      meeting.arrived = 0;
      ++meeting.number;
      ++steps;
    } else {
      yield();
    }
  }
}
inline void meet_block() {
  meet(block_meeting, [] {
    return static_cast<int>(std::count_if(fibers.begin(), fibers.end(),
                                          [](const Fiber& fiber) { return !fiber.done; }));
  });
}
/// Lanes of `mask` within the thread's warp.
inline void meet_lanes(unsigned mask) {
  const unsigned warp = threadIdx.x / 32 * 32;
  meet(lane_meetings[warp + static_cast<unsigned>(std::countr_zero(mask))], [&] {
    int living = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned thread = warp + lane;
      living += (mask >> lane & 1u) != 0 && thread < blockDim.x && !fibers[thread].done ? 1 : 0;
    }
    return living;
  });
}
/// The value of the lane that `from(own lane)` names, or the own one.
template <typename T, typename From>
T exchange(unsigned mask, T value, const From& from) {
  std::memcpy(&words[threadIdx.x], &value, sizeof(T));
  meet_lanes(mask);
  std::memcpy(&value, &words[threadIdx.x / 32 * 32 + from(threadIdx.x % 32)], sizeof(T));
  meet_lanes(mask);
  return value;
}

inline void thread_body() {
  entry();
  self().done = true;
  ++steps;
  yield();
}

inline void run_block(bool backwards) {
  block_meeting = {};
  std::fill(std::begin(lane_meetings), std::end(lane_meetings), Meeting());
  fibers.resize(blockDim.x);
  for (Fiber& fiber : fibers) {
    if (!fiber.stack) fiber.stack.reset(new char[kStackBytes]);
    fiber.done = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, thread_body, 0);
  }
  for (bool living = true; living;) {
    living = false;
    const unsigned long before = steps;
    for (unsigned i = 0; i < blockDim.x; ++i) {
      threadIdx.x = backwards ? blockDim.x - 1 - i : i;
      if (self().done) continue;
      living = true;
      swapcontext(&scheduler, &self().context);
    }
    if (living && steps == before) {
      std::fputs("threads of a block wait for one another at different places\n", stderr);
      std::abort();
    }
  }
}

}  // namespace emulator

/// Runs a kernel whose arguments are these words of 8 bytes, of which it may take fewer.
template <std::size_t... i>
void start_kernel(void* kernel, const long long* words, std::index_sequence<i...>) {
  static void* function;
  static long long arguments[sizeof...(i)];
  function = kernel;
  std::copy_n(words, sizeof...(i), arguments);
  emulator::entry = [] {
    reinterpret_cast<void (*)(decltype(i, 0ll)...)>(function)(arguments[i]...);
  };
}
extern "C" __attribute__((used)) inline void run_kernel(void* kernel, unsigned blocks,
                                                        unsigned threads, char* shared,
                                                        const long long* words, bool backwards) {
  gridDim.x = blocks;
  blockDim.x = threads;
  dynamic_shared = shared;
  start_kernel(kernel, words, std::make_index_sequence<48>());
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) emulator::run_block(backwards);
}

inline void __syncthreads() { emulator::meet_block(); }
inline int __syncthreads_count(int flag) {
  emulator::count += flag != 0 ? 1 : 0;
  __syncthreads();
  const int result = emulator::count;
  __syncthreads();
  emulator::count = 0;
  __syncthreads();
  return result;
}
inline void __syncwarp(unsigned mask = 0xffffffffu) { emulator::meet_lanes(mask); }
template <typename T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
  return emulator::exchange(mask, value, [&](int own) { return own / width * width + lane; });
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int distance, int width = 32) {
  return emulator::exchange(mask, value, [&](int own) {
    const int lane = own ^ distance;
    return lane / width > own / width ? own : lane;
  });
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, int distance, int width = 32) {
  return emulator::exchange(
      mask, value, [&](int own) { return own % width + distance >= width ? own : own + distance; });
}
inline unsigned __ballot_sync(unsigned mask, bool flag) {
  unsigned result = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (emulator::exchange(mask, flag, [&](int) { return lane; })) result |= 1u << lane;
  }
  return result;
}
inline int __popc(unsigned value) { return std::popcount(value); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __int_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }

template <typename T, typename Change>
T change_element(T* element, const Change& change) {
  const T old = *element;
  *element = change(old);
  return old;
}
template <typename T>
T atomicAdd(T* element, T value) {
  return change_element(element, [&](T old) { return static_cast<T>(old + value); });
}
template <typename T>
T atomicExch(T* element, T value) {
  return change_element(element, [&](T) { return value; });
}
template <typename T>
T atomicMin(T* element, T value) {
  return change_element(element, [&](T old) { return std::min(old, value); });
}
template <typename T>
T atomicMax(T* element, T value) {
  return change_element(element, [&](T old) { return std::max(old, value); });
}
