#include "tensor/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/status_macros.h"
#include "tensor/element_text.h"
#include "tensor/strided_copy.h"
#include "tensor/visit.h"

namespace tendon::tensor {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_nan(std::complex<double> value) {
  return std::isnan(value.real()) || std::isnan(value.imag());
}
bool is_finite(std::complex<double> value) {
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}

template <typename T>
double distance(const T& a, const T& b) {
  if constexpr (std::is_integral_v<T>) {
    // In unsigned arithmetic, so that distant int64 values do not overflow.
    const auto low = static_cast<std::uint64_t>(static_cast<std::int64_t>(std::min(a, b)));
    const auto high = static_cast<std::uint64_t>(static_cast<std::int64_t>(std::max(a, b)));
    return static_cast<double>(high - low);
  } else {
    const std::complex<double> x = to_complex(a), y = to_complex(b);
    if (x == y || (is_nan(x) && is_nan(y))) return 0;
    const double difference = std::abs(x - y);
    return std::isnan(difference) ? kInfinity : difference;
  }
}

template <typename T>
void compare_dense(const T* got, const T* expected, Tolerance tolerance, Comparison& result,
                   std::int64_t& first_mismatch) {
  if (std::is_integral_v<T>) tolerance = {};
  double dot = 0, got_norm = 0, expected_norm = 0;
  for (std::int64_t i = 0; i < result.elements; ++i) {
    const std::complex<double> x = to_complex(got[i]), y = to_complex(expected[i]);
    const double difference = distance(got[i], expected[i]);
    const double magnitude = std::abs(y);
    result.max_absolute_error = std::max(result.max_absolute_error, difference);
    if (magnitude != 0 && difference > 0) {
      const double relative = std::isinf(difference) ? kInfinity : difference / magnitude;
      result.max_relative_error = std::max(result.max_relative_error, relative);
    }
    const bool close =
        difference == 0 || (std::isfinite(difference) &&
                            difference <= tolerance.absolute + tolerance.relative * magnitude);
    if (!close) {
      if (result.mismatches++ == 0) {
        first_mismatch = i;
        result.got = element_text(got[i]);
        result.expected = element_text(expected[i]);
      }
    }
    if (is_finite(x) && is_finite(y)) {
      dot += x.real() * y.real() + x.imag() * y.imag();
      got_norm += std::norm(x);
      expected_norm += std::norm(y);
    }
  }
  const double scale = std::sqrt(got_norm) * std::sqrt(expected_norm);
  result.cosine_similarity =
      scale > 0 ? dot / scale : (got_norm == 0 && expected_norm == 0 ? 1.0 : 0.0);
}

Sizes index_of(std::int64_t element, const Sizes& sizes) {
  Sizes index(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    index[axis] = element % sizes[axis];
    element /= sizes[axis];
  }
  return index;
}

}  // namespace

Tolerance default_tolerance(DType dtype) {
  if (is_complex(dtype)) dtype = complex_component(dtype);
  switch (dtype) {
    case DType::kFloat16:
      return {.relative = 5e-3, .absolute = 1e-3};
    case DType::kBFloat16:
      return {.relative = 2e-2, .absolute = 1e-2};
    case DType::kFloat32:
      return {.relative = 1e-4, .absolute = 1e-5};
    case DType::kFloat64:
      return {.relative = 1e-7, .absolute = 1e-9};
    default:
      return {};
  }
}

Result<Comparison> compare(const TensorView& got, const TensorView& expected, Tolerance tolerance) {
  if (got.dtype != expected.dtype || got.sizes != expected.sizes) {
    return Status(StatusCode::kInvalidArgument,
                  "expected " + expected.to_string() + ", got " + got.to_string());
  }
  TENDON_ASSIGN_OR_RETURN(const Tensor dense_got, as_contiguous(got));
  TENDON_ASSIGN_OR_RETURN(const Tensor dense_expected, as_contiguous(expected));
  Comparison result;
  result.elements = got.elements();
  std::int64_t first_mismatch = 0;
  visit_dtype(got.dtype, [&]<typename T>(std::type_identity<T>) {
    compare_dense(dense_got.as<const T>(), dense_expected.as<const T>(), tolerance, result,
                  first_mismatch);
  });
  if (!result.ok()) result.first_mismatch = index_of(first_mismatch, got.sizes);
  return result;
}

}  // namespace tendon::tensor
