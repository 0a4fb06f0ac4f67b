// Bessel, Airy and related functions, in float64 whatever the type.
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "aten/bessel_series.h"
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// By Clenshaw's recurrence.
Expr chebyshev(Expr t, std::span<const double> coefficients) {
  Expr next = like(t, 0.0), after = next;
  const Expr twice = t * 2.0;
  for (std::size_t k = coefficients.size(); k-- > 1;) {
    const Expr current = twice * next - after + coefficients[k];
    after = next;
    next = current;
  }
  return t * next - after + coefficients[0];
}

Outputs wide(Builder& b, const Arguments& arguments, std::string_view name,
             const std::function<Expr(Expr)>& body) {
  const Tensor& x = arguments.tensor(name);
  return elementwise(b, {x}, DType::kFloat64, to_floating(x.dtype),
                     [&](const std::vector<Expr>& e) { return body(e[0]); });
}

Expr absolute(Expr x) { return unary(Op::kAbs, x); }
Expr root(Expr x) { return unary(Op::kSqrt, x); }
Expr exponential(Expr x) { return unary(Op::kExp, x); }

/// exp(-|x|) I0(x)
Expr i0e(Expr x) {
  const Expr z = absolute(x);
  return select(z <= 8, chebyshev(z * 0.25 - 1.0, kI0Small),
                chebyshev(16.0 / z - 1.0, kI0Large) / root(z));
}

/// exp(-|x|) I1(x)
Expr i1e(Expr x) {
  const Expr z = absolute(x);
  const Expr value = select(z <= 8, chebyshev(z * 0.25 - 1.0, kI1Small) * z,
                            chebyshev(16.0 / z - 1.0, kI1Large) / root(z));
  return select(x < 0, -value, value);
}

struct Hankel {
  Expr p, q, angle, amplitude;
};

/// For x >= 8; `order` 0 or 1.
Hankel hankel(Expr x, int order) {
  const Expr t = 128.0 / (x * x) - 1.0;
  const Expr p = order == 0 ? chebyshev(t, kP0) : chebyshev(t, kP1);
  const Expr q = order == 0 ? chebyshev(t, kQ0) : chebyshev(t, kQ1);
  return {p, q * 8.0 / x, x - (order == 0 ? kPi / 4 : 3 * kPi / 4), root((2 / kPi) / x)};
}

Expr first_kind_large(Expr x, int order) {
  const Hankel h = hankel(x, order);
  return h.amplitude * (h.p * unary(Op::kCos, h.angle) - h.q * unary(Op::kSin, h.angle));
}

Expr second_kind_large(Expr x, int order) {
  const Hankel h = hankel(x, order);
  return h.amplitude * (h.p * unary(Op::kSin, h.angle) + h.q * unary(Op::kCos, h.angle));
}

Expr small_argument(Expr z) { return z * z * (1.0 / 32) - 1.0; }

Expr j0(Expr x) {
  const Expr z = absolute(x);
  return select(z <= 8, chebyshev(small_argument(z), kJ0Small), first_kind_large(z, 0));
}

Expr j1(Expr x) {
  const Expr z = absolute(x);
  const Expr value =
      select(z <= 8, chebyshev(small_argument(z), kJ1Small) * z, first_kind_large(z, 1));
  return select(x < 0, -value, value);
}

/// Functions of x > 0: minus infinity (or `at_zero`) at 0, NaN below.
Expr of_positive(Expr x, Expr value, double at_zero) {
  return select(x < 0, like(x, kNan), select(x == 0, like(x, at_zero), value));
}

Expr y0(Expr x) {
  const Expr small =
      chebyshev(small_argument(x), kY0Small) + unary(Op::kLog, x) * (2 / kPi) * j0(x);
  return of_positive(x, select(x <= 8, small, second_kind_large(x, 0)), -kInfinity);
}

Expr y1(Expr x) {
  const Expr small = chebyshev(small_argument(x), kY1Small) * x +
                     (unary(Op::kLog, x) * j1(x) - 1.0 / x) * (2 / kPi);
  return of_positive(x, select(x <= 8, small, second_kind_large(x, 1)), -kInfinity);
}

/// exp(x) K(x)
Expr k0e(Expr x) {
  const Expr small =
      chebyshev(x * x * 0.5 - 1.0, kK0Small) - unary(Op::kLog, x * 0.5) * i0e(x) * exponential(x);
  return of_positive(
      x, select(x <= 2, small * exponential(x), chebyshev(4.0 / x - 1.0, kK0Large) / root(x)),
      kInfinity);
}

Expr k1e(Expr x) {
  const Expr small = chebyshev(x * x * 0.5 - 1.0, kK1Small) / x +
                     unary(Op::kLog, x * 0.5) * i1e(x) * exponential(x);
  return of_positive(
      x, select(x <= 2, small * exponential(x), chebyshev(4.0 / x - 1.0, kK1Large) / root(x)),
      kInfinity);
}

Expr airy(Expr x) {
  const Expr z = absolute(x);
  const Expr zeta = z * root(z) * (2.0 / 3);
  const Expr quarter = root(root(z));
  const Expr t = 8.0 / (zeta * zeta) - 1.0;
  const Expr angle = zeta + kPi / 4;
  const Expr falling = (unary(Op::kSin, angle) * chebyshev(t, kAiryF) -
                        unary(Op::kCos, angle) * chebyshev(t, kAiryG) / zeta) /
                       (quarter * std::sqrt(kPi));
  const Expr rising =
      exponential(-zeta) / quarter * chebyshev((2 / 0.5303300858899106) / zeta - 1.0, kAiryLarge);
  const Expr middle = chebyshev((x + 0.25) * (1 / 2.25), kAiryMiddle);
  return select(x < -2.5, falling, select(x <= 2, middle, rising));
}

}  // namespace

OPERATOR(i0e, "special_i0e(Tensor self) -> Tensor") { return wide(b, arguments, "self", i0e); }
OPERATOR(i1, "special_i1(Tensor self) -> Tensor",
         "special_modified_bessel_i1(Tensor self) -> Tensor") {
  return wide(b, arguments, "self", [](Expr x) { return i1e(x) * exponential(absolute(x)); });
}
OPERATOR(i1e, "special_i1e(Tensor self) -> Tensor") { return wide(b, arguments, "self", i1e); }
OPERATOR(modified_bessel_i0, "special_modified_bessel_i0(Tensor self) -> Tensor") {
  return wide(b, arguments, "self", [](Expr x) { return i0e(x) * exponential(absolute(x)); });
}
OPERATOR(bessel_j0, "special_bessel_j0(Tensor self) -> Tensor") {
  return wide(b, arguments, "self", j0);
}
OPERATOR(bessel_j1, "special_bessel_j1(Tensor self) -> Tensor") {
  return wide(b, arguments, "self", j1);
}
OPERATOR(bessel_y0, "special_bessel_y0(Tensor self) -> Tensor") {
  return wide(b, arguments, "self", y0);
}
OPERATOR(bessel_y1, "special_bessel_y1(Tensor self) -> Tensor") {
  return wide(b, arguments, "self", y1);
}
OPERATOR(modified_bessel_k0, "special_modified_bessel_k0(Tensor self) -> Tensor") {
  return wide(b, arguments, "self", [](Expr x) { return k0e(x) * exponential(-x); });
}
OPERATOR(modified_bessel_k1, "special_modified_bessel_k1(Tensor self) -> Tensor") {
  return wide(b, arguments, "self", [](Expr x) { return k1e(x) * exponential(-x); });
}
OPERATOR(scaled_modified_bessel_k0, "special_scaled_modified_bessel_k0(Tensor x) -> Tensor") {
  return wide(b, arguments, "x", k0e);
}
OPERATOR(scaled_modified_bessel_k1, "special_scaled_modified_bessel_k1(Tensor x) -> Tensor") {
  return wide(b, arguments, "x", k1e);
}
OPERATOR(airy_ai, "special_airy_ai(Tensor x) -> Tensor") { return wide(b, arguments, "x", airy); }
OPERATOR(spherical_bessel_j0, "special_spherical_bessel_j0(Tensor x) -> Tensor") {
  return wide(b, arguments, "x", [](Expr x) {
    const Expr square = x * x;
    const Expr series = 1.0 - square * (1.0 / 6) * (1.0 - square * (1.0 / 20));
    return select(absolute(x) < 0.01, series,
                  select(absolute(x) == kInfinity, like(x, 0.0), unary(Op::kSin, x) / x));
  });
}

}  // namespace tendon::aten
