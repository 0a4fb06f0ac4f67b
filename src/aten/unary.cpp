// Functions of one element.
#include <cmath>
#include <numbers>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// Floating result; integers become float32.
Outputs floating(Builder& b, const Arguments& arguments, Op op) {
  const Tensor self = arguments.tensor("self");
  return elementwise_floating(b, std::span(&self, 1),
                              [op](const std::vector<Expr>& e) { return unary(op, e[0]); });
}

Outputs floating(Builder& b, const Arguments& arguments, const std::function<Expr(Expr)>& body) {
  const Tensor self = arguments.tensor("self");
  return elementwise_floating(b, std::span(&self, 1),
                              [&](const std::vector<Expr>& e) { return body(e[0]); });
}

/// The same type as the argument.
Outputs same(Builder& b, const Arguments& arguments, const std::function<Expr(Expr)>& body) {
  const Tensor& self = arguments.tensor("self");
  return elementwise(b, {self}, compute_type(self.dtype), self.dtype,
                     [&](const std::vector<Expr>& e) { return body(e[0]); });
}

/// Integers stay as they are; floats are rounded.
Outputs rounding(Builder& b, const Arguments& arguments, Op op) {
  const Tensor& self = arguments.tensor("self");
  if (!is_floating(self.dtype)) return self;
  return same(b, arguments, [op](Expr x) { return unary(op, x); });
}

}  // namespace

OPERATOR(exp, "exp(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (self.complex()) {
    const Tensor re = real_part(b, self), im = imaginary_part(b, self);
    const auto side = [&](Op op) {
      return elementwise(b, {re, im}, re.dtype, re.dtype, [op](const std::vector<Expr>& e) {
        return unary(Op::kExp, e[0]) * unary(op, e[1]);
      });
    };
    return make_complex(b, side(Op::kCos), side(Op::kSin));
  }
  return floating(b, arguments, Op::kExp);
}
OPERATOR(exp2, "exp2(Tensor self) -> Tensor", "special_exp2(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kExp2);
}
OPERATOR(expm1, "expm1(Tensor self) -> Tensor", "special_expm1(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kExpm1);
}
OPERATOR(log, "log(Tensor self) -> Tensor") { return floating(b, arguments, Op::kLog); }
OPERATOR(log2, "log2(Tensor self) -> Tensor") { return floating(b, arguments, Op::kLog2); }
OPERATOR(log10, "log10(Tensor self) -> Tensor") { return floating(b, arguments, Op::kLog10); }
OPERATOR(log1p, "log1p(Tensor self) -> Tensor", "special_log1p(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kLog1p);
}
OPERATOR(sqrt, "sqrt(Tensor self) -> Tensor") { return floating(b, arguments, Op::kSqrt); }
OPERATOR(rsqrt, "rsqrt(Tensor self) -> Tensor") { return floating(b, arguments, Op::kRsqrt); }
OPERATOR(reciprocal, "reciprocal(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kReciprocal);
}
OPERATOR(sin, "sin(Tensor self) -> Tensor") { return floating(b, arguments, Op::kSin); }
OPERATOR(cos, "cos(Tensor self) -> Tensor") { return floating(b, arguments, Op::kCos); }
OPERATOR(tan, "tan(Tensor self) -> Tensor") { return floating(b, arguments, Op::kTan); }
OPERATOR(asin, "asin(Tensor self) -> Tensor", "arcsin(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kAsin);
}
OPERATOR(acos, "acos(Tensor self) -> Tensor", "arccos(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kAcos);
}
OPERATOR(atan, "atan(Tensor self) -> Tensor", "arctan(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kAtan);
}
OPERATOR(sinh, "sinh(Tensor self) -> Tensor") { return floating(b, arguments, Op::kSinh); }
OPERATOR(cosh, "cosh(Tensor self) -> Tensor") { return floating(b, arguments, Op::kCosh); }
OPERATOR(tanh, "tanh(Tensor self) -> Tensor") { return floating(b, arguments, Op::kTanh); }
OPERATOR(asinh, "asinh(Tensor self) -> Tensor", "arcsinh(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kAsinh);
}
OPERATOR(acosh, "acosh(Tensor self) -> Tensor", "arccosh(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kAcosh);
}
OPERATOR(atanh, "atanh(Tensor self) -> Tensor", "arctanh(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kAtanh);
}
OPERATOR(erf, "erf(Tensor self) -> Tensor", "special_erf(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kErf);
}
OPERATOR(erfc, "erfc(Tensor self) -> Tensor", "special_erfc(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kErfc);
}
OPERATOR(erfinv, "erfinv(Tensor self) -> Tensor", "special_erfinv(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kErfinv);
}
OPERATOR(lgamma, "lgamma(Tensor self) -> Tensor", "special_gammaln(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kLgamma);
}
OPERATOR(digamma, "digamma(Tensor self) -> Tensor", "special_digamma(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kDigamma);
}
OPERATOR(i0, "i0(Tensor self) -> Tensor", "special_i0(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kBesselI0);
}
OPERATOR(sigmoid, "sigmoid(Tensor self) -> Tensor", "special_expit(Tensor self) -> Tensor") {
  return floating(b, arguments, Op::kSigmoid);
}
OPERATOR(deg2rad, "deg2rad(Tensor self) -> Tensor") {
  return floating(b, arguments, [](Expr x) { return x * (std::numbers::pi / 180); });
}
OPERATOR(rad2deg, "rad2deg(Tensor self) -> Tensor") {
  return floating(b, arguments, [](Expr x) { return x * (180 / std::numbers::pi); });
}
OPERATOR(sinc, "sinc(Tensor self) -> Tensor", "special_sinc(Tensor self) -> Tensor") {
  return floating(b, arguments, [](Expr x) {
    const Expr product = x * std::numbers::pi;
    return select(x == 0, like(x, 1.0), unary(Op::kSin, product) / product);
  });
}
OPERATOR(logit, "logit(Tensor self, float? eps=None) -> Tensor",
         "special_logit(Tensor self, float? eps=None) -> Tensor") {
  const auto eps = arguments.optional_real("eps");
  return floating(b, arguments, [&](Expr x) {
    if (eps) {
      // The lower bound comes first: an eps beyond 1/2 crosses the bounds.
      const Expr lower = like(x, *eps), upper = like(x, 1 - *eps);
      x = select(x < lower, lower, select(x > upper, upper, x));
    }
    return unary(Op::kLog, x / (1.0 - x));
  });
}

OPERATOR(floor, "floor(Tensor self) -> Tensor") { return rounding(b, arguments, Op::kFloor); }
OPERATOR(ceil, "ceil(Tensor self) -> Tensor") { return rounding(b, arguments, Op::kCeil); }
OPERATOR(trunc, "trunc(Tensor self) -> Tensor", "fix(Tensor self) -> Tensor") {
  return rounding(b, arguments, Op::kTrunc);
}
OPERATOR(round, "round(Tensor self) -> Tensor") { return rounding(b, arguments, Op::kRound); }
OPERATOR(round_decimals, "round.decimals(Tensor self, *, int decimals) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const std::int64_t decimals = arguments.integer("decimals");
  if (!is_floating(self.dtype)) return self;
  const double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  return same(b, arguments, [&](Expr x) {
    if (decimals == 0) return unary(Op::kRound, x);
    return decimals > 0 ? unary(Op::kRound, x * scale) / like(x, scale)
                        : unary(Op::kRound, x / like(x, scale)) * scale;
  });
}
OPERATOR(frac, "frac(Tensor self) -> Tensor") {
  return same(b, arguments, [](Expr x) { return x - unary(Op::kTrunc, x); });
}
OPERATOR(neg, "neg(Tensor self) -> Tensor", "negative(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (self.complex()) {
    const auto negated = [&](const Tensor& t) {
      return elementwise(b, {t}, t.dtype, t.dtype,
                         [](const std::vector<Expr>& e) { return -e[0]; });
    };
    return make_complex(b, negated(real_part(b, self)), negated(imaginary_part(b, self)));
  }
  return same(b, arguments, [](Expr x) { return -x; });
}
OPERATOR(abs, "abs(Tensor self) -> Tensor", "absolute(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (self.complex()) {
    return elementwise(b, {real_part(b, self), imaginary_part(b, self)}, self.component(),
                       self.component(),
                       [](const std::vector<Expr>& e) { return binary(Op::kHypot, e[0], e[1]); });
  }
  if (self.dtype == DType::kBool || is_unsigned(self.dtype)) return self;
  return same(b, arguments, [](Expr x) { return unary(Op::kAbs, x); });
}
OPERATOR(sign, "sign(Tensor self) -> Tensor", "sgn(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (self.dtype == DType::kBool) return self;
  return same(b, arguments, [](Expr x) { return unary(Op::kSign, x); });
}
OPERATOR(square, "square(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const DType result = self.dtype == DType::kBool ? DType::kInt64 : self.dtype;
  return elementwise(b, {self}, compute_type(result), result,
                     [](const std::vector<Expr>& e) { return e[0] * e[0]; });
}
OPERATOR(isnan, "isnan(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (!is_floating(self.dtype)) return full(b, self.shape, Scalar(false), DType::kBool);
  return elementwise(b, {self}, compute_type(self.dtype), DType::kBool,
                     [](const std::vector<Expr>& e) { return unary(Op::kIsNan, e[0]); });
}

}  // namespace tendon::aten
