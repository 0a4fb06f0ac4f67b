// Element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tendon {

/// bool is one byte, 0 or 1. Half types are IEEE binary16 and bfloat16; complex types are (real,
/// imaginary) pairs of float16, float32, float64.
enum class DType : std::uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex32,
  kComplex64,
  kComplex128,
};
inline constexpr int kDTypeCount = 16;

/// Bytes of one element.
constexpr std::size_t dtype_size(DType dtype) {
  constexpr std::size_t kSizes[kDTypeCount] = {1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 4, 8, 16};
  return kSizes[static_cast<int>(dtype)];
}

/// PyTorch's name without "torch.": "float32".
constexpr std::string_view dtype_name(DType dtype) {
  constexpr std::string_view kNames[kDTypeCount] = {
      "bool",    "uint8",     "int8",      "int16",     "int32",    "int64",
      "uint16",  "uint32",    "uint64",    "float16",   "bfloat16", "float32",
      "float64", "complex32", "complex64", "complex128"};
  return kNames[static_cast<int>(dtype)];
}

/// The type of that name; nothing if there is none.
constexpr std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (dtype_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

constexpr bool is_floating(DType dtype) {
  return dtype >= DType::kFloat16 && dtype <= DType::kFloat64;
}
constexpr bool is_half(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}
constexpr bool is_complex(DType dtype) { return dtype >= DType::kComplex32; }
/// Signed and unsigned integers; bool is not one.
constexpr bool is_integer(DType dtype) { return dtype >= DType::kUInt8 && dtype <= DType::kUInt64; }
constexpr bool is_unsigned(DType dtype) {
  return dtype == DType::kUInt8 || (dtype >= DType::kUInt16 && dtype <= DType::kUInt64);
}
/// float32 of complex64, and so on; only for complex types.
constexpr DType complex_component(DType dtype) {
  return dtype == DType::kComplex32   ? DType::kFloat16
         : dtype == DType::kComplex64 ? DType::kFloat32
                                      : DType::kFloat64;
}

}  // namespace tendon
