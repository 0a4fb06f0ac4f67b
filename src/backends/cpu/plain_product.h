// Products and convolutions in types that the math library does not know, by plain loops.
#pragma once

#include <cstdint>
#include <span>

#include "backends/cpu/node_body.h"

namespace tendon::backends::cpu {

/// The type that a product of this dtype is summed in: float32 for float32 and half types, float64,
/// or int64.
DType product_type(DType dtype);

/// c [batch, m, n], dense, of product_type, = a [batch, m, k] by b [batch, k, n], strided (three
/// strides each, in elements).
struct PlainMatmul {
  DType dtype = DType::kFloat32;
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  std::int64_t a_strides[3] = {}, b_strides[3] = {};
  std::size_t scratch_bytes() const;
  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch,
           int threads) const;
};

inline constexpr int kMaxSpatialAxes = 3;

/// y [n, o, spatial...], dense row-major, of product_type. Strides are in elements, of [n, c,
/// spatial...] and [o, c / groups, window...] ([c, o / groups, window...] if transposed).
struct PlainConv {
  DType dtype = DType::kFloat32;
  int axes = 1;
  std::int64_t batch = 1, channels = 0, outputs = 0, groups = 1;
  std::int64_t in[kMaxSpatialAxes] = {1, 1, 1}, out[kMaxSpatialAxes] = {1, 1, 1},
               window[kMaxSpatialAxes] = {1, 1, 1};
  std::int64_t stride[kMaxSpatialAxes] = {1, 1, 1}, dilation[kMaxSpatialAxes] = {1, 1, 1},
               padding[kMaxSpatialAxes] = {};
  std::int64_t x_strides[2 + kMaxSpatialAxes] = {}, w_strides[2 + kMaxSpatialAxes] = {};
  bool transposed = false;
  void run(const std::byte* x, const std::byte* w, std::byte* y, int threads) const;
};

}  // namespace tendon::backends::cpu
