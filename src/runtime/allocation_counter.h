// For tests: how often this program has allocated.
#pragma once

#include <cstdint>

namespace tendon::test {

/// Calls of operator new since the program started, on all threads, less those of oneDNN.
std::int64_t allocation_count();

}  // namespace tendon::test
