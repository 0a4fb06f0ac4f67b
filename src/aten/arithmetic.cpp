// Arithmetic of two tensors, or a tensor and a number.
#include <cmath>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

using Body = std::function<Expr(Expr, Expr)>;

/// `other` as a tensor or a number.
struct Pair {
  Tensor self, other;
  DType result;
};

Pair operands(Builder& b, const Arguments& arguments) {
  Pair pair;
  const auto tensor_or_number = [&](std::string_view name) -> std::pair<Tensor, DType> {
    const Arguments::Value& value = arguments.value(name);
    if (const auto* tensor = std::get_if<Tensor>(&value)) return {*tensor, tensor->dtype};
    const Scalar& scalar = arguments.scalar(name);
    const DType type = scalar_type(scalar);
    // A wide type of its own until the result's is known: the number must not be rounded on the
    // way.
    const DType wide = type == DType::kFloat32     ? DType::kFloat64
                       : type == DType::kComplex64 ? DType::kComplex128
                                                   : type;
    return {scalar_tensor(b, scalar, wide), type};
  };
  const Arguments::Value& left = arguments.value("self");
  const Arguments::Value& right = arguments.value("other");
  const auto operand = [](const Arguments::Value& value) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) return Operand(*tensor);
    return Operand(std::get<Scalar>(value));
  };
  pair.result = result_type({operand(left), operand(right)});
  pair.self = tensor_or_number("self").first;
  pair.other = tensor_or_number("other").first;
  return pair;
}

/// Computes in the result's compute type.
Tensor combine(Builder& b, const Pair& pair, DType result, const Body& body) {
  return elementwise(b, {pair.self, pair.other}, compute_type(result), result,
                     [&](const std::vector<Expr>& e) { return body(e[0], e[1]); });
}

Outputs arithmetic(Builder& b, const Arguments& arguments, const Body& body) {
  const Pair pair = operands(b, arguments);
  return combine(b, pair, pair.result, body);
}

Tensor complex_sum(Builder& b, const Pair& pair, bool minus) {
  const Tensor x = cast(b, pair.self, pair.result), y = cast(b, pair.other, pair.result);
  const auto side = [&](const Tensor& p, const Tensor& q) {
    return elementwise(b, {p, q}, compute_type(p.dtype), p.dtype, [&](const std::vector<Expr>& e) {
      return minus ? e[0] - e[1] : e[0] + e[1];
    });
  };
  return make_complex(b, side(real_part(b, x), real_part(b, y)),
                      side(imaginary_part(b, x), imaginary_part(b, y)));
}

Tensor complex_product(Builder& b, const Pair& pair) {
  const Tensor x = cast(b, pair.self, pair.result), y = cast(b, pair.other, pair.result);
  const std::vector<Tensor> parts = {real_part(b, x), imaginary_part(b, x), real_part(b, y),
                                     imaginary_part(b, y)};
  const DType type = parts[0].dtype;
  return make_complex(
      b,
      elementwise(b, parts, compute_type(type), type,
                  [](const std::vector<Expr>& e) { return e[0] * e[2] - e[1] * e[3]; }),
      elementwise(b, parts, compute_type(type), type,
                  [](const std::vector<Expr>& e) { return e[0] * e[3] + e[1] * e[2]; }));
}

Tensor complex_quotient(Builder& b, const Pair& pair) {
  const Tensor x = cast(b, pair.self, pair.result), y = cast(b, pair.other, pair.result);
  const std::vector<Tensor> parts = {real_part(b, x), imaginary_part(b, x), real_part(b, y),
                                     imaginary_part(b, y)};
  const DType type = parts[0].dtype;
  const auto norm = [](const std::vector<Expr>& e) { return e[2] * e[2] + e[3] * e[3]; };
  return make_complex(
      b,
      elementwise(
          b, parts, compute_type(type), type,
          [&](const std::vector<Expr>& e) { return (e[0] * e[2] + e[1] * e[3]) / norm(e); }),
      elementwise(b, parts, compute_type(type), type, [&](const std::vector<Expr>& e) {
        return (e[1] * e[2] - e[0] * e[3]) / norm(e);
      }));
}

Outputs sum_of(Builder& b, const Arguments& arguments, bool minus, bool reverse) {
  Pair pair = operands(b, arguments);
  if (reverse) std::swap(pair.self, pair.other);
  const Scalar alpha = arguments.scalar("alpha");
  const auto* one = std::get_if<std::int64_t>(&alpha);
  const bool plain = (one != nullptr && *one == 1) ||
                     (std::get_if<double>(&alpha) != nullptr && std::get<double>(alpha) == 1.0);
  if (is_complex(pair.result)) {
    if (!plain) throw Unsupported("alpha with complex numbers");
    return complex_sum(b, pair, minus);
  }
  return combine(b, pair, pair.result, [&](Expr x, Expr y) {
    if (x.dtype() == DType::kBool) {
      if (minus)
        throw InvalidProgram(
            "Subtraction, the `-` operator, with two bool tensors is not supported.");
      return x || y;
    }
    if (!plain) y = y * b.scalar(alpha, y.dtype());
    return minus ? x - y : x + y;
  });
}

/// PyTorch's floor division of floats, every step rounded.
Expr floor_divide_rounded(Expr x, Expr y, const std::function<Expr(Expr)>& rounded) {
  const Expr rest = rounded(binary(Op::kFmod, x, y));
  const Expr quotient = rounded(rounded(x - rest) / y);
  const Expr lowered = rounded(quotient - 1.0);
  const Expr whole = select(rest != 0 && (y < 0) != (rest < 0), lowered, quotient);
  const Expr floor = unary(Op::kFloor, whole);
  const Expr nearest = select(rounded(whole - floor) > 0.5, rounded(floor + 1.0), floor);
  const Expr zero = binary(Op::kCopysign, like(x, 0.0), x / y);
  return select(y == 0, x / y, select(whole == 0, zero, nearest));
}

Outputs divide(Builder& b, const Arguments& arguments, const std::optional<std::string>& mode) {
  const Pair pair = operands(b, arguments);
  if (!mode) {
    const DType result = to_floating(pair.result);
    if (is_complex(result)) return complex_quotient(b, Pair{pair.self, pair.other, result});
    return combine(b, pair, result, [](Expr x, Expr y) { return x / y; });
  }
  if (*mode != "floor" && *mode != "trunc") {
    throw InvalidProgram(
        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but "
        "found '" +
        *mode + "'");
  }
  const DType result = pair.result;
  if (result == DType::kBool) {
    throw InvalidProgram("\"div_" + *mode + "_cpu\" not implemented for 'Bool'");
  }
  // Half types are divided as such, and rounded, unless the divisor is a number.
  const bool rounds = is_half(result) && pair.other.rank() > 0;
  return combine(b, pair, result, [&](Expr x, Expr y) {
    const auto rounded = [&](Expr e) { return rounds ? cast(e.dtype(), cast(result, e)) : e; };
    if (*mode == "floor") return rounds ? floor_divide_rounded(x, y, rounded) : floor_divide(x, y);
    if (is_floating(x.dtype())) return unary(Op::kTrunc, rounded(x / y));
    return binary(Op::kTruncDivide, x, y);
  });
}

/// PyTorch's special cases of pow with a known exponent, else the general one.
Expr power(Expr x, double exponent) {
  if (exponent == 2.0) return x * x;
  if (exponent == 3.0) return x * x * x;
  if (is_floating(x.dtype())) {
    if (exponent == 0.5) return unary(Op::kSqrt, x);
    if (exponent == -0.5) return unary(Op::kRsqrt, x);
    if (exponent == -1.0) return unary(Op::kReciprocal, x);
    if (exponent == -2.0) return like(x, 1.0) / (x * x);
  }
  return Expr{};
}

}  // namespace

OPERATOR(add, "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
         "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor") {
  return sum_of(b, arguments, false, false);
}
OPERATOR(sub, "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
         "sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
         "subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
         "subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor") {
  return sum_of(b, arguments, true, false);
}
OPERATOR(rsub, "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
         "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor") {
  return sum_of(b, arguments, true, true);
}
OPERATOR(mul, "mul.Tensor(Tensor self, Tensor other) -> Tensor",
         "mul.Scalar(Tensor self, Scalar other) -> Tensor",
         "multiply.Tensor(Tensor self, Tensor other) -> Tensor",
         "multiply.Scalar(Tensor self, Scalar other) -> Tensor") {
  const Pair pair = operands(b, arguments);
  if (is_complex(pair.result)) return complex_product(b, pair);
  return combine(b, pair, pair.result,
                 [](Expr x, Expr y) { return x.dtype() == DType::kBool ? x && y : x * y; });
}
OPERATOR(div, "div.Tensor(Tensor self, Tensor other) -> Tensor",
         "div.Scalar(Tensor self, Scalar other) -> Tensor",
         "divide.Tensor(Tensor self, Tensor other) -> Tensor",
         "divide.Scalar(Tensor self, Scalar other) -> Tensor",
         "true_divide.Tensor(Tensor self, Tensor other) -> Tensor",
         "true_divide.Scalar(Tensor self, Scalar other) -> Tensor") {
  return divide(b, arguments, std::nullopt);
}
OPERATOR(div_mode, "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
         "div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
         "divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
         "divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor") {
  return divide(b, arguments, arguments.optional_text("rounding_mode"));
}
OPERATOR(floor_divide, "floor_divide(Tensor self, Tensor other) -> Tensor",
         "floor_divide.Scalar(Tensor self, Scalar other) -> Tensor") {
  return divide(b, arguments, "floor");
}
OPERATOR(remainder, "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
         "remainder.Scalar(Tensor self, Scalar other) -> Tensor",
         "remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor") {
  return arithmetic(b, arguments, [](Expr x, Expr y) { return remainder(x, y); });
}
OPERATOR(fmod, "fmod.Tensor(Tensor self, Tensor other) -> Tensor",
         "fmod.Scalar(Tensor self, Scalar other) -> Tensor") {
  return arithmetic(b, arguments, [](Expr x, Expr y) { return binary(Op::kFmod, x, y); });
}
OPERATOR(pow_tensor_scalar, "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Scalar& exponent = arguments.scalar("exponent");
  const DType result = result_type({self, exponent});
  return elementwise(b, {self}, compute_type(result), result, [&](const std::vector<Expr>& e) {
    if (!std::holds_alternative<Tensor>(exponent) && !std::holds_alternative<Size>(exponent)) {
      const Expr special = power(e[0], scalar_as_double(exponent));
      if (special.builder != nullptr) return special;
    }
    return binary(Op::kPow, e[0], b.scalar(exponent, e[0].dtype()));
  });
}
OPERATOR(pow_scalar, "pow.Scalar(Scalar self, Tensor exponent) -> Tensor") {
  const Tensor& exponent = arguments.tensor("exponent");
  const Scalar& self = arguments.scalar("self");
  const DType result = result_type({self, exponent});
  return elementwise(b, {exponent}, compute_type(result), result, [&](const std::vector<Expr>& e) {
    return binary(Op::kPow, b.scalar(self, e[0].dtype()), e[0]);
  });
}
OPERATOR(pow_tensor, "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor& exponent = arguments.tensor("exponent");
  const DType result = result_type({self, exponent});
  return elementwise(b, {self, exponent}, compute_type(result), result,
                     [](const std::vector<Expr>& e) { return binary(Op::kPow, e[0], e[1]); });
}
OPERATOR(maximum, "maximum(Tensor self, Tensor other) -> Tensor",
         "max.other(Tensor self, Tensor other) -> Tensor") {
  return arithmetic(b, arguments, [](Expr x, Expr y) { return maximum(x, y); });
}
OPERATOR(minimum, "minimum(Tensor self, Tensor other) -> Tensor",
         "min.other(Tensor self, Tensor other) -> Tensor") {
  return arithmetic(b, arguments, [](Expr x, Expr y) { return minimum(x, y); });
}

}  // namespace tendon::aten
