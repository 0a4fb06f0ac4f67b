// Functions of two or three elements beyond arithmetic.
#include <cmath>
#include <limits>
#include <numbers>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Body = std::function<Expr(Expr, Expr)>;

/// The argument as a tensor: numbers become 0-d tensors wide enough to hold them.
Tensor tensor_argument(Builder& b, const Arguments& arguments, std::string_view name) {
  const Arguments::Value& value = arguments.value(name);
  if (const auto* tensor = std::get_if<Tensor>(&value)) return *tensor;
  const Scalar& scalar = arguments.scalar(name);
  const DType type = scalar_type(scalar);
  return scalar_tensor(b, scalar, type == DType::kFloat32 ? DType::kFloat64 : type);
}

Operand operand(const Arguments& arguments, std::string_view name) {
  const Arguments::Value& value = arguments.value(name);
  if (const auto* tensor = std::get_if<Tensor>(&value)) return Operand(*tensor);
  return Operand(arguments.scalar(name));
}

Outputs apply(Builder& b, const Arguments& arguments, std::string_view left, std::string_view right,
              bool floating, const Body& body) {
  DType result = result_type({operand(arguments, left), operand(arguments, right)});
  if (floating) result = to_floating(result);
  return elementwise(b, {tensor_argument(b, arguments, left), tensor_argument(b, arguments, right)},
                     compute_type(result), result,
                     [&](const std::vector<Expr>& e) { return body(e[0], e[1]); });
}

Outputs floating(Builder& b, const Arguments& arguments, const Body& body) {
  return apply(b, arguments, "self", "other", true, body);
}

Outputs floating(Builder& b, const Arguments& arguments, Op op) {
  return floating(b, arguments, [op](Expr x, Expr y) { return binary(op, x, y); });
}

Expr is_nan(Expr x) {
  return is_floating(x.dtype()) ? unary(Op::kIsNan, x) : x.builder->truth(false);
}

/// The next number of a half type, by its bits (they are ordered like the numbers of one sign).
Expr next_half(Expr x, Expr toward) {
  Builder& b = *x.builder;
  const auto bits = [&](Expr v) { return b.expr(b.pool().bitcast(DType::kInt16, v.id)); };
  const Expr wide_x = cast(DType::kFloat32, x), wide_y = cast(DType::kFloat32, toward);
  const Expr away = (wide_x < wide_y) == (wide_x > 0);
  const Expr stepped = select(away, bits(x) + 1, bits(x) - 1);
  const Expr smallest = select(wide_y > 0, b.constant(DType::kInt16, 1),
                               b.constant(DType::kInt16, std::int64_t{-32767}));
  const Expr moved = b.expr(b.pool().bitcast(x.dtype(), select(wide_x == 0, smallest, stepped).id));
  const Expr unordered = is_nan(wide_x) || is_nan(wide_y);
  const Expr stay = wide_x == wide_y;
  return select(unordered, cast(x.dtype(), wide_x + wide_y), select(stay, toward, moved));
}

Expr x_log(Expr x, Expr y, Op log) {
  return select(is_nan(y), y, select(x == 0, like(x, 0.0), x * unary(log, y)));
}

/// log(exp(x) + exp(y)) in some base, from the larger of the two.
Expr log_add(Expr x, Expr y, Op exponential, double factor) {
  const Expr larger = maximum(x, y);
  const Expr both_infinite = x == y && unary(Op::kAbs, x) == kInfinity;
  const Expr rest = unary(Op::kLog1p, unary(exponential, -unary(Op::kAbs, x - y)));
  return select(both_infinite, x, larger + (factor == 1.0 ? rest : rest * factor));
}

Outputs lerp(Builder& b, const Arguments& arguments) {
  const Tensor& self = arguments.tensor("self");
  const DType compute = compute_type(self.dtype);
  const Arguments::Value& given = arguments.value("weight");
  const Tensor weight = std::holds_alternative<Tensor>(given)
                            ? std::get<Tensor>(given)
                            : scalar_tensor(b, arguments.scalar("weight"), compute);
  return elementwise(b, {self, arguments.tensor("end"), weight}, compute, self.dtype,
                     [](const std::vector<Expr>& e) {
                       const Expr difference = e[1] - e[0];
                       return select(unary(Op::kAbs, e[2]) < 0.5, e[0] + e[2] * difference,
                                     e[1] - difference * (1.0 - e[2]));
                     });
}

/// self + value * (tensor1 op tensor2)
Outputs add_combined(Builder& b, const Arguments& arguments, bool divide) {
  const Tensor& self = arguments.tensor("self");
  const Tensor &first = arguments.tensor("tensor1"), &second = arguments.tensor("tensor2");
  const Scalar& value = arguments.scalar("value");
  const DType result = result_type({self, first, second});
  if (divide && !is_floating(result)) {
    throw InvalidProgram(
        "Integer division with addcdiv is no longer supported, and in a future release addcdiv "
        "will perform a true division of tensor1 and tensor2.");
  }
  return elementwise(b, {self, first, second}, compute_type(result), result,
                     [&](const std::vector<Expr>& e) {
                       const Expr scaled = b.scalar(value, e[0].dtype()) * e[1];
                       return e[0] + (divide ? scaled / e[2] : scaled * e[2]);
                     });
}

Outputs float_power(Builder& b, const Arguments& arguments, std::string_view base) {
  const Tensor x = tensor_argument(b, arguments, base);
  const Tensor y = tensor_argument(b, arguments, "exponent");
  if (x.complex() || y.complex()) throw Unsupported("complex numbers");
  return elementwise(b, {x, y}, DType::kFloat64, DType::kFloat64,
                     [](const std::vector<Expr>& e) { return binary(Op::kPow, e[0], e[1]); });
}

}  // namespace

OPERATOR(atan2, "atan2(Tensor self, Tensor other) -> Tensor",
         "arctan2(Tensor self, Tensor other) -> Tensor") {
  return floating(b, arguments, Op::kAtan2);
}
OPERATOR(copysign, "copysign.Tensor(Tensor self, Tensor other) -> Tensor",
         "copysign.Scalar(Tensor self, Scalar other) -> Tensor") {
  return floating(b, arguments, Op::kCopysign);
}
OPERATOR(hypot, "hypot(Tensor self, Tensor other) -> Tensor") {
  return floating(b, arguments, Op::kHypot);
}
OPERATOR(igamma, "igamma(Tensor self, Tensor other) -> Tensor",
         "special_gammainc(Tensor self, Tensor other) -> Tensor") {
  return floating(b, arguments, Op::kIgamma);
}
OPERATOR(igammac, "igammac(Tensor self, Tensor other) -> Tensor",
         "special_gammaincc(Tensor self, Tensor other) -> Tensor") {
  return floating(b, arguments, Op::kIgammac);
}
OPERATOR(zeta, "special_zeta(Tensor self, Tensor other) -> Tensor",
         "special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor",
         "special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor") {
  return floating(b, arguments, Op::kZeta);
}
OPERATOR(nextafter, "nextafter(Tensor self, Tensor other) -> Tensor") {
  const Tensor &self = arguments.tensor("self"), &other = arguments.tensor("other");
  const DType result = result_type({self, other});
  return elementwise(b, {self, other}, result, result, [&](const std::vector<Expr>& e) {
    return is_half(result) ? next_half(e[0], e[1]) : binary(Op::kNextafter, e[0], e[1]);
  });
}
OPERATOR(fmax, "fmax(Tensor self, Tensor other) -> Tensor") {
  return apply(b, arguments, "self", "other", false, [](Expr x, Expr y) {
    return select(is_nan(y), x, select(is_nan(x), y, maximum(x, y)));
  });
}
OPERATOR(fmin, "fmin(Tensor self, Tensor other) -> Tensor") {
  return apply(b, arguments, "self", "other", false, [](Expr x, Expr y) {
    return select(is_nan(y), x, select(is_nan(x), y, minimum(x, y)));
  });
}
OPERATOR(gcd, "gcd(Tensor self, Tensor other) -> Tensor") {
  return apply(b, arguments, "self", "other", false,
               [](Expr x, Expr y) { return binary(Op::kGcd, x, y); });
}
OPERATOR(lcm, "lcm(Tensor self, Tensor other) -> Tensor") {
  return apply(b, arguments, "self", "other", false, [](Expr x, Expr y) {
    // A division by zero gives zero, which is the answer.
    const Expr product = binary(Op::kTruncDivide, x, binary(Op::kGcd, x, y)) * y;
    return is_unsigned(x.dtype()) ? product : unary(Op::kAbs, product);
  });
}
OPERATOR(heaviside, "heaviside(Tensor self, Tensor values) -> Tensor") {
  if (arguments.tensor("self").dtype != arguments.tensor("values").dtype) {
    throw InvalidProgram("heaviside is not yet implemented for tensors with different dtypes.");
  }
  return apply(b, arguments, "self", "values", false, [](Expr x, Expr y) {
    if (x.dtype() == DType::kBool) return x || y;
    return select(x == 0, y, cast(x.dtype(), x > 0));
  });
}
OPERATOR(xlogy, "xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
         "xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor",
         "xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor",
         "special_xlogy(Tensor self, Tensor other) -> Tensor",
         "special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor",
         "special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor") {
  return floating(b, arguments, [](Expr x, Expr y) { return x_log(x, y, Op::kLog); });
}
OPERATOR(xlog1py, "special_xlog1py(Tensor self, Tensor other) -> Tensor",
         "special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor",
         "special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor") {
  return floating(b, arguments, [](Expr x, Expr y) { return x_log(x, y, Op::kLog1p); });
}
OPERATOR(logaddexp, "logaddexp(Tensor self, Tensor other) -> Tensor") {
  return floating(b, arguments, [](Expr x, Expr y) { return log_add(x, y, Op::kExp, 1.0); });
}
OPERATOR(logaddexp2, "logaddexp2(Tensor self, Tensor other) -> Tensor") {
  return floating(b, arguments,
                  [](Expr x, Expr y) { return log_add(x, y, Op::kExp2, std::numbers::log2e); });
}
OPERATOR(ldexp, "ldexp.Tensor(Tensor self, Tensor other) -> Tensor") {
  // self * pow(2.0, other), with the types that these have.
  const Tensor &self = arguments.tensor("self"), &other = arguments.tensor("other");
  const DType power = to_floating(other.dtype);
  const Tensor scale =
      elementwise(b, {other}, compute_type(power), power,
                  [](const std::vector<Expr>& e) { return binary(Op::kPow, like(e[0], 2), e[0]); });
  const DType result = result_type({self, scale});
  return elementwise(b, {self, scale}, compute_type(result), result,
                     [](const std::vector<Expr>& e) { return e[0] * e[1]; });
}
OPERATOR(float_power_tensor, "float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
         "float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
         "float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor") {
  return float_power(b, arguments, "self");
}
OPERATOR(lerp, "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
         "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor") {
  return lerp(b, arguments);
}
OPERATOR(addcmul,
         "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor") {
  return add_combined(b, arguments, false);
}
OPERATOR(addcdiv,
         "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor") {
  return add_combined(b, arguments, true);
}
OPERATOR(isclose,
         "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool "
         "equal_nan=False) -> Tensor") {
  const Tensor &self = arguments.tensor("self"), &other = arguments.tensor("other");
  if (self.dtype != other.dtype) {
    throw InvalidProgram(std::string(dtype_name(self.dtype)) + " did not match " +
                         std::string(dtype_name(other.dtype)));
  }
  const double relative = arguments.real("rtol"), absolute = arguments.real("atol");
  const bool equal_nan = arguments.boolean("equal_nan") && is_floating(self.dtype);
  const DType type = to_floating(self.dtype);
  // Every step is an operator of its own in PyTorch, and rounds to the type.
  const auto rounded = [&](Expr x) { return cast(compute_type(type), cast(type, x)); };
  const std::vector<Shape> shapes = {self.shape, other.shape};
  return b.map(broadcast_shapes(b, shapes), [&](const Indices& i) {
    const Expr own = b.load_broadcast(self, i), its = b.load_broadcast(other, i);
    const DType exact = compute_type(self.dtype);
    Expr close = cast(exact, own) == cast(exact, its);
    const Expr x = cast(compute_type(type), own), y = cast(compute_type(type), its);
    if (equal_nan) close = close || (unary(Op::kIsNan, x) && unary(Op::kIsNan, y));
    if (relative == 0 && absolute == 0) return close;
    const Expr allowed = rounded(rounded(unary(Op::kAbs, rounded(y * relative))) + absolute);
    const Expr actual = unary(Op::kAbs, rounded(x - y));
    return close || (actual < kInfinity && actual <= allowed);
  });
}

}  // namespace tendon::aten
