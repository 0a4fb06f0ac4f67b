#include "ir/expr_fold.h"

#include <cmath>
#include <type_traits>

#include "ir/scalar_math.h"

namespace tendon::ir {

namespace {

/// Calls visit(T()) with the element type; nothing for complex types.
template <typename Visit>
std::optional<std::int64_t> visit_type(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kBool:
      return visit(bool());
    case DType::kUInt8:
      return visit(std::uint8_t());
    case DType::kInt8:
      return visit(std::int8_t());
    case DType::kUInt16:
      return visit(std::uint16_t());
    case DType::kInt16:
      return visit(std::int16_t());
    case DType::kUInt32:
      return visit(std::uint32_t());
    case DType::kInt32:
      return visit(std::int32_t());
    case DType::kUInt64:
      return visit(std::uint64_t());
    case DType::kInt64:
      return visit(std::int64_t());
    case DType::kFloat16:
      return visit(Float16());
    case DType::kBFloat16:
      return visit(BFloat16());
    case DType::kFloat32:
      return visit(float());
    case DType::kFloat64:
      return visit(double());
    default:
      return std::nullopt;
  }
}

template <typename T>
T from_payload(std::int64_t payload) {
  if constexpr (std::integral<T>) {
    return static_cast<T>(payload);
  } else {
    return scalar_cast<T>(payload_to_double(payload));
  }
}

template <typename T>
std::int64_t to_payload(T value) {
  if constexpr (std::integral<T>) {
    return static_cast<std::int64_t>(value);
  } else {
    return double_to_payload(scalar_cast<double>(value));
  }
}

template <Op op, typename T>
std::optional<std::int64_t> apply(T a) {
  if constexpr (has_scalar_unary<T>(op)) {
    return to_payload(scalar_unary<op>(a));
  } else {
    return std::nullopt;
  }
}

template <Op op, typename T>
std::optional<std::int64_t> apply(T a, T b) {
  if constexpr (is_comparison(op)) {
    return scalar_compare<op>(a, b) ? 1 : 0;
  } else if constexpr (has_scalar_binary<T>(op)) {
    return to_payload(scalar_binary<op>(a, b));
  } else {
    return std::nullopt;
  }
}

template <typename T>
std::optional<std::int64_t> unary(Op op, T a) {
  switch (op) {
    case Op::kNegate:
      return apply<Op::kNegate>(a);
    case Op::kAbs:
      return apply<Op::kAbs>(a);
    case Op::kSign:
      return apply<Op::kSign>(a);
    case Op::kFloor:
      return apply<Op::kFloor>(a);
    case Op::kCeil:
      return apply<Op::kCeil>(a);
    case Op::kTrunc:
      return apply<Op::kTrunc>(a);
    case Op::kRound:
      return apply<Op::kRound>(a);
    case Op::kSqrt:
      return apply<Op::kSqrt>(a);
    case Op::kReciprocal:
      return apply<Op::kReciprocal>(a);
    case Op::kLogicalNot:
      return apply<Op::kLogicalNot>(a);
    case Op::kBitNot:
      return apply<Op::kBitNot>(a);
    case Op::kIsNan:
      return a != a ? 1 : 0;
    default:
      return std::nullopt;
  }
}

template <typename T>
std::optional<std::int64_t> binary(Op op, T a, T b) {
  switch (op) {
    case Op::kAdd:
      return apply<Op::kAdd>(a, b);
    case Op::kSubtract:
      return apply<Op::kSubtract>(a, b);
    case Op::kMultiply:
      return apply<Op::kMultiply>(a, b);
    case Op::kDivide:
      return apply<Op::kDivide>(a, b);
    case Op::kFloorDivide:
      return apply<Op::kFloorDivide>(a, b);
    case Op::kTruncDivide:
      return apply<Op::kTruncDivide>(a, b);
    case Op::kRemainder:
      return apply<Op::kRemainder>(a, b);
    case Op::kFmod:
      return apply<Op::kFmod>(a, b);
    case Op::kPow:
      if constexpr (std::integral<T>) return apply<Op::kPow>(a, b);
      return std::nullopt;
    case Op::kCopysign:
      return apply<Op::kCopysign>(a, b);
    case Op::kMinimum:
    case Op::kMaximum:
      if constexpr (std::floating_point<T>) {
        if (a == b && std::signbit(a) != std::signbit(b)) return std::nullopt;
      }
      return op == Op::kMinimum ? apply<Op::kMinimum>(a, b) : apply<Op::kMaximum>(a, b);
    case Op::kLess:
      return apply<Op::kLess>(a, b);
    case Op::kLessEqual:
      return apply<Op::kLessEqual>(a, b);
    case Op::kEqual:
      return apply<Op::kEqual>(a, b);
    case Op::kNotEqual:
      return apply<Op::kNotEqual>(a, b);
    case Op::kAnd:
      return apply<Op::kAnd>(a, b);
    case Op::kOr:
      return apply<Op::kOr>(a, b);
    case Op::kXor:
      return apply<Op::kXor>(a, b);
    case Op::kShiftLeft:
      return apply<Op::kShiftLeft>(a, b);
    case Op::kShiftRight:
      return apply<Op::kShiftRight>(a, b);
    case Op::kGcd:
      return apply<Op::kGcd>(a, b);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::int64_t wrap_integer(DType dtype, std::int64_t value) {
  return fold_cast(DType::kInt64, dtype, value).value_or(value);
}

std::optional<std::int64_t> fold_cast(DType from, DType to, std::int64_t payload) {
  return visit_type(from, [&](auto from_element) {
    using From = decltype(from_element);
    return visit_type(to, [&](auto to_element) -> std::optional<std::int64_t> {
      return to_payload(scalar_cast<decltype(to_element)>(from_payload<From>(payload)));
    });
  });
}

std::optional<std::int64_t> fold_unary(Op op, DType dtype, std::int64_t a) {
  return visit_type(dtype, [&](auto element) -> std::optional<std::int64_t> {
    using T = decltype(element);
    if constexpr (HalfType<T>) {
      return std::nullopt;
    } else {
      return unary(op, from_payload<T>(a));
    }
  });
}

std::optional<std::int64_t> fold_binary(Op op, DType dtype, std::int64_t a, std::int64_t b) {
  return visit_type(dtype, [&](auto element) -> std::optional<std::int64_t> {
    using T = decltype(element);
    if constexpr (HalfType<T>) {
      return std::nullopt;
    } else {
      return binary(op, from_payload<T>(a), from_payload<T>(b));
    }
  });
}

}  // namespace tendon::ir
