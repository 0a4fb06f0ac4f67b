// The functions of ir::Size::to_source: Python's rules of rounding; nothing is undefined.
#pragma once

namespace tendon::device {

inline __device__ long long size_floor_div(long long a, long long b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<long long>(0ull - static_cast<unsigned long long>(a));
  const long long quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
inline __device__ long long size_trunc_div(long long a, long long b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<long long>(0ull - static_cast<unsigned long long>(a));
  return a / b;
}
inline __device__ long long size_mod(long long a, long long b) {
  if (b == 0 || b == -1) return 0;
  const long long rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
inline __device__ long long size_max(long long a, long long b) { return a < b ? b : a; }
inline __device__ long long size_min(long long a, long long b) { return b < a ? b : a; }
inline __device__ long long size_pow(long long base, long long exponent) {
  unsigned long long result = 1;
  auto power = static_cast<unsigned long long>(base);
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= power;
    power *= power;
  }
  return static_cast<long long>(result);
}
inline __device__ long long size_equal(long long a, long long b) { return a == b; }
inline __device__ long long size_not_equal(long long a, long long b) { return a != b; }
inline __device__ long long size_less(long long a, long long b) { return a < b; }
inline __device__ long long size_less_equal(long long a, long long b) { return a <= b; }
inline __device__ long long size_and(long long a, long long b) { return a != 0 && b != 0; }
inline __device__ long long size_or(long long a, long long b) { return a != 0 || b != 0; }
inline __device__ long long size_not(long long a) { return a == 0; }
inline __device__ long long size_select(long long condition, long long a, long long b) {
  return condition != 0 ? a : b;
}

}  // namespace tendon::device
