// PyTorch's type promotion.
#include <algorithm>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// bool < integers < floats < complex.
int category(DType dtype) {
  if (dtype == DType::kBool) return 0;
  if (is_integer(dtype)) return 1;
  return is_floating(dtype) ? 2 : 3;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  const int high = std::max(category(a), category(b));
  if (category(a) != category(b)) {
    const DType winner = category(a) == high ? a : b;
    const DType other = category(a) == high ? b : a;
    if (high == 3 && category(other) == 2) {
      // A float widens a complex type to hold it.
      const DType component = promote(complex_component(winner), other);
      if (component == DType::kFloat64) return DType::kComplex128;
      return component == DType::kFloat16 ? DType::kComplex32 : DType::kComplex64;
    }
    return winner;
  }
  if (high == 3) return std::max(a, b);
  if (high == 2) {
    // float16 with bfloat16 has only float32 in common.
    if (is_half(a) && is_half(b)) return DType::kFloat32;
    return std::max(a, b);
  }
  // Integers: the wider signed one; uint8 with a signed type of its width needs one more step.
  const auto widen = [](DType signed_type, DType unsigned_type) {
    const std::size_t need = dtype_size(unsigned_type);
    if (dtype_size(signed_type) > need) return signed_type;
    if (need == 1) return DType::kInt16;
    if (need == 2) return DType::kInt32;
    return DType::kInt64;
  };
  if (is_unsigned(a) && !is_unsigned(b)) return widen(b, a);
  if (is_unsigned(b) && !is_unsigned(a)) return widen(a, b);
  return dtype_size(a) >= dtype_size(b) ? a : b;
}

DType scalar_type(const Scalar& scalar) {
  return std::visit(
      [](const auto& v) {
        using T = std::remove_cvref_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) return DType::kBool;
        if constexpr (std::is_same_v<T, double>) return DType::kFloat32;
        if constexpr (std::is_same_v<T, std::complex<double>>) return DType::kComplex64;
        if constexpr (std::is_same_v<T, Tensor>) {
          // item(): a Python float or int
          return is_floating(v.dtype) ? DType::kFloat32
                                      : (v.dtype == DType::kBool ? DType::kBool : DType::kInt64);
        }
        return DType::kInt64;
      },
      scalar);
}

DType result_type(std::span<const Operand> operands) {
  // Three ranks of importance: tensors with axes, 0-d tensors, numbers. A lower rank only counts if
  // its category is higher.
  std::optional<DType> by_rank[3];
  for (const Operand& operand : operands) {
    const int rank = operand.tensor == nullptr ? 2 : (operand.tensor->rank() > 0 ? 0 : 1);
    const DType dtype =
        operand.tensor != nullptr ? operand.tensor->dtype : scalar_type(*operand.scalar);
    by_rank[rank] = by_rank[rank] ? promote(*by_rank[rank], dtype) : dtype;
  }
  std::optional<DType> result;
  for (const auto& dtype : by_rank) {
    if (!dtype) continue;
    if (!result) {
      result = dtype;
    } else if (category(*dtype) > category(*result)) {
      // A number takes the default float, or complex of the tensor's width.
      if (category(*dtype) == 3 && category(*result) == 2 && &dtype == &by_rank[2]) {
        result = *result == DType::kFloat64   ? DType::kComplex128
                 : *result == DType::kFloat16 ? DType::kComplex32
                                              : DType::kComplex64;
      } else {
        result = promote(*result, *dtype);
      }
    }
  }
  return result.value_or(DType::kFloat32);
}

DType to_floating(DType dtype) {
  return is_floating(dtype) || is_complex(dtype) ? dtype : DType::kFloat32;
}

DType compute_type(DType dtype) { return is_half(dtype) ? DType::kFloat32 : dtype; }

double scalar_as_double(const Scalar& scalar) {
  if (const auto* v = std::get_if<double>(&scalar)) return *v;
  if (const auto* v = std::get_if<std::int64_t>(&scalar)) return static_cast<double>(*v);
  if (const auto* v = std::get_if<bool>(&scalar)) return *v ? 1 : 0;
  if (const auto* v = std::get_if<Size>(&scalar); v != nullptr && v->is_constant()) {
    return static_cast<double>(v->constant());
  }
  throw Unsupported("a number that must be known at load");
}

}  // namespace tendon::aten
