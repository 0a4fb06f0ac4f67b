// Functions beyond <cmath>, with PyTorch's values at the edges of their domains. Formulas are cited
// as DLMF (dlmf.nist.gov) by number. Accurate to a few units in the last place of a double, except
// close to zeros of the function.
#pragma once

namespace tendon::ir {

/// Inverse of erf: infinite at -1 and 1, NaN beyond.
double erfinv(double x);
/// log |gamma(x)|; safe with threads, unlike std::lgamma.
double lgamma(double x);
/// Derivative of lgamma: infinite at 0 (of the sign opposite to the zero's), NaN at negative
/// integers.
double digamma(double x);
/// Modified Bessel function of the first kind, order 0.
double bessel_i0(double x);
/// Regularised incomplete gamma functions, lower and upper: P(a, x) and Q(a, x) = 1 - P(a, x).
double igamma(double a, double x);
double igammac(double a, double x);
/// Hurwitz's zeta: the sum over k >= 0 of (k + q)^-s. Infinite at s = 1 and where q is 0, -1, ...;
/// NaN for s < 1, and for q < 0 unless s is an integer.
double zeta(double s, double q);
/// Derivative number `order` (0, 1, ...) of digamma.
double polygamma(double order, double x);

}  // namespace tendon::ir
