#include "ir/special_functions.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace tendon::ir {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// Bernoulli numbers B(2k) for k = 1, 2, ... (DLMF 24.2).
constexpr double kBernoulli[] = {
    1.0 / 6,       -1.0 / 30,           1.0 / 42,       -1.0 / 30,
    5.0 / 66,      -691.0 / 2730,       7.0 / 6,        -3617.0 / 510,
    43867.0 / 798, -174611.0 / 330,     854513.0 / 138, -236364091.0 / 2730,
    8553103.0 / 6, -23749461029.0 / 870};

bool is_whole(double x) { return x == std::floor(x); }

}  // namespace

double erfinv(double x) {
  if (!(x >= -1 && x <= 1)) return kNaN;
  if (x == -1 || x == 1) return std::copysign(kInfinity, x);
  if (x == 0) return x;
  const double p = std::fabs(x);
  // A first value from an elementary approximation (S. Winitzki, "A handy approximation for the
  // error function and its inverse", 2008), good to 2e-3 everywhere.
  constexpr double kA = 0.147;
  const double logarithm = std::log1p(-p) + std::log1p(p);
  const double half = 2 / (std::numbers::pi * kA) + logarithm / 2;
  double y = std::sqrt(std::sqrt(half * half - logarithm / kA) - half);
  // Halley's steps on erf(y) = p, or on erfc(y) = 1 - p, whichever is small; each triples the
  // digits. For f' = 2/sqrt(pi) exp(-y^2), f''/f' is -2y.
  for (int step = 0; step < 3; ++step) {
    const double error = p < 0.5 ? std::erf(y) - p : (1 - p) - std::erfc(y);
    const double slope = 2 * std::numbers::inv_sqrtpi * std::exp(-y * y);
    const double newton = error / slope;
    y -= newton / (1 + y * newton);
  }
  return std::copysign(y, x);
}

double lgamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x == -kInfinity) return kNaN;
  double result = 0;
  if (x < 0) {
    if (is_whole(x)) return kNaN;
    // Reflection, DLMF 5.5.4; the tangent has period 1.
    result = -std::numbers::pi / std::tan(std::numbers::pi * (x - std::round(x)));
    x = 1 - x;
  }
  // Recurrence, DLMF 5.5.2, up to where the asymptotic series, DLMF 5.11.2, has full precision. The
  // sum is small beside its parts, hence the wider type.
  long double sum = result;
  long double y = x;
  for (; y < 16; y += 1) sum -= 1 / y;
  long double series = 0;
  const long double inverse = 1 / (y * y);
  for (int k = 8; k >= 1; --k) series = (series + kBernoulli[k - 1] / (2 * k)) * inverse;
  return static_cast<double>(sum + (std::log(y) - 0.5L / y - series));
}

double bessel_i0(double x) {
  x = std::fabs(x);
  if (x < 40) {
    // DLMF 10.25.2: all terms are positive.
    const long double quarter = static_cast<long double>(x) * x / 4;
    long double term = 1;
    long double sum = 1;
    for (int k = 1; term > sum * (kEpsilon / 8); ++k) {
      term *= quarter / (static_cast<long double>(k) * k);
      sum += term;
    }
    return static_cast<double>(sum);
  }
  if (!std::isfinite(x)) return x;
  // DLMF 10.40.1: term k is that before times (2k - 1)^2 / (8 k x).
  double term = 1;
  double sum = 1;
  for (int k = 1; k < 40 && term > kEpsilon / 4; ++k) {
    term *= (2.0 * k - 1) * (2.0 * k - 1) / (8 * k * x);
    sum += term;
  }
  // exp(x) would overflow before the result does.
  const double root = std::exp(x / 2);
  return root * (sum / std::sqrt(2 * std::numbers::pi * x)) * root;
}

namespace {

/// log(x / a) - (x - a) / a, without cancellation.
long double log_ratio_minus(long double x, long double a) {
  const long double excess = (x - a) / a;
  if (std::fabs(excess) > 0.3L) return std::log(x / a) - excess;
  // log(1 + e) = 2 atanh(r), r = e / (2 + e); 2r - e = -r e.
  const long double r = excess / (2 + excess);
  const long double square = r * r;
  long double power = r * square;
  long double sum = 0;
  for (int k = 3; k < 80; k += 2) {
    sum += power / k;
    power *= square;
    if (std::fabs(power) < 1e-21L * std::fabs(sum)) break;
  }
  return 2 * sum - r * excess;
}

/// x^a e^-x / gamma(a + 1). Exponents of hundreds need more digits than a double has.
double gamma_density(double a, double x) {
  if (a < 20) {
    const long double exponent = a * std::log(static_cast<long double>(x)) - x;
    return static_cast<double>(std::exp(exponent) / std::tgamma(static_cast<long double>(a) + 1));
  }
  // With Stirling's series for gamma, DLMF 5.11.1, nothing large cancels.
  long double stirling = 0;
  const double inverse = 1 / (a * a);
  for (int k = 8; k >= 1; --k) {
    stirling = stirling * inverse + kBernoulli[k - 1] / (2.0 * k * (2.0 * k - 1));
  }
  const long double exponent = a * log_ratio_minus(x, a) - stirling / a;
  return static_cast<double>(std::exp(exponent) /
                             std::sqrt(2 * std::numbers::pi_v<long double> * a));
}

/// P by DLMF 8.11.4, for x not much larger than a.
double lower_series(double a, double x) {
  long double term = 1;
  long double sum = 1;
  for (long double n = a + 1; term > sum * (kEpsilon / 16); n += 1) {
    term *= x / n;
    sum += term;
  }
  return static_cast<double>(gamma_density(a, x) * sum);
}

/// Q for small a and x, where 1 - P cancels: 1 - x^a / gamma(a + 1) is found from what both differ
/// from 1 by, and the rest of the series (DLMF 8.7.1) added.
double upper_series(double a, double x) {
  double term = 1;
  double sum = 0;
  for (int n = 1; n < 200; ++n) {
    term *= -x / n;
    const double next = term / (a + n);
    sum += next;
    if (std::fabs(next) <= kEpsilon / 4 * std::fabs(sum)) break;
  }
  // For small a, a + 1 would round the digits away.
  int sign = 0;
  const long double logarithm = a * std::log(static_cast<long double>(x)) -
                                ::lgammal_r(static_cast<long double>(a) + 1, &sign);
  return static_cast<double>(-std::expm1(logarithm) - a * std::exp(logarithm) * sum);
}

/// Q by the continued fraction DLMF 8.9.2 in its contracted form, evaluated forwards (Lentz's
/// method), for x larger than a.
double upper_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a;
  double c = 1 / kTiny;
  double d = 1 / b;
  double fraction = d;
  for (int n = 1; n < 100'000; ++n) {
    const double numerator = -n * (n - a);
    b += 2;
    d = numerator * d + b;
    if (std::fabs(d) < kTiny) d = kTiny;
    c = b + numerator / c;
    if (std::fabs(c) < kTiny) c = kTiny;
    d = 1 / d;
    const double factor = d * c;
    fraction *= factor;
    if (std::fabs(factor - 1) < kEpsilon) break;
  }
  return a * gamma_density(a, x) * fraction;
}

}  // namespace

double igamma(double a, double x) {
  if (!(a >= 0 && x >= 0)) return kNaN;
  if (a == 0) return x > 0 ? 1 : kNaN;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNaN : 0;
  if (std::isinf(x)) return 1;
  return x <= 1 || x <= a ? lower_series(a, x) : 1 - igammac(a, x);
}

double igammac(double a, double x) {
  if (!(a >= 0 && x >= 0)) return kNaN;
  if (a == 0) return x > 0 ? 0 : kNaN;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNaN : 1;
  if (std::isinf(x)) return 0;
  if (x > 1.1 && x > a) return upper_fraction(a, x);
  return a < 1 && x <= 1.1 ? upper_series(a, x) : 1 - lower_series(a, x);
}

namespace {

/// For s > 1 and q > 0.
double positive_zeta(double s, double q) {
  if (q == kInfinity) return 0;
  // Euler and Maclaurin, DLMF 2.10.1: terms one by one up to `start`, then an integral and its
  // corrections.
  double sum = 0;
  double start = q;
  while (start < 12 + s) {
    const double term = std::pow(start, -s);
    sum += term;
    start += 1;
    // Also where both have underflowed to 0.
    if (start > 1 && term <= sum * kEpsilon / 16) return sum;
  }
  const double power = std::pow(start, -s);
  sum += start * power / (s - 1) + power / 2;
  double factor = s * power / start;  // s (s+1) ... (s+2k-2) start^(-s-2k+1) / (2k)!, but for 2
  double factorial = 2;
  for (int k = 1; k <= 14; ++k) {
    const double term = kBernoulli[k - 1] * factor / factorial;
    sum += term;
    if (std::fabs(term) < sum * kEpsilon / 4) break;
    factor *= (s + 2 * k - 1) * (s + 2 * k) / (start * start);
    factorial *= (2.0 * k + 1) * (2.0 * k + 2);
  }
  return sum;
}

}  // namespace

double zeta(double s, double q) {
  if (s == 1) return kInfinity;
  if (!(s > 1) || std::isnan(q)) return kNaN;
  if (s == kInfinity) return q > 1 ? 0 : q == 1 ? 1 : q > 0 ? kInfinity : kNaN;
  if (q > 0) return positive_zeta(s, q);
  if (is_whole(q)) return kInfinity;
  if (!is_whole(s)) return kNaN;
  // The terms below zero are those of u, u + 1, ..., -q with the sign of (-1)^s.
  const double u = -q - std::floor(-q);
  const double below = positive_zeta(s, u) - positive_zeta(s, 1 - q);
  return (std::fmod(s, 2) == 0 ? below : -below) + positive_zeta(s, 1 - u);
}

double polygamma(double order, double x) {
  if (order == 0) return digamma(x);
  if (!(order > 0)) return kNaN;
  if (order == 1 && x < 0.5) {
    // Reflection, DLMF 5.15.6, for where zeta's own terms would alternate around poles.
    const double sine = std::sin(std::numbers::pi * (x - std::round(x)));
    const double reflected = std::numbers::pi / sine;
    return reflected * reflected - zeta(2, 1 - x);
  }
  // DLMF 25.11.12.
  const double sign = std::fmod(order, 2) != 0 ? 1 : -1;
  return sign * std::exp(lgamma(order + 1)) * zeta(order + 1, x);
}

}  // namespace tendon::ir
