// Products of blocks that stay in the cache, for the vector unit of this machine.
#pragma once

#include <cstdint>

namespace tendon::backends::cpu {

/// c [m, n] = alpha * a [m, k] * b [k, n], or that added to c. Rows of b lie n elements, rounded up
/// to whole vectors, that may be read; of c, n elements are written. Anything may be unaligned.
template <typename T>
struct BlockProduct {
  std::int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  std::int64_t a_row = 0, a_column = 0;  // elements between rows, and between columns
  const T* b = nullptr;
  std::int64_t b_row = 0;
  T* c = nullptr;
  std::int64_t c_row = 0;
  T alpha{1};
  bool accumulate = false;
  /// Where the b of the next product is, which is brought into the cache meanwhile; or null.
  const T* next_b = nullptr;
};

/// T: float or double.
template <typename T>
void multiply(const BlockProduct<T>& product);

/// Elements of a vector.
template <typename T>
std::int64_t vector_lanes();

}  // namespace tendon::backends::cpu
