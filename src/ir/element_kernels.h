// The operations of scalar_math.h over short arrays, by dtype: what ElementProgram is made of.
//
// Elements lie in their arithmetic type: half types as float.
#pragma once

#include <cstddef>

#include "ir/expr.h"
#include "tendon/dtype.h"

namespace tendon::ir {

/// Half types are computed in, and kept as, float32.
constexpr DType arithmetic_type(DType dtype) { return is_half(dtype) ? DType::kFloat32 : dtype; }

using ElementKernel = void (*)(void* out, const void* a, const void* b, int count);

/// For operations of one or two arguments of `dtype`; null where there is none. Results have type
/// `dtype`, or bool for comparisons, kIsNan.
ElementKernel element_kernel(Op op, DType dtype);
/// Between any two real dtypes. A half type among them is float32 rounded to it.
ElementKernel cast_kernel(DType from, DType to);
/// Rounds float32 elements to a half type; null for other dtypes.
ElementKernel rounding_kernel(DType dtype);

/// From memory to the arithmetic type, and back.
void load_elements(DType dtype, const void* memory, void* elements, std::int64_t count);
void store_elements(DType dtype, const void* elements, void* memory, std::int64_t count);

/// Calls visit with a value of the C++ type that elements of `dtype` have in arithmetic.
template <typename Visit>
decltype(auto) visit_arithmetic_type(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kBool:
      return visit(bool{});
    case DType::kUInt8:
      return visit(std::uint8_t{});
    case DType::kInt8:
      return visit(std::int8_t{});
    case DType::kInt16:
      return visit(std::int16_t{});
    case DType::kInt32:
      return visit(std::int32_t{});
    case DType::kInt64:
      return visit(std::int64_t{});
    case DType::kUInt16:
      return visit(std::uint16_t{});
    case DType::kUInt32:
      return visit(std::uint32_t{});
    case DType::kUInt64:
      return visit(std::uint64_t{});
    case DType::kFloat64:
      return visit(double{});
    default:
      return visit(float{});
  }
}

}  // namespace tendon::ir
