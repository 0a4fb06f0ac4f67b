#include "ir/expr_fold.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "base/half.h"

namespace tendon::ir {

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat32:
      return static_cast<float>(value);
    case DType::kFloat16:
      return half_to_float(float_to_half(static_cast<float>(value)));
    case DType::kBFloat16:
      return bfloat16_to_float(float_to_bfloat16(static_cast<float>(value)));
    default:
      return value;
  }
}

std::int64_t wrap_integer(DType dtype, std::int64_t value) {
  switch (dtype) {
    case DType::kBool:
      return value != 0 ? 1 : 0;
    case DType::kUInt8:
      return static_cast<std::uint8_t>(value);
    case DType::kInt8:
      return static_cast<std::int8_t>(value);
    case DType::kUInt16:
      return static_cast<std::uint16_t>(value);
    case DType::kInt16:
      return static_cast<std::int16_t>(value);
    case DType::kUInt32:
      return static_cast<std::uint32_t>(value);
    case DType::kInt32:
      return static_cast<std::int32_t>(value);
    default:
      return value;
  }
}

namespace {

constexpr double kTwo31 = 2147483648.0;
constexpr double kTwo63 = 9223372036854775808.0;

bool fits(DType dtype, double value) {
  const double whole = std::trunc(value);
  switch (dtype) {
    case DType::kUInt8:
      return whole >= 0 && whole <= 255;
    case DType::kInt8:
      return whole >= -128 && whole <= 127;
    case DType::kUInt16:
      return whole >= 0 && whole <= 65535;
    case DType::kInt16:
      return whole >= -32768 && whole <= 32767;
    case DType::kUInt32:
      return whole >= 0 && whole < 2 * kTwo31;
    case DType::kInt32:
      return whole >= -kTwo31 && whole < kTwo31;
    case DType::kUInt64:
      return whole >= 0 && whole < 2 * kTwo63;
    default:
      return whole >= -kTwo63 && whole < kTwo63;
  }
}

}  // namespace

std::int64_t double_to_integer(DType dtype, double value) {
  if (dtype == DType::kBool) return value != 0 ? 1 : 0;
  if (dtype == DType::kUInt64 && value >= kTwo63 && value < 2 * kTwo63) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
  }
  const bool narrow = dtype != DType::kInt64 && dtype != DType::kUInt64 && dtype != DType::kUInt32;
  const double limit = narrow ? kTwo31 : kTwo63;
  const double whole = std::trunc(value);
  if (whole >= -limit && whole < limit) {
    return wrap_integer(dtype, static_cast<std::int64_t>(whole));
  }
  return wrap_integer(dtype, narrow ? std::numeric_limits<std::int32_t>::min()
                                    : std::numeric_limits<std::int64_t>::min());
}

std::optional<std::int64_t> fold_cast(DType from, DType to, std::int64_t payload) {
  if (is_complex(from) || is_complex(to)) return std::nullopt;
  if (is_floating(from)) {
    const double value = payload_to_double(payload);
    if (is_floating(to)) return double_to_payload(round_to(to, value));
    if (to == DType::kBool) return value != 0 ? 1 : 0;
    if (!fits(to, value)) return std::nullopt;
    return double_to_integer(to, value);
  }
  if (!is_floating(to)) return wrap_integer(to, payload);
  // One rounding, from the integer: half types by way of float32.
  const bool unsigned_wide = from == DType::kUInt64;
  if (to == DType::kFloat64) {
    return double_to_payload(unsigned_wide
                                 ? static_cast<double>(static_cast<std::uint64_t>(payload))
                                 : static_cast<double>(payload));
  }
  const float value = unsigned_wide ? static_cast<float>(static_cast<std::uint64_t>(payload))
                                    : static_cast<float>(payload);
  return double_to_payload(round_to(to, value));
}

namespace {

template <typename T>
std::optional<double> fold_float_unary(Op op, T a) {
  switch (op) {
    case Op::kNegate:
      return -a;
    case Op::kAbs:
      return std::fabs(a);
    case Op::kSign:
      if (std::isnan(a) || a == 0) return std::nullopt;
      return a > 0 ? 1 : -1;
    case Op::kFloor:
      return std::floor(a);
    case Op::kCeil:
      return std::ceil(a);
    case Op::kTrunc:
      return std::trunc(a);
    case Op::kRound: {
      const T down = std::floor(a);
      const T part = a - down;
      const bool up = part > T(0.5) || (part == T(0.5) && std::fmod(down, T(2)) != 0);
      return std::isfinite(a) ? std::copysign(up ? down + 1 : down, a) : a;
    }
    case Op::kSqrt:
      return std::sqrt(a);
    case Op::kReciprocal:
      return T(1) / a;
    default:
      return std::nullopt;
  }
}

template <typename T>
std::optional<double> fold_float_binary(Op op, T a, T b) {
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSubtract:
      return a - b;
    case Op::kMultiply:
      return a * b;
    case Op::kDivide:
      return a / b;
    case Op::kMinimum:
    case Op::kMaximum:
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
      if (a == b && std::signbit(a) != std::signbit(b)) return std::nullopt;
      return op == Op::kMinimum ? (b < a ? b : a) : (a < b ? b : a);
    case Op::kCopysign:
      return std::copysign(a, b);
    case Op::kFmod:
      return std::fmod(a, b);
    default:
      return std::nullopt;
  }
}

template <typename T>
std::optional<bool> fold_comparison(Op op, T a, T b) {
  switch (op) {
    case Op::kLess:
      return a < b;
    case Op::kLessEqual:
      return a <= b;
    case Op::kEqual:
      return a == b;
    case Op::kNotEqual:
      return a != b;
    default:
      return std::nullopt;
  }
}

int bit_count(DType dtype) { return static_cast<int>(8 * dtype_size(dtype)); }

std::optional<std::int64_t> fold_integer_division(Op op, DType dtype, std::int64_t a,
                                                  std::int64_t b) {
  if (b == 0) return 0;
  if (dtype == DType::kUInt64) {
    const auto x = static_cast<std::uint64_t>(a);
    const auto y = static_cast<std::uint64_t>(b);
    const bool quotient = op == Op::kFloorDivide || op == Op::kTruncDivide;
    return static_cast<std::int64_t>(quotient ? x / y : x % y);
  }
  if (b == -1) {  // the one quotient that may not fit wraps
    const bool quotient = op == Op::kFloorDivide || op == Op::kTruncDivide;
    return quotient ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)) : 0;
  }
  const std::int64_t quotient = a / b;
  const std::int64_t remainder = a % b;
  const bool floors_down = remainder != 0 && (remainder < 0) != (b < 0);
  switch (op) {
    case Op::kFloorDivide:
      return quotient - (floors_down ? 1 : 0);
    case Op::kTruncDivide:
      return quotient;
    case Op::kRemainder:
      return floors_down ? remainder + b : remainder;
    default:
      return remainder;
  }
}

std::optional<std::int64_t> fold_integer_binary(Op op, DType dtype, std::int64_t a,
                                                std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  switch (op) {
    case Op::kAdd:
      return static_cast<std::int64_t>(x + y);
    case Op::kSubtract:
      return static_cast<std::int64_t>(x - y);
    case Op::kMultiply:
      return static_cast<std::int64_t>(x * y);
    case Op::kFloorDivide:
    case Op::kTruncDivide:
    case Op::kRemainder:
    case Op::kFmod:
      return fold_integer_division(op, dtype, a, b);
    case Op::kMinimum:
      return dtype == DType::kUInt64 ? (y < x ? b : a) : (b < a ? b : a);
    case Op::kMaximum:
      return dtype == DType::kUInt64 ? (x < y ? b : a) : (a < b ? b : a);
    case Op::kAnd:
      return a & b;
    case Op::kOr:
      return a | b;
    case Op::kXor:
      return a ^ b;
    case Op::kShiftLeft:
      if (b < 0 || b >= bit_count(dtype)) return std::nullopt;
      return static_cast<std::int64_t>(x << b);
    case Op::kShiftRight:
      if (b < 0 || b >= bit_count(dtype)) return std::nullopt;
      return dtype == DType::kUInt64 ? static_cast<std::int64_t>(x >> b) : a >> b;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::int64_t> fold_unary(Op op, DType dtype, std::int64_t a) {
  if (dtype == DType::kFloat32 || dtype == DType::kFloat64) {
    const double value = payload_to_double(a);
    if (op == Op::kIsNan) return std::isnan(value) ? 1 : 0;
    const auto result = dtype == DType::kFloat32 ? fold_float_unary(op, static_cast<float>(value))
                                                 : fold_float_unary(op, value);
    if (!result) return std::nullopt;
    return double_to_payload(*result);
  }
  if (is_floating(dtype) || is_complex(dtype)) return std::nullopt;
  switch (op) {
    case Op::kLogicalNot:
      return a == 0 ? 1 : 0;
    case Op::kNegate:
      return wrap_integer(dtype, static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)));
    case Op::kAbs:
      if (is_unsigned(dtype) || a >= 0) return a;
      return wrap_integer(dtype, static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)));
    case Op::kSign:
      if (is_unsigned(dtype)) return a != 0 ? 1 : 0;
      return a > 0 ? 1 : a < 0 ? -1 : 0;
    case Op::kBitNot:
      if (dtype == DType::kBool) return a == 0 ? 1 : 0;
      return wrap_integer(dtype, ~a);
    default:
      return std::nullopt;
  }
}

std::optional<std::int64_t> fold_binary(Op op, DType dtype, std::int64_t a, std::int64_t b) {
  if (is_complex(dtype)) return std::nullopt;
  if (is_floating(dtype)) {
    const double x = payload_to_double(a);
    const double y = payload_to_double(b);
    if (const auto comparison = fold_comparison(op, x, y)) return *comparison ? 1 : 0;
    if (is_half(dtype)) return std::nullopt;
    const auto result = dtype == DType::kFloat32
                            ? fold_float_binary(op, static_cast<float>(x), static_cast<float>(y))
                            : fold_float_binary(op, x, y);
    if (!result) return std::nullopt;
    return double_to_payload(*result);
  }
  const auto comparison =
      dtype == DType::kUInt64
          ? fold_comparison(op, static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b))
          : fold_comparison(op, a, b);
  if (comparison) return *comparison ? 1 : 0;
  const auto result = fold_integer_binary(op, dtype, a, b);
  if (!result) return std::nullopt;
  return wrap_integer(dtype, *result);
}

}  // namespace tendon::ir
