#include "backends/cpu/panel_product.h"

#include <algorithm>

#include "backends/cpu/block_product.h"
#include "base/parallel.h"

namespace tendon::backends::cpu {

namespace {

constexpr std::int64_t kPanel = 64;      // columns
constexpr std::int64_t kInner = 16;      // the packed weight has a multiple of so many rows
constexpr std::int64_t kDepth = 96;      // rows of a panel that stay in the first-level cache
constexpr std::int64_t kMostRows = 128;  // whose sums stay in the cache
constexpr std::int64_t kTile = 6;        // rows that are computed at a time
/// Multiply-adds that are worth another thread.
constexpr std::int64_t kGrain = std::int64_t{1} << 17;

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Into how many parts the rows are cut so that all threads have about as much to do. Each part
/// brings the whole panel in.
std::int64_t row_parts(std::int64_t rows, std::int64_t panels, int threads) {
  std::int64_t best = 1, best_time = 0;
  for (std::int64_t parts = 1; parts <= std::max<std::int64_t>(1, rows / (2 * kTile)); ++parts) {
    // In tiles that the busiest thread computes, plus bringing in its panels.
    const std::int64_t time =
        ceil_divide(panels * parts, threads) * (ceil_divide(ceil_divide(rows, parts), kTile) + 1);
    if (parts == 1 || time < best_time) {
      best = parts;
      best_time = time;
    }
  }
  return best;
}

}  // namespace

bool PanelProduct::suits(std::int64_t rows, std::int64_t columns, std::int64_t inner) {
  return rows <= kMostRows && columns >= kPanel && inner >= kPanel;
}

dnnl::memory::desc PanelProduct::packed_layout(std::int64_t inner, std::int64_t columns) {
  return {{inner, columns}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::BA16a64b};
}

void PanelProduct::run(int threads) const {
  const std::int64_t panels = ceil_divide(columns, kPanel);
  const std::int64_t parts = row_parts(rows, panels, std::max(1, threads));
  const std::int64_t work = ceil_divide(rows, parts) * kPanel * inner;
  base::parallel_for(panels * parts, std::max<std::int64_t>(1, kGrain / work), threads,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t i = begin; i < end; ++i) {
                         const std::int64_t part = i % parts;
                         const std::int64_t first = rows * part / parts;
                         run_block(i / parts, first, rows * (part + 1) / parts - first);
                       }
                     });
}

void PanelProduct::run_block(std::int64_t panel, std::int64_t first_row,
                             std::int64_t row_count) const {
  const std::int64_t column = panel * kPanel;
  const std::int64_t width = std::min(kPanel, columns - column);
  const std::int64_t packed_rows = ceil_divide(inner, kInner) * kInner;
  const float* weight = w + panel * packed_rows * kPanel;
  float* out = c + first_row * columns + column;
  const bool begins_with_sums = bias != nullptr || residual != nullptr;
  if (begins_with_sums) {
    for (std::int64_t i = 0; i < row_count; ++i) {
      float* to = out + i * columns;
      const float* other = residual == nullptr ? nullptr : residual + (to - c);
      for (std::int64_t j = 0; j < width; ++j) {
        to[j] = (bias == nullptr ? 0.0f : bias[column + j]) + (other == nullptr ? 0.0f : other[j]);
      }
    }
  }
  for (std::int64_t depth = 0; depth < inner; depth += kDepth) {
    const std::int64_t count = std::min(kDepth, inner - depth);
    // The panels of a weight follow each other, so that this also runs into the next one.
    multiply<float>({.m = row_count,
                     .n = width,
                     .k = count,
                     .a = a + first_row * a_row + depth,
                     .a_row = a_row,
                     .a_column = 1,
                     .b = weight + depth * kPanel,
                     .b_row = kPanel,
                     .c = out,
                     .c_row = columns,
                     .accumulate = begins_with_sums || depth > 0,
                     .next_b = weight + (depth + count) * kPanel});
  }
  if (!relu) return;
  for (std::int64_t i = 0; i < row_count; ++i) {
    for (std::int64_t j = 0; j < width; ++j)
      out[i * columns + j] = std::max(out[i * columns + j], 0.0f);
  }
}

}  // namespace tendon::backends::cpu
