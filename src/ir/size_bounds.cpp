// Bounds of polynomials. Interval arithmetic forgets that an atom appears more than once (s*s - s
// might be anything); two rewritings remember it.
#include <algorithm>
#include <utility>

#include "ir/size_polynomial.h"

namespace tendon::ir {

namespace {

// Larger polynomials are left to interval arithmetic.
constexpr std::size_t kMaxTerms = 24;
constexpr std::size_t kMaxFactors = 8;

bool same(const AtomRef& a, const AtomRef& b) {
  return a == b || (a->hash == b->hash && compare(*a, *b) == 0);
}

Bounds interval_bounds(const Size& size) {
  const std::int64_t constant = SizePolynomial::constant_part(size);
  Bounds sum{constant, constant};
  for (const SizeTerm& term : terms_of(size)) {
    Bounds product{1, 1};
    for (std::size_t i = 0; i < term.factors.size();) {
      // Powers of one atom together: a square is never negative.
      std::size_t end = i + 1;
      while (end < term.factors.size() && same(term.factors[end], term.factors[i])) ++end;
      Bounds power = term.factors[i]->bounds;
      for (std::size_t k = i + 1; k < end; ++k) {
        power = multiply_bounds(power, term.factors[i]->bounds);
      }
      if ((end - i) % 2 == 0) power.lower = std::max<std::int64_t>(power.lower, 0);
      product = multiply_bounds(product, power);
      i = end;
    }
    sum = add_bounds(sum, scale_bounds(product, term.coefficient));
  }
  return sum;
}

/// Whether an atom, or what it is a function of, appears in more than one term.
bool repeats_atoms(std::span<const SizeTerm> terms) {
  std::vector<const SizeAtom*> seen;
  for (const SizeTerm& term : terms) {
    for (std::size_t i = 0; i < term.factors.size(); ++i) {
      if (i > 0 && same(term.factors[i - 1], term.factors[i])) continue;
      if (term.factors[i]->symbol == nullptr) return true;
      for (const SizeAtom* other : seen) {
        if (other->symbol == term.factors[i]->symbol) return true;
      }
    }
    for (const AtomRef& factor : term.factors) seen.push_back(factor.get());
  }
  return false;
}

/// The same polynomial with every atom written as its lower bound plus something >= 0: common parts
/// cancel, and then the signs of coefficients tell. s*s - s with s >= 3 is 6 + 5*t + t*t.
std::optional<Size> shifted(const Size& size) {
  std::vector<std::pair<AtomRef, Size>> replacements;
  const auto replacement = [&](const AtomRef& atom) -> std::optional<Size> {
    for (const auto& [known, value] : replacements) {
      if (same(known, atom)) return value;
    }
    const Bounds bounds = atom->bounds;
    if (bounds.lower == -kUnbounded) return std::nullopt;
    auto symbol = std::make_shared<Symbol>();
    symbol->name = "t" + std::to_string(replacements.size());
    if (bounds.upper != kUnbounded &&
        !__builtin_sub_overflow(bounds.upper, bounds.lower, &symbol->upper)) {
      symbol->upper = std::max<std::int64_t>(symbol->upper, 0);
    } else {
      symbol->upper = kUnbounded;
    }
    replacements.emplace_back(atom, Size::symbol(std::move(symbol)) + Size(bounds.lower));
    return replacements.back().second;
  };
  Size sum(SizePolynomial::constant_part(size));
  for (const SizeTerm& term : terms_of(size)) {
    if (term.factors.size() > kMaxFactors) return std::nullopt;
    Size product(term.coefficient);
    for (const AtomRef& factor : term.factors) {
      const auto value = replacement(factor);
      if (!value) return std::nullopt;
      product = product * *value;
    }
    sum = sum + product;
    if (SizePolynomial::is_overflow(sum)) return std::nullopt;
  }
  return sum;
}

/// A bound without q * d * (x // d): at most q * x and at least q * (x - d + 1), for q >= 0.
std::optional<Size> without_divisions(const Size& size, bool upper) {
  Size result(SizePolynomial::constant_part(size));
  bool changed = false;
  for (const SizeTerm& term : terms_of(size)) {
    Size part = SizePolynomial::collect({term}, 0);
    for (std::size_t i = 0; i < term.factors.size(); ++i) {
      const SizeAtom& atom = *term.factors[i];
      if (atom.symbol != nullptr || atom.overflow || atom.function != SizeFunction::kFloorDiv) {
        continue;
      }
      const Size& dividend = atom.arguments[0];
      const Size& divisor = atom.arguments[1];
      if (interval_bounds(divisor).lower < 1) continue;
      SizeTerm others = term;
      others.factors.erase(others.factors.begin() + static_cast<std::ptrdiff_t>(i));
      const Size scale =
          others.factors.empty() ? Size(others.coefficient) : SizePolynomial::collect({others}, 0);
      const auto quotient = divide_exactly(scale, divisor);
      if (!quotient) continue;
      const Bounds sign = interval_bounds(*quotient);
      if (sign.lower < 0 && sign.upper > 0) continue;
      const bool from_above = upper == (sign.lower >= 0);
      part = *quotient * (from_above ? dividend : dividend - divisor + Size(1));
      changed = true;
      break;
    }
    result = result + part;
  }
  if (!changed || SizePolynomial::is_overflow(result)) return std::nullopt;
  return result;
}

/// Every value lies in both.
Bounds intersect(const Bounds& a, const Bounds& b) {
  return {std::max(a.lower, b.lower), std::min(a.upper, b.upper)};
}

/// A constant that a floor division divides by, where that would let it be dropped; else 1.
std::int64_t constant_divisor(const Size& size) {
  for (const SizeTerm& term : terms_of(size)) {
    for (const AtomRef& factor : term.factors) {
      if (factor->symbol != nullptr || factor->overflow ||
          factor->function != SizeFunction::kFloorDiv) {
        continue;
      }
      const auto divisor = factor->arguments[1].as_constant();
      if (divisor && *divisor > 1 && term.coefficient % *divisor != 0) return *divisor;
    }
  }
  return 1;
}

Bounds refined_bounds(const Size& size, int depth) {
  Bounds bounds = interval_bounds(size);
  const auto terms = terms_of(size);
  if (terms.size() < 2 || terms.size() > kMaxTerms || !repeats_atoms(terms)) return bounds;
  if (const auto other = shifted(size)) bounds = intersect(bounds, interval_bounds(*other));
  if (depth == 0) return bounds;
  if (const auto above = without_divisions(size, true)) {
    bounds.upper = std::min(bounds.upper, refined_bounds(*above, depth - 1).upper);
  }
  if (const auto below = without_divisions(size, false)) {
    bounds.lower = std::max(bounds.lower, refined_bounds(*below, depth - 1).lower);
  }
  if (const std::int64_t divisor = constant_divisor(size); divisor > 1) {
    const Size scaled = size * Size(divisor);
    if (SizePolynomial::is_overflow(scaled)) return bounds;
    const Bounds wide = refined_bounds(scaled, depth - 1);
    if (wide.lower != -kUnbounded) {
      bounds.lower = std::max(bounds.lower, -floor_quotient(-wide.lower, divisor));
    }
    if (wide.upper != kUnbounded) {
      bounds.upper = std::min(bounds.upper, floor_quotient(wide.upper, divisor));
    }
  }
  return bounds;
}

}  // namespace

Bounds Size::bounds() const {
  if (is_constant()) return {value_, value_};
  return refined_bounds(*this, 3);
}

}  // namespace tendon::ir
