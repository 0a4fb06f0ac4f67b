// The normal distribution's functions, entropy and their relatives, in float64 whatever the type.
#include <cmath>
#include <limits>
#include <numbers>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kHalfRoot = std::numbers::sqrt2 / 2;

Outputs wide(Builder& b, const Arguments& arguments, const std::function<Expr(Expr)>& body) {
  const Tensor& x = arguments.tensor("self");
  return elementwise(b, {x}, DType::kFloat64, to_floating(x.dtype),
                     [&](const std::vector<Expr>& e) { return body(e[0]); });
}

/// exp(x^2) erfc(x)
Expr erfcx(Expr x) {
  const Expr z = unary(Op::kAbs, x);
  const Expr inverse = 1.0 / (z * z);
  const Expr large = (1.0 - inverse * 0.5 * (1.0 - inverse * 1.5 * (1.0 - inverse * 2.5))) /
                     (z * std::sqrt(std::numbers::pi));
  const Expr square = unary(Op::kExp, z * z);
  const Expr positive = select(z < 25, square * unary(Op::kErfc, z), large);
  return select(x < 0, square * 2.0 - positive, positive);
}

Expr ndtr(Expr x) { return unary(Op::kErfc, x * -kHalfRoot) * 0.5; }

Expr log_ndtr(Expr x) {
  const Expr t = x * kHalfRoot;
  return select(x < -1, unary(Op::kLog, erfcx(-t) * 0.5) - t * t,
                unary(Op::kLog1p, unary(Op::kErfc, t) * -0.5));
}

/// The quantile of p <= 1/2: a first guess, then Newton's steps on the logarithm, which is nearly a
/// parabola.
Expr lower_quantile(Expr p) {
  const Expr logarithm = unary(Op::kLog, p);
  const Expr w = unary(Op::kSqrt, logarithm * -2.0);
  const Expr tail = -(w - (unary(Op::kLog, w) + std::log(std::sqrt(2 * std::numbers::pi))) / w);
  const Expr centre = unary(Op::kErfinv, p * 2.0 - 1.0) * std::numbers::sqrt2;
  Expr x = select(p < 0.02, tail, centre);
  for (int i = 0; i < 4; ++i) {
    const Expr value = log_ndtr(x);
    // The slope of log_ndtr: density over distribution.
    const Expr slope =
        unary(Op::kExp, x * x * -0.5 - value) * (1 / std::sqrt(2 * std::numbers::pi));
    x = x - (value - logarithm) / slope;
  }
  return x;
}

Expr ndtri(Expr p) {
  const Expr lower = minimum(p, 1.0 - p);
  const Expr quantile = lower_quantile(lower);
  const Expr value = select(p <= 0.5, quantile, -quantile);
  return select(p == 0, like(p, -kInfinity),
                select(p == 1, like(p, kInfinity), select(p < 0 || p > 1, like(p, kNan), value)));
}

}  // namespace

OPERATOR(entr, "special_entr(Tensor self) -> Tensor") {
  return wide(b, arguments, [](Expr x) {
    const Expr value =
        select(x == 0, like(x, 0.0), select(x > 0, -x * unary(Op::kLog, x), like(x, -kInfinity)));
    return select(unary(Op::kIsNan, x), x, value);
  });
}
OPERATOR(erfcx, "special_erfcx(Tensor self) -> Tensor") { return wide(b, arguments, erfcx); }
OPERATOR(ndtr, "special_ndtr(Tensor self) -> Tensor") { return wide(b, arguments, ndtr); }
OPERATOR(log_ndtr, "special_log_ndtr(Tensor self) -> Tensor") {
  return wide(b, arguments, log_ndtr);
}
OPERATOR(ndtri, "special_ndtri(Tensor self) -> Tensor") { return wide(b, arguments, ndtri); }

}  // namespace tendon::aten
