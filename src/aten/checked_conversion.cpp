#include "aten/checked_conversion.h"

#include <cmath>
#include <complex>
#include <limits>
#include <string>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// Numbers from lowest to highest fit. A bound beyond those of the source type is infinite.
struct Range {
  double lowest, highest;
  const char* name;  // PyTorch's
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Range range_of(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return {-255, 255, "uint8_t"};  // negative numbers wrap
    case DType::kInt8:
      return {-128, 127, "int8_t"};
    case DType::kInt16:
      return {-32768, 32767, "int16_t"};
    case DType::kInt32:
      return {-2147483648.0, 2147483647.0, "int"};
    case DType::kInt64:
      return {-0x1p63, 0x1p63, "int64_t"};
    case DType::kFloat16:
      return {-65504, 65504, "at::Half"};
    case DType::kBFloat16:
      return {-0x1.fep127, 0x1.fep127, "at::BFloat16"};
    case DType::kFloat32:
      return {-0x1.fffffep127, 0x1.fffffep127, "float"};
    default:
      return {-kInfinity, kInfinity, ""};
  }
}

std::string message_of(const Range& range) {
  return std::string("value cannot be converted to type ") + range.name + " without overflow";
}

bool fits(double value, DType dtype, const Range& range) {
  if (is_floating(dtype) && !std::isfinite(value)) return true;
  return value >= range.lowest && value <= range.highest;
}

}  // namespace

void require_fits(Builder& b, const Scalar& value, DType dtype) {
  const Range range = range_of(dtype);
  if (const auto* tensor = std::get_if<Tensor>(&value)) return require_fits(b, *tensor, dtype);
  double number = 0;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    number = static_cast<double>(*whole);
  } else if (const auto* real = std::get_if<double>(&value)) {
    number = *real;
  } else if (const auto* pair = std::get_if<std::complex<double>>(&value)) {
    if (!is_complex(dtype) && pair->imag() != 0) throw InvalidProgram(message_of(range));
    number = pair->real();
  }
  if (!fits(number, dtype, range)) throw InvalidProgram(message_of(range));
}

void require_fits(Builder& b, const Tensor& value, DType dtype) {
  const Range range = range_of(dtype);
  const Range own = range_of(value.dtype);
  const bool never_whole = is_floating(value.dtype) && !is_floating(dtype);
  const bool within = own.lowest >= range.lowest && own.highest <= range.highest;
  if (is_complex(value.dtype) || value.dtype == DType::kBool || (within && !never_whole)) return;
  if (range.highest == kInfinity) return;
  const Tensor number = reshape(b, value, {});
  b.assert_tensor(b.map({},
                        [&](const Indices&) {
                          const Expr x = cast(DType::kFloat64, b.load(number, {}));
                          const Expr inside = x >= range.lowest && x <= range.highest;
                          if (!is_floating(dtype) || !is_floating(value.dtype)) return inside;
                          return inside || unary(Op::kIsNan, x) ||
                                 unary(Op::kAbs, x) == like(x, kInfinity);
                        }),
                  message_of(range));
}

}  // namespace tendon::aten
