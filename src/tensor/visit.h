// From a dtype at run time to the C++ type of its elements.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/half.h"
#include "tendon/dtype.h"

namespace tendon::tensor {

/// One complex32: a pair of float16 (std::complex allows only the standard floating types).
struct ComplexHalf {
  Float16 real, imaginary;
};

template <typename T>
inline constexpr bool kIsComplex =
    std::is_same_v<T, ComplexHalf> || std::is_same_v<T, std::complex<float>> ||
    std::is_same_v<T, std::complex<double>>;

/// Calls function(std::type_identity<T>{}), T being the type of elements of `dtype`. All calls must
/// return one type.
///
///   return visit_dtype(view.dtype, [&]<typename T>(std::type_identity<T>) { return f<T>(view); });
template <typename Function>
decltype(auto) visit_dtype(DType dtype, Function&& function) {
  switch (dtype) {
    case DType::kBool:
      return function(std::type_identity<bool>{});
    case DType::kUInt8:
      return function(std::type_identity<std::uint8_t>{});
    case DType::kInt8:
      return function(std::type_identity<std::int8_t>{});
    case DType::kInt16:
      return function(std::type_identity<std::int16_t>{});
    case DType::kInt32:
      return function(std::type_identity<std::int32_t>{});
    case DType::kInt64:
      return function(std::type_identity<std::int64_t>{});
    case DType::kUInt16:
      return function(std::type_identity<std::uint16_t>{});
    case DType::kUInt32:
      return function(std::type_identity<std::uint32_t>{});
    case DType::kUInt64:
      return function(std::type_identity<std::uint64_t>{});
    case DType::kFloat16:
      return function(std::type_identity<Float16>{});
    case DType::kBFloat16:
      return function(std::type_identity<BFloat16>{});
    case DType::kFloat32:
      return function(std::type_identity<float>{});
    case DType::kFloat64:
      return function(std::type_identity<double>{});
    case DType::kComplex32:
      return function(std::type_identity<ComplexHalf>{});
    case DType::kComplex64:
      return function(std::type_identity<std::complex<float>>{});
    case DType::kComplex128:
      return function(std::type_identity<std::complex<double>>{});
  }
  __builtin_unreachable();
}

/// An element as std::complex<double>, which holds every dtype's values but the largest integers.
template <typename T>
std::complex<double> to_complex(const T& value) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return static_cast<float>(value);
  } else if constexpr (std::is_same_v<T, ComplexHalf>) {
    return {static_cast<float>(value.real), static_cast<float>(value.imaginary)};
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return std::complex<double>(value);
  }
}

}  // namespace tendon::tensor
