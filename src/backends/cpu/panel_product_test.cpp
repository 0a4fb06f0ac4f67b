// Products panel by panel, against the plainest loops.
#include "backends/cpu/panel_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tendon::backends::cpu {
namespace {

struct Case {
  std::int64_t rows = 50, columns = 130, inner = 70;
  bool bias = false, residual = false, relu = false;
  int threads = 1;
};

/// Small integers, so that sums are exact in any order.
std::vector<float> numbers(std::int64_t count, int seed) {
  std::vector<float> result(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(seed)) % 11) - 5;
  return result;
}

void expect_right(const Case& c) {
  const std::int64_t a_row = c.inner + 3;
  const auto a = numbers(c.rows * a_row, 1), w = numbers(c.inner * c.columns, 2),
             bias = numbers(c.columns, 3), residual = numbers(c.rows * c.columns, 4);
  const dnnl::memory::desc layout = PanelProduct::packed_layout(c.inner, c.columns);
  const dnnl::memory::desc plain({c.inner, c.columns}, dnnl::memory::data_type::f32,
                                 dnnl::memory::format_tag::ab);
  std::vector<float> packed(layout.get_size() / sizeof(float));
  ASSERT_TRUE(reorder(plain, w.data(), layout, packed.data()).ok());
  std::vector<float> result(static_cast<std::size_t>(c.rows * c.columns), 99.0f);
  PanelProduct product{.rows = c.rows, .columns = c.columns, .inner = c.inner, .a_row = a_row};
  product.a = a.data();
  product.w = packed.data();
  product.bias = c.bias ? bias.data() : nullptr;
  product.residual = c.residual ? residual.data() : nullptr;
  product.relu = c.relu;
  product.c = result.data();
  product.run(c.threads);
  std::vector<float> expected;
  for (std::int64_t i = 0; i < c.rows; ++i) {
    for (std::int64_t j = 0; j < c.columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < c.inner; ++k)
        sum += a[static_cast<std::size_t>(i * a_row + k)] *
               w[static_cast<std::size_t>(k * c.columns + j)];
      if (c.bias) sum += bias[static_cast<std::size_t>(j)];
      if (c.residual) sum += residual[static_cast<std::size_t>(i * c.columns + j)];
      expected.push_back(c.relu ? std::max(sum, 0.0f) : sum);
    }
  }
  EXPECT_EQ(result, expected) << c.rows << " by " << c.columns << " by " << c.inner;
}

TEST(PanelProduct, IsRightForAnySize) {
  for (const std::int64_t rows : {1, 6, 13, 50}) {
    for (const std::int64_t columns : {64, 65, 127, 320}) {
      for (const std::int64_t inner : {64, 96, 97, 193})
        expect_right({.rows = rows, .columns = columns, .inner = inner});
    }
  }
}

TEST(PanelProduct, AddsWhatFollows) {
  for (const bool bias : {false, true}) {
    for (const bool residual : {false, true}) {
      for (const bool relu : {false, true})
        expect_right({.bias = bias, .residual = residual, .relu = relu});
    }
  }
}

TEST(PanelProduct, IsTheSameOnAnyNumberOfThreads) {
  for (const int threads : {2, 3, 7, 16}) {
    expect_right({.rows = 50, .columns = 320, .inner = 200, .bias = true, .threads = threads});
    expect_right({.rows = 128, .columns = 64, .inner = 100, .threads = threads});
  }
}

}  // namespace
}  // namespace tendon::backends::cpu
