// Products of few rows: what they take is the time to bring the weight in, so that part of the
// weight that comes next is asked for while the present one is multiplied.
#pragma once

#include <cstdint>

#include "backends/cpu/dnnl_tools.h"

namespace tendon::backends::cpu {

/// c [rows, columns] = relu(a [rows, inner] by w [inner, columns] + bias [columns] + residual, laid
/// out as c), in float32; what is null or false is left out. `w` is packed as `packed_layout` says;
/// rows of a and c are `a_row` and `columns` elements apart.
struct PanelProduct {
  std::int64_t rows = 0, columns = 0, inner = 0;
  std::int64_t a_row = 0;
  const float* a = nullptr;
  const float* w = nullptr;
  const float* bias = nullptr;
  const float* residual = nullptr;
  float* c = nullptr;
  bool relu = false;

  void run(int threads) const;

  /// Whether a product of this size is faster so than by the library.
  static bool suits(std::int64_t rows, std::int64_t columns, std::int64_t inner);
  /// Of w: panels of 64 columns one after the other, each row by row, filled up with zeros.
  static dnnl::memory::desc packed_layout(std::int64_t inner, std::int64_t columns);

 private:
  void run_block(std::int64_t panel, std::int64_t first_row, std::int64_t row_count) const;
};

}  // namespace tendon::backends::cpu
