// Sizes from data get their values.
#pragma once

#include "error_table.cuh"

namespace tendon::device {

/// Symbol `number` gets `value`, or the nearest of its range, which `check` reports.
inline __device__ void define_symbol(const long long* symbols, int number, long long value,
                                     long long lower, long long upper, int check,
                                     ErrorTable* errors) {
  const long long nearest = value < lower ? lower : value > upper ? upper : value;
  if (nearest != value) check_failed(errors, check, value, 0);
  // Kernels read symbols, and only the one that makes a size from data writes it.
  const_cast<long long*>(symbols)[number] = nearest;
}

}  // namespace tendon::device
