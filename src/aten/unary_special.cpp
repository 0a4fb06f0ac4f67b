// Tests of one element, and functions of one element that are made of others.
#include <cmath>
#include <limits>
#include <numbers>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Outputs floating(Builder& b, const Arguments& arguments, const std::function<Expr(Expr)>& body) {
  const Tensor self = arguments.tensor("self");
  return elementwise_floating(b, std::span(&self, 1),
                              [&](const std::vector<Expr>& e) { return body(e[0]); });
}

/// A test that integers always answer the same way.
Outputs test(Builder& b, const Arguments& arguments, bool of_integers,
             const std::function<Expr(Expr)>& body) {
  const Tensor& self = arguments.tensor("self");
  if (self.complex()) throw Unsupported("complex numbers");
  if (!is_floating(self.dtype)) return full(b, self.shape, Scalar(of_integers), DType::kBool);
  return elementwise(b, {self}, compute_type(self.dtype), DType::kBool,
                     [&](const std::vector<Expr>& e) { return body(e[0]); });
}

Expr bits_of(Expr x) {
  const DType integer = dtype_size(x.dtype()) == 8   ? DType::kInt64
                        : dtype_size(x.dtype()) == 4 ? DType::kInt32
                                                     : DType::kInt16;
  return x.builder->expr(x.builder->pool().bitcast(integer, x.id));
}

double largest(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 65504;
    case DType::kBFloat16:
      return 3.3895313892515355e38;
    case DType::kFloat32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

struct Frexp {
  Expr mantissa, exponent;
};

/// By the bits; numbers below the normal range are scaled into it first.
Frexp frexp_of(Expr x) {
  Builder& b = *x.builder;
  const bool wide = x.dtype() == DType::kFloat64;
  const DType integer = wide ? DType::kInt64 : DType::kInt32;
  const int fraction = wide ? 52 : 23;
  const std::int64_t bias = wide ? 1022 : 126;
  const std::int64_t field = wide ? 0x7ff : 0xff;
  const double tiny = wide ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  const Expr small = unary(Op::kAbs, x) < tiny;
  const Expr normal = select(small, x * std::ldexp(1.0, fraction + 1), x);
  const Expr bits = bits_of(normal);
  const auto number = [&](std::int64_t value) { return b.constant(integer, value); };
  const Expr biased =
      binary(Op::kAnd, binary(Op::kShiftRight, bits, number(fraction)), number(field));
  const Expr exponent = biased - bias - select(small, number(fraction + 1), number(0));
  const std::int64_t mask =
      static_cast<std::int64_t>(~(static_cast<std::uint64_t>(field) << fraction));
  const Expr mantissa_bits = binary(Op::kOr, binary(Op::kAnd, bits, number(mask)),
                                    number(static_cast<std::int64_t>(bias) << fraction));
  const Expr mantissa = b.expr(b.pool().bitcast(x.dtype(), mantissa_bits.id));
  const Expr plain = x == 0 || unary(Op::kIsNan, x) || unary(Op::kAbs, x) == kInfinity;
  return {select(plain, x, mantissa), cast(DType::kInt32, select(plain, number(0), exponent))};
}

}  // namespace

OPERATOR(isfinite, "isfinite(Tensor self) -> Tensor") {
  return test(b, arguments, true, [](Expr x) { return unary(Op::kAbs, x) < kInfinity; });
}
OPERATOR(isinf, "isinf(Tensor self) -> Tensor") {
  return test(b, arguments, false, [](Expr x) { return unary(Op::kAbs, x) == kInfinity; });
}
OPERATOR(isposinf, "isposinf(Tensor self) -> Tensor") {
  return test(b, arguments, false, [](Expr x) { return x == kInfinity; });
}
OPERATOR(isneginf, "isneginf(Tensor self) -> Tensor") {
  return test(b, arguments, false, [](Expr x) { return x == -kInfinity; });
}
OPERATOR(signbit, "signbit(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (self.dtype == DType::kBool || is_unsigned(self.dtype)) {
    return full(b, self.shape, Scalar(false), DType::kBool);
  }
  return b.map(self.shape, [&](const Indices& i) {
    const Expr x = b.load(self, i);
    return (is_floating(self.dtype) ? bits_of(x) : x) < 0;
  });
}
OPERATOR(nan_to_num,
         "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> "
         "Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (!is_floating(self.dtype)) return self;
  const double nan = arguments.optional_real("nan").value_or(0.0);
  const double high = arguments.optional_real("posinf").value_or(largest(self.dtype));
  const double low = arguments.optional_real("neginf").value_or(-largest(self.dtype));
  return elementwise(
      b, {self}, compute_type(self.dtype), self.dtype, [&](const std::vector<Expr>& e) {
        const Expr x = e[0];
        return select(
            unary(Op::kIsNan, x), like(x, nan),
            select(x == kInfinity, like(x, high), select(x == -kInfinity, like(x, low), x)));
      });
}
OPERATOR(frexp, "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)") {
  const Tensor& self = arguments.tensor("self");
  if (!is_floating(self.dtype)) {
    throw InvalidProgram("torch.frexp() only supports floating-point dtypes");
  }
  const DType compute = compute_type(self.dtype);
  return {elementwise(b, {self}, compute, self.dtype,
                      [](const std::vector<Expr>& e) { return frexp_of(e[0]).mantissa; }),
          elementwise(b, {self}, compute, DType::kInt32,
                      [](const std::vector<Expr>& e) { return frexp_of(e[0]).exponent; })};
}
OPERATOR(polygamma, "polygamma(int n, Tensor self) -> Tensor",
         "special_polygamma(int n, Tensor self) -> Tensor") {
  const std::int64_t order = arguments.integer("n");
  if (order < 0) throw InvalidProgram("polygamma(n, x) does not support negative n.");
  return floating(b, arguments, [&](Expr x) {
    if (order == 0) return unary(Op::kDigamma, x);
    return binary(Op::kPolygamma, like(x, order), x);
  });
}
OPERATOR(mvlgamma, "mvlgamma(Tensor self, int p) -> Tensor",
         "special_multigammaln(Tensor self, int p) -> Tensor") {
  const Tensor self = arguments.tensor("self");
  const std::int64_t p = arguments.integer("p");
  if (p < 1) throw InvalidProgram("p has to be greater than or equal to 1");
  const DType type = to_floating(self.dtype);
  // The shifted arguments and their log-gammas are tensors in PyTorch, and round to the type.
  const auto rounded = [&](Expr x) { return cast(compute_type(type), cast(type, x)); };
  return floating(b, arguments, [&](Expr x) {
    Expr total = like(x, 0.0);
    for (std::int64_t j = 0; j < p; ++j) {
      const double shift = 0.5 * static_cast<double>(j - p + 1);
      total = total + rounded(unary(Op::kLgamma, rounded(x + shift)));
    }
    const auto n = static_cast<double>(p);
    return rounded(total) + n * (n - 1) * std::log(std::numbers::pi) / 4.0;
  });
}
OPERATOR(psi, "special_psi(Tensor self) -> Tensor") {
  return floating(b, arguments, [](Expr x) { return unary(Op::kDigamma, x); });
}
OPERATOR(special_round, "special_round(Tensor self, *, int decimals=0) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (!is_floating(self.dtype)) return self;
  const std::int64_t decimals = arguments.integer("decimals");
  const double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  return floating(b, arguments, [&](Expr x) {
    if (decimals == 0) return unary(Op::kRound, x);
    return decimals > 0 ? unary(Op::kRound, x * scale) / like(x, scale)
                        : unary(Op::kRound, x / like(x, scale)) * scale;
  });
}

}  // namespace tendon::aten
