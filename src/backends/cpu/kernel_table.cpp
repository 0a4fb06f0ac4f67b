#include "backends/cpu/kernel_table.h"

namespace tendon::backends::cpu {

const KernelTable& kernel_table() {
  static const KernelTable table = [] {
    KernelTable result;
    fill_scalar_kernels(result);
    fill_memory_kernels(result);
    fill_arithmetic_kernels(result);
    fill_integer_kernels(result);
    fill_compare_kernels(result);
    fill_cast_kernels(result);
    fill_exponential_kernels(result);
    fill_trigonometric_kernels(result);
    return result;
  }();
  return table;
}

}  // namespace tendon::backends::cpu
