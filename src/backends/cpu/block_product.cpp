#include "backends/cpu/block_product.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/block_product.cpp"
#include "backends/cpu/kernel_targets.h"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h.
#include "backends/cpu/kernel_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tendon::backends::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Sums of this many rows by this many vectors stay in registers: of 32, or of 16.
constexpr int kRows = 6;
constexpr int kVectors = HWY_MAX_BYTES >= 64 ? 4 : 2;

/// Rows [0, kM) and vectors [0, kN) of the product from where a, b and c point to, of which the
/// last vector has `last` elements. From `ahead` on, `step` bytes are asked for with each column of
/// a.
template <int kM, int kN, typename T>
HWY_INLINE void multiply_tile(const BlockProduct<T>& product, const T* a, const T* b, T* c,
                              std::int64_t last, const char* ahead, std::int64_t step) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<Tag<T>> sums[kM][kN];
  TENDON_UNROLL(8)
  for (int i = 0; i < kM; ++i) {
    TENDON_UNROLL(8)
    for (int j = 0; j < kN; ++j) sums[i][j] = hn::Zero(d);
  }
  const std::int64_t a_row = product.a_row;
  for (std::int64_t k = product.k; k > 0; --k) {
    hn::Vec<Tag<T>> right[kN];
    TENDON_UNROLL(8)
    for (int j = 0; j < kN; ++j) right[j] = hn::LoadU(d, b + j * lanes);
    TENDON_UNROLL(8)
    for (int i = 0; i < kM; ++i) {
      const auto left = hn::Set(d, a[i * a_row]);
      TENDON_UNROLL(8)
      for (int j = 0; j < kN; ++j) sums[i][j] = hn::MulAdd(left, right[j], sums[i][j]);
    }
    hwy::Prefetch(ahead);
    ahead += step;
    a += product.a_column;
    b += product.b_row;
  }
  const auto alpha = hn::Set(d, product.alpha);
  const std::int64_t c_row = product.c_row;
  const bool accumulate = product.accumulate, whole = last == lanes;
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(last));
  TENDON_UNROLL(8)
  for (int i = 0; i < kM; ++i) {
    TENDON_UNROLL(8)
    for (int j = 0; j < kN; ++j) {
      T* to = c + i * c_row + j * lanes;
      auto result = hn::Mul(alpha, sums[i][j]);
      if (accumulate) result = hn::Add(result, hn::LoadU(d, to));
      if (j + 1 < kN || whole) {
        hn::StoreU(result, d, to);
      } else {
        hn::BlendedStore(result, mask, d, to);
      }
    }
  }
}

/// What a product brings into the cache, a little with every tile.
struct Ahead {
  const char* next = nullptr;
  std::int64_t step = 0;
};

template <int kM, int kN, typename T>
HWY_NOINLINE void multiply_rows(const BlockProduct<T>& product, std::int64_t row,
                                std::int64_t column, std::int64_t last, Ahead& ahead) {
  multiply_tile<kM, kN>(product, product.a + row * product.a_row, product.b + column,
                        product.c + row * product.c_row + column, last, ahead.next, ahead.step);
  ahead.next += product.k * ahead.step;
}

template <int kN, typename T>
void multiply_columns(const BlockProduct<T>& product, std::int64_t column, std::int64_t last,
                      Ahead& ahead) {
  std::int64_t row = 0;
  for (; row + kRows <= product.m; row += kRows)
    multiply_rows<kRows, kN>(product, row, column, last, ahead);
  if (row + 4 <= product.m) {
    multiply_rows<4, kN>(product, row, column, last, ahead);
    row += 4;
  }
  if (row + 2 <= product.m) {
    multiply_rows<2, kN>(product, row, column, last, ahead);
    row += 2;
  }
  if (row < product.m) multiply_rows<1, kN>(product, row, column, last, ahead);
}

/// Bytes for each column of a, so that the tiles together bring in all of the next b; at most a
/// line, since what one request does not reach the processor sees coming by itself.
template <typename T>
Ahead ahead_of(const BlockProduct<T>& product, std::int64_t lanes) {
  if (product.next_b == nullptr) return {reinterpret_cast<const char*>(product.b), 0};
  const std::int64_t tiles =
      ((product.m + kRows - 1) / kRows) * ((product.n + kVectors * lanes - 1) / (kVectors * lanes));
  const auto row = product.b_row * static_cast<std::int64_t>(sizeof(T));
  return {reinterpret_cast<const char*>(product.next_b),
          std::min<std::int64_t>((row + tiles - 1) / tiles, 64)};
}

template <typename T>
void multiply_blocks(const BlockProduct<T>& product) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag<T>()));
  Ahead ahead = ahead_of(product, lanes);
  std::int64_t column = 0;
  while (column < product.n) {
    const std::int64_t left = product.n - column;
    const std::int64_t vectors = std::min<std::int64_t>((left + lanes - 1) / lanes, kVectors);
    const std::int64_t last = std::min(lanes, left - (vectors - 1) * lanes);
    switch (vectors) {
      case 1:
        multiply_columns<1>(product, column, last, ahead);
        break;
      case 2:
        multiply_columns<2>(product, column, last, ahead);
        break;
      case 3:
        multiply_columns<std::min(3, kVectors)>(product, column, last, ahead);
        break;
      default:
        multiply_columns<kVectors>(product, column, last, ahead);
        break;
    }
    column += vectors * lanes;
  }
}

}  // namespace

void multiply_floats(const BlockProduct<float>& product) { multiply_blocks(product); }
void multiply_doubles(const BlockProduct<double>& product) { multiply_blocks(product); }
std::int64_t lanes_of_floats() { return static_cast<std::int64_t>(hn::Lanes(Tag<float>())); }
std::int64_t lanes_of_doubles() { return static_cast<std::int64_t>(hn::Lanes(Tag<double>())); }

}  // namespace HWY_NAMESPACE
}  // namespace tendon::backends::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tendon::backends::cpu {
HWY_EXPORT(multiply_floats);
HWY_EXPORT(multiply_doubles);
HWY_EXPORT(lanes_of_floats);
HWY_EXPORT(lanes_of_doubles);
template <>
void multiply(const BlockProduct<float>& product) {
  HWY_DYNAMIC_DISPATCH(multiply_floats)(product);
}
template <>
void multiply(const BlockProduct<double>& product) {
  HWY_DYNAMIC_DISPATCH(multiply_doubles)(product);
}
template <>
std::int64_t vector_lanes<float>() {
  return HWY_DYNAMIC_DISPATCH(lanes_of_floats)();
}
template <>
std::int64_t vector_lanes<double>() {
  return HWY_DYNAMIC_DISPATCH(lanes_of_doubles)();
}
}  // namespace tendon::backends::cpu
#endif
