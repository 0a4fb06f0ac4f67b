#include "backends/cpu/plain_product.h"

#include <cstring>

#include "base/half.h"
#include "base/parallel.h"

namespace tendon::backends::cpu {

namespace {

/// Element `index` of an array of that dtype, as the accumulation type.
template <typename Sum>
Sum element(DType dtype, const std::byte* data, std::int64_t index) {
  const auto at = [&]<typename T>(T) {
    T value;
    std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return value;
  };
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8:
      return static_cast<Sum>(at(std::uint8_t{}));
    case DType::kInt8:
      return static_cast<Sum>(at(std::int8_t{}));
    case DType::kInt16:
      return static_cast<Sum>(at(std::int16_t{}));
    case DType::kUInt16:
      return static_cast<Sum>(at(std::uint16_t{}));
    case DType::kInt32:
      return static_cast<Sum>(at(std::int32_t{}));
    case DType::kUInt32:
      return static_cast<Sum>(at(std::uint32_t{}));
    case DType::kInt64:
    case DType::kUInt64:
      return static_cast<Sum>(at(std::int64_t{}));
    case DType::kFloat16:
      return static_cast<Sum>(half_to_float(at(std::uint16_t{})));
    case DType::kBFloat16:
      return static_cast<Sum>(bfloat16_to_float(at(std::uint16_t{})));
    case DType::kFloat64:
      return static_cast<Sum>(at(double{}));
    default:
      return static_cast<Sum>(at(float{}));
  }
}

/// Integer sums wrap; signed overflow must not be undefined.
template <typename Sum>
Sum multiply_add(Sum sum, Sum a, Sum b) {
  if constexpr (std::is_integral_v<Sum>) {
    return static_cast<Sum>(static_cast<std::uint64_t>(sum) +
                            static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return sum + a * b;
  }
}

template <typename Sum>
void run_matmul(const PlainMatmul& p, const std::byte* a, const std::byte* b, std::byte* c,
                std::byte* scratch, int threads) {
  // b as dense rows of the accumulation type, once for all rows of a.
  Sum* rows = reinterpret_cast<Sum*>(scratch);
  base::parallel_for(p.batch * p.k, 16, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t base = row / p.k * p.b_strides[0] + row % p.k * p.b_strides[1];
      for (std::int64_t j = 0; j < p.n; ++j)
        rows[row * p.n + j] = element<Sum>(p.dtype, b, base + j * p.b_strides[2]);
    }
  });
  Sum* out = reinterpret_cast<Sum*>(c);
  base::parallel_for(p.batch * p.m, 4, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t batch = row / p.m;
      const std::int64_t base = batch * p.a_strides[0] + row % p.m * p.a_strides[1];
      Sum* sums = out + row * p.n;
      for (std::int64_t j = 0; j < p.n; ++j) sums[j] = Sum{0};
      for (std::int64_t k = 0; k < p.k; ++k) {
        const Sum x = element<Sum>(p.dtype, a, base + k * p.a_strides[2]);
        const Sum* y = rows + (batch * p.k + k) * p.n;
        for (std::int64_t j = 0; j < p.n; ++j) sums[j] = multiply_add(sums[j], x, y[j]);
      }
    }
  });
}

template <typename Sum>
Sum conv_point(const PlainConv& p, const std::byte* x, const std::byte* w, std::int64_t n,
               std::int64_t o, const std::int64_t* at) {
  const std::int64_t in_group = p.channels / p.groups, out_group = p.outputs / p.groups;
  const std::int64_t group = o / out_group;
  Sum sum{0};
  for (std::int64_t c = 0; c < in_group; ++c) {
    const std::int64_t channel = group * in_group + c;
    const std::int64_t x_base = n * p.x_strides[0] + channel * p.x_strides[1];
    const std::int64_t w_base = p.transposed
                                    ? channel * p.w_strides[0] + o % out_group * p.w_strides[1]
                                    : o * p.w_strides[0] + c * p.w_strides[1];
    std::int64_t k[kMaxSpatialAxes];
    for (k[0] = 0; k[0] < p.window[0]; ++k[0]) {
      for (k[1] = 0; k[1] < p.window[1]; ++k[1]) {
        for (k[2] = 0; k[2] < p.window[2]; ++k[2]) {
          std::int64_t x_at = x_base, w_at = w_base;
          bool inside = true;
          for (int axis = 0; axis < kMaxSpatialAxes && inside; ++axis) {
            std::int64_t position;
            if (p.transposed) {
              const std::int64_t reach = at[axis] + p.padding[axis] - k[axis] * p.dilation[axis];
              inside = reach >= 0 && reach % p.stride[axis] == 0;
              position = reach / p.stride[axis];
            } else {
              position = at[axis] * p.stride[axis] - p.padding[axis] + k[axis] * p.dilation[axis];
            }
            inside = inside && position >= 0 && position < p.in[axis];
            x_at += position * p.x_strides[2 + axis];
            w_at += k[axis] * p.w_strides[2 + axis];
          }
          if (inside)
            sum = multiply_add(sum, element<Sum>(p.dtype, x, x_at), element<Sum>(p.dtype, w, w_at));
        }
      }
    }
  }
  return sum;
}

template <typename Sum>
void run_conv(const PlainConv& p, const std::byte* x, const std::byte* w, std::byte* y,
              int threads) {
  Sum* out = reinterpret_cast<Sum*>(y);
  const std::int64_t plane = p.out[0] * p.out[1] * p.out[2];
  base::parallel_for(
      p.batch * p.outputs * plane, 16, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t at[kMaxSpatialAxes] = {i % plane / (p.out[1] * p.out[2]),
                                                    i % (p.out[1] * p.out[2]) / p.out[2],
                                                    i % p.out[2]};
          out[i] = conv_point<Sum>(p, x, w, i / plane / p.outputs, i / plane % p.outputs, at);
        }
      });
}

}  // namespace

DType product_type(DType dtype) {
  if (dtype == DType::kFloat64) return DType::kFloat64;
  return is_floating(dtype) ? DType::kFloat32 : DType::kInt64;
}

std::size_t PlainMatmul::scratch_bytes() const {
  return static_cast<std::size_t>(batch * k * n) * dtype_size(product_type(dtype));
}

void PlainMatmul::run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch,
                      int threads) const {
  switch (product_type(dtype)) {
    case DType::kFloat64:
      return run_matmul<double>(*this, a, b, c, scratch, threads);
    case DType::kFloat32:
      return run_matmul<float>(*this, a, b, c, scratch, threads);
    default:
      return run_matmul<std::int64_t>(*this, a, b, c, scratch, threads);
  }
}

void PlainConv::run(const std::byte* x, const std::byte* w, std::byte* y, int threads) const {
  switch (product_type(dtype)) {
    case DType::kFloat64:
      return run_conv<double>(*this, x, w, y, threads);
    case DType::kFloat32:
      return run_conv<float>(*this, x, w, y, threads);
    default:
      return run_conv<std::int64_t>(*this, x, w, y, threads);
  }
}

}  // namespace tendon::backends::cpu
