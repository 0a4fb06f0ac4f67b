#include "ir/element_kernels.h"

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "ir/scalar_math.h"

namespace tendon::ir {

namespace {

template <Op op, typename T>
void unary_loop(void* out, const void* a, const void*, int count) {
  const T* x = static_cast<const T*>(a);
  T* y = static_cast<T*>(out);
  for (int i = 0; i < count; ++i) y[i] = scalar_unary<op>(x[i]);
}

template <Op op, typename T>
void binary_loop(void* out, const void* a, const void* b, int count) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* z = static_cast<T*>(out);
  for (int i = 0; i < count; ++i) z[i] = scalar_binary<op>(x[i], y[i]);
}

template <Op op, typename T>
void comparison_loop(void* out, const void* a, const void* b, int count) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  bool* z = static_cast<bool*>(out);
  for (int i = 0; i < count; ++i) z[i] = scalar_compare<op>(x[i], y[i]);
}

template <typename T>
void is_nan_loop(void* out, const void* a, const void*, int count) {
  const T* x = static_cast<const T*>(a);
  bool* y = static_cast<bool*>(out);
  for (int i = 0; i < count; ++i) y[i] = x[i] != x[i];
}

template <typename From, typename To>
void cast_loop(void* out, const void* a, const void*, int count) {
  const From* x = static_cast<const From*>(a);
  To* y = static_cast<To*>(out);
  for (int i = 0; i < count; ++i) y[i] = scalar_cast<To>(x[i]);
}

template <typename From, typename Half>
void cast_to_half_loop(void* out, const void* a, const void*, int count) {
  const From* x = static_cast<const From*>(a);
  float* y = static_cast<float*>(out);
  for (int i = 0; i < count; ++i) y[i] = static_cast<float>(scalar_cast<Half>(x[i]));
}

template <Op op, typename T>
constexpr ElementKernel kernel_of() {
  if constexpr (is_comparison(op)) {
    return &comparison_loop<op, T>;
  } else if constexpr (op == Op::kIsNan) {
    return &is_nan_loop<T>;
  } else if constexpr (has_scalar_unary<T>(op)) {
    return &unary_loop<op, T>;
  } else if constexpr (has_scalar_binary<T>(op)) {
    return &binary_loop<op, T>;
  } else {
    return nullptr;
  }
}

template <typename T>
constexpr auto kernels_of() {
  return []<std::size_t... ops>(std::index_sequence<ops...>) {
    return std::array<ElementKernel, sizeof...(ops)>{kernel_of<static_cast<Op>(ops), T>()...};
  }
  (std::make_index_sequence<kOpCount>());
}

template <typename Half>
void load_halves(const void* memory, void* elements, std::int64_t count) {
  const Half* x = static_cast<const Half*>(memory);
  float* y = static_cast<float*>(elements);
  for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(x[i]);
}

template <typename Half>
void store_halves(const void* elements, void* memory, std::int64_t count) {
  const float* x = static_cast<const float*>(elements);
  Half* y = static_cast<Half*>(memory);
  for (std::int64_t i = 0; i < count; ++i) y[i] = Half(x[i]);
}

}  // namespace

ElementKernel element_kernel(Op op, DType dtype) {
  return visit_arithmetic_type(dtype, [op](auto zero) {
    static constexpr auto kKernels = kernels_of<decltype(zero)>();
    return kKernels[static_cast<std::size_t>(op)];
  });
}

ElementKernel cast_kernel(DType from, DType to) {
  return visit_arithmetic_type(from, [to](auto from_zero) -> ElementKernel {
    using From = decltype(from_zero);
    if (to == DType::kFloat16) return &cast_to_half_loop<From, Float16>;
    if (to == DType::kBFloat16) return &cast_to_half_loop<From, BFloat16>;
    return visit_arithmetic_type(
        to, [](auto to_zero) -> ElementKernel { return &cast_loop<From, decltype(to_zero)>; });
  });
}

ElementKernel rounding_kernel(DType dtype) {
  return is_half(dtype) ? cast_kernel(DType::kFloat32, dtype) : nullptr;
}

void load_elements(DType dtype, const void* memory, void* elements, std::int64_t count) {
  if (dtype == DType::kFloat16) return load_halves<Float16>(memory, elements, count);
  if (dtype == DType::kBFloat16) return load_halves<BFloat16>(memory, elements, count);
  if (count != 0)
    std::memcpy(elements, memory, static_cast<std::size_t>(count) * dtype_size(dtype));
}

void store_elements(DType dtype, const void* elements, void* memory, std::int64_t count) {
  if (dtype == DType::kFloat16) return store_halves<Float16>(elements, memory, count);
  if (dtype == DType::kBFloat16) return store_halves<BFloat16>(elements, memory, count);
  if (count != 0)
    std::memcpy(memory, elements, static_cast<std::size_t>(count) * dtype_size(dtype));
}

}  // namespace tendon::ir
