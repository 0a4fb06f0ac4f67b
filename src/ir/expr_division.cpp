// Floor division and remainder of affine int64 expressions by sizes.
//
// Composing views makes positions like (4*i0 + i1) // 4 and (4*i0 + i1) % 4; these rules take the
// divisions away wherever the ranges of the indices prove what the quotient is. What cannot be
// taken away gets a normal form, (x // a) % b with x free of common factors, in which the parts of
// a position meet again: 4 * (x // 4) + x % 4 is x.
//
// A size that divides is taken to be positive: where it is 0, no element exists.
#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "ir/expr_rules.h"
#include "ir/size_polynomial.h"

namespace tendon::ir {

using Affine = ExprPool::Affine;
using AffineTerm = ExprPool::AffineTerm;

namespace {

struct SizeSplit {
  Size quotient, rest;
};

/// size == divisor * quotient + rest, with what is plainly a multiple of the divisor in quotient.
SizeSplit split(const Size& size, const Size& divisor) {
  if (auto exact = divide_exactly(size, divisor)) return {std::move(*exact), Size(0)};
  if (size.is_constant()) return {Size(0), size};
  // Long division; the order of terms is graded, so that every step makes less of what is left.
  constexpr int kMaxSteps = 64;
  SizeSplit result{Size(0), Size(SizePolynomial::constant_part(size))};
  Size left = SizePolynomial::without_constant(size);
  const Size lead =
      divisor.is_constant() ? divisor : SizePolynomial::collect({terms_of(divisor).front()}, 0);
  for (int step = 0; step < kMaxSteps && !left.is_constant(); ++step) {
    if (SizePolynomial::is_overflow(left)) return {Size(0), size};
    const Size top = SizePolynomial::collect({terms_of(left).front()}, 0);
    const auto exact = divide_exactly(top, lead);
    const Size part = exact ? *exact * divisor : top;
    if (exact) {
      result.quotient = result.quotient + *exact;
    } else {
      result.rest = result.rest + top;
    }
    left = left - part;
  }
  result.rest = result.rest + left;
  if (SizePolynomial::is_overflow(result.rest)) return {Size(0), size};
  return result;
}

struct AffineSplit {
  Affine quotient, rest;
};

/// a == divisor * quotient + rest. With `reduce`, numbers in rest that are larger than a constant
/// divisor are reduced too.
AffineSplit split(const Affine& a, const Size& divisor, bool reduce) {
  AffineSplit result;
  const bool by_number = reduce && divisor.is_constant();
  const auto reduced = [&](const Size& size, bool floor) {
    SizeSplit parts = split(size, divisor);
    if (!by_number) return parts;
    const std::int64_t number = SizePolynomial::constant_part(parts.rest);
    const std::int64_t k = divisor.constant();
    const std::int64_t quotient = floor ? floor_quotient(number, k) : number / k;
    parts.quotient = parts.quotient + Size(quotient);
    parts.rest = parts.rest - Size(quotient * k);
    return parts;
  };
  SizeSplit constant = reduced(a.constant, true);
  result.quotient.constant = std::move(constant.quotient);
  result.rest.constant = std::move(constant.rest);
  for (const AffineTerm& term : a.terms) {
    SizeSplit parts = reduced(term.coefficient, false);
    if (!(parts.quotient == Size(0))) {
      result.quotient.terms.push_back({term.term, std::move(parts.quotient)});
    }
    if (!(parts.rest == Size(0))) result.rest.terms.push_back({term.term, std::move(parts.rest)});
  }
  return result;
}

bool fits(const ExprPool& pool, const Affine& a) {
  return !overflowed(a) && ExprFacts(pool).range(a).has_value();
}

bool lies_in(const ExprPool& pool, const Affine& a, const Size& lower, const Size& upper) {
  return ExprFacts(pool).is_at_least(a, lower) && ExprFacts(pool).is_less(a, upper);
}

/// The quotient by `divisor`, if the ranges prove that it is one number.
std::optional<std::int64_t> known_quotient(const ExprPool& pool, const Affine& a,
                                           const Size& divisor) {
  if (a.terms.empty() && a.constant == Size(0)) return 0;
  if (divisor.is_constant()) {
    const auto range = ExprFacts(pool).range(a);
    if (range && range->is_finite()) {
      const auto lower =
          floor_quotient(static_cast<std::int64_t>(range->lower), divisor.constant());
      const auto upper =
          floor_quotient(static_cast<std::int64_t>(range->upper), divisor.constant());
      if (lower == upper) return lower;
    }
  }
  if (lies_in(pool, a, Size(0), divisor)) return 0;
  if (divisor.is_constant() && a.constant.is_constant()) return std::nullopt;
  if (lies_in(pool, a, Size(0) - divisor, Size(0))) return -1;
  if (lies_in(pool, a, divisor, divisor + divisor)) return 1;
  return std::nullopt;
}

/// What is left of `a` when a quotient of that value is taken away.
Affine reduced_by(const Affine& a, const Size& divisor, std::int64_t quotient) {
  Affine result = a;
  result.constant = result.constant - divisor * Size(quotient);
  return result;
}

SizeTerm common(const SizeTerm& a, const SizeTerm& b) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const bool large = a.coefficient == kLeast || b.coefficient == kLeast;
  SizeTerm result{large ? 1 : std::gcd(a.coefficient, b.coefficient), {}};
  std::set_intersection(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(),
                        std::back_inserter(result.factors),
                        [](const AtomRef& x, const AtomRef& y) { return compare(*x, *y) < 0; });
  return result;
}

/// The largest single term that divides the size.
SizeTerm content(const Size& size) {
  const std::int64_t constant = SizePolynomial::constant_part(size);
  const auto terms = terms_of(size);
  if (terms.empty()) return {constant, {}};
  SizeTerm result = terms[0];
  for (const SizeTerm& term : terms.subspan(1)) result = common(result, term);
  if (constant != 0) result = common(result, SizeTerm{constant, {}});
  return result;
}

Size as_size(const SizeTerm& term) {
  return term.factors.empty() ? Size(term.coefficient) : SizePolynomial::collect({term}, 0);
}

/// Finds g, a factor of the divisor, so that a == g * quotient + rest with rest in [0, g): then a
/// // divisor == quotient // (divisor / g), and a % divisor == g * (quotient % (divisor/g)) + rest.
struct CommonFactor {
  Size factor, divisor;
  AffineSplit parts;
};
std::optional<CommonFactor> common_factor(const ExprPool& pool, const Affine& a,
                                          const Size& divisor) {
  const auto attempt = [&](const Size& factor) -> std::optional<CommonFactor> {
    if (factor == Size(1) || factor.bounds().lower < 0) return std::nullopt;
    auto left = divide_exactly(divisor, factor);
    if (!left) return std::nullopt;
    CommonFactor result{factor, std::move(*left), split(a, factor, false)};
    Affine& rest = result.parts.rest;
    if (result.parts.quotient.terms.empty()) return std::nullopt;
    if (rest.terms.empty() && rest.constant == Size(0)) return result;
    if (const auto shift = known_quotient(pool, rest, factor)) {
      rest = reduced_by(rest, factor, *shift);
      result.parts.quotient.constant = result.parts.quotient.constant + Size(*shift);
      return result;
    }
    return std::nullopt;
  };
  std::optional<CommonFactor> best;
  const auto consider = [&](const Size& factor) {
    auto found = attempt(factor);
    // The larger factor leaves the smaller problem.
    if (found && (!best || provably_less(best->factor, found->factor) == true)) {
      best = std::move(found);
    }
  };
  const SizeTerm of_divisor = content(divisor);
  SizeTerm of_all = of_divisor;
  for (const AffineTerm& term : a.terms) {
    const Size& coefficient = term.coefficient;
    consider(coefficient.bounds().lower < 0 ? Size(0) - coefficient : coefficient);
    const SizeTerm of_term = content(coefficient);
    consider(as_size(common(of_divisor, of_term)));
    of_all = common(of_all, of_term);
  }
  consider(as_size(of_all));
  return best;
}

bool is_single(const Affine& a) {
  return a.terms.size() == 1 && a.terms[0].coefficient == Size(1) && a.constant == Size(0);
}

}  // namespace

ExprId ExprRules::raw_division(Op op, const Affine& a, const Size& divisor) {
  const ExprId dividend = from_affine(a);
  return make(op, DType::kInt64, {dividend, pool_.size(divisor)});
}

ExprId ExprRules::quotient(const Affine& a, const Size& divisor) {
  if (divisor == Size(1)) return from_affine(a);
  if (!fits(pool_, a)) return raw_division(Op::kFloorDivide, a, divisor);
  if (const auto value = known_quotient(pool_, a, divisor)) return pool_.size(Size(*value));
  for (const bool reduce : {false, true}) {
    AffineSplit parts = split(a, divisor, reduce);
    if (parts.quotient.terms.empty() && parts.quotient.constant == Size(0)) continue;
    if (!fits(pool_, parts.rest)) continue;
    if (!reduce && !known_quotient(pool_, parts.rest, divisor)) continue;
    const ExprId rest = quotient(parts.rest, divisor);
    const Affine sum = add(parts.quotient, pool_.affine(rest));
    if (!overflowed(sum)) return from_affine(sum);
  }
  if (a.terms.empty()) {
    if (is_size_like(a.constant) && divisor.bounds().lower >= 1) {
      return pool_.size(floor_div(a.constant, divisor));
    }
    return raw_division(Op::kFloorDivide, a, divisor);
  }
  if (is_single(a)) {
    const ExprId inner = a.terms[0].term;
    const ExprNode& n = node(inner);
    if (n.op == Op::kRemainder || n.op == Op::kFloorDivide) {
      const ExprId x = argument(inner, 0);
      if (const auto modulus = as_size(pool_, argument(inner, 1)); modulus) {
        const bool positive = modulus->bounds().lower >= 0;
        if (n.op == Op::kRemainder && positive) {
          if (const auto ratio = divide_exactly(*modulus, divisor)) {
            return remainder(pool_.affine(quotient(pool_.affine(x), divisor)), *ratio);
          }
        } else if (n.op == Op::kFloorDivide && positive) {
          const Size together = *modulus * divisor;
          if (!SizePolynomial::is_overflow(together)) {
            return quotient(pool_.affine(x), together);
          }
        }
      }
    }
  }
  // (x + y // m) // n is (m*x + y) // (m*n).
  for (const AffineTerm& term : a.terms) {
    if (op(term.term) != Op::kFloorDivide || !(term.coefficient == Size(1))) continue;
    const auto inner = as_size(pool_, argument(term.term, 1));
    if (!inner || inner->bounds().lower < 1) continue;
    const Affine rest = subtract(a, Affine{Size(0), {term}});
    const Affine whole = add(scale(rest, *inner), pool_.affine(argument(term.term, 0)));
    const Size together = *inner * divisor;
    if (fits(pool_, whole) && !SizePolynomial::is_overflow(together)) {
      return quotient(whole, together);
    }
  }
  if (auto common = common_factor(pool_, a, divisor)) {
    if (fits(pool_, common->parts.quotient)) {
      return quotient(common->parts.quotient, common->divisor);
    }
  }
  return raw_division(Op::kFloorDivide, a, divisor);
}

ExprId ExprRules::remainder(const Affine& a, const Size& divisor) {
  if (divisor == Size(1)) return pool_.size(Size(0));
  if (!fits(pool_, a)) return raw_division(Op::kRemainder, a, divisor);
  if (const auto value = known_quotient(pool_, a, divisor)) {
    const Affine rest = reduced_by(a, divisor, *value);
    return overflowed(rest) ? raw_division(Op::kRemainder, a, divisor) : from_affine(rest);
  }
  for (const bool reduce : {false, true}) {
    AffineSplit parts = split(a, divisor, reduce);
    if (parts.quotient.terms.empty() && parts.quotient.constant == Size(0)) continue;
    if (!fits(pool_, parts.rest)) continue;
    if (!reduce && !known_quotient(pool_, parts.rest, divisor)) continue;
    return remainder(parts.rest, divisor);
  }
  if (a.terms.empty()) {
    if (is_size_like(a.constant) && divisor.bounds().lower >= 1) {
      return pool_.size(mod(a.constant, divisor));
    }
    return raw_division(Op::kRemainder, a, divisor);
  }
  // A remainder inside by a multiple of the divisor changes nothing.
  Affine plain{a.constant, {}};
  bool changed = false;
  for (const AffineTerm& term : a.terms) {
    if (op(term.term) == Op::kRemainder) {
      const auto modulus = as_size(pool_, argument(term.term, 1));
      if (modulus && modulus->bounds().lower >= 0 &&
          divide_exactly(term.coefficient * *modulus, divisor)) {
        plain = add(plain, scale(pool_.affine(argument(term.term, 0)), term.coefficient));
        changed = true;
        continue;
      }
    }
    plain = add(plain, Affine{Size(0), {term}});
  }
  if (changed && fits(pool_, plain)) return remainder(plain, divisor);
  if (auto common = common_factor(pool_, a, divisor)) {
    if (fits(pool_, common->parts.quotient)) {
      const ExprId inner = remainder(common->parts.quotient, common->divisor);
      const Affine sum = add(scale(pool_.affine(inner), common->factor), common->parts.rest);
      if (!overflowed(sum)) return from_affine(sum);
    }
  }
  return raw_division(Op::kRemainder, a, divisor);
}

std::optional<ExprId> ExprRules::simplify_division(Op op, ExprId a, ExprId b) {
  const bool wants_quotient = op == Op::kFloorDivide || op == Op::kTruncDivide;
  const auto divisor = as_size(pool_, b);
  if (!divisor) return std::nullopt;
  if (*divisor == Size(0)) return pool_.size(Size(0));
  if (*divisor == Size(-1)) return wants_quotient ? unary(Op::kNegate, a) : pool_.size(Size(0));
  if (divisor->bounds().lower < 0) return std::nullopt;
  const Affine sum = pool_.affine(a);
  if (op == Op::kTruncDivide || op == Op::kFmod) {
    // The same as floor where nothing is negative.
    if (ExprFacts(pool_).range(a).lower < 0) return std::nullopt;
  }
  return wants_quotient ? quotient(sum, *divisor) : remainder(sum, *divisor);
}

// c * (y % m) + c*m * (y // m) is c * y, and with (y // m) % n instead, c * (y % (m*n)).
// c*m * (y // m) - c * y is -c * (y % m).
void ExprRules::recombine(Affine& affine) {
  for (std::size_t i = 0; i < affine.terms.size(); ++i) {
    const AffineTerm low = affine.terms[i];
    const Op kind = op(low.term);
    if (kind != Op::kRemainder && kind != Op::kFloorDivide) continue;
    const auto modulus = as_size(pool_, argument(low.term, 1));
    if (!modulus || modulus->bounds().lower < 0) continue;
    const ExprId y = argument(low.term, 0);
    if (kind == Op::kFloorDivide) {
      const auto factor = divide_exactly(low.coefficient, *modulus);
      if (!factor) continue;
      const Size wanted = Size(0) - *factor;
      for (const AffineTerm& other : affine.terms) {
        if (other.term != y || !(other.coefficient == wanted)) continue;
        const Affine pair{Size(0), {{low.term, low.coefficient}, {y, wanted}}};
        const ExprId rest = make(Op::kRemainder, DType::kInt64, {y, argument(low.term, 1)});
        Affine shorter = add(subtract(affine, pair), scale(pool_.affine(rest), wanted));
        if (overflowed(shorter)) break;
        affine = std::move(shorter);
        i = static_cast<std::size_t>(-1);  // terms have moved: look again
        break;
      }
      continue;
    }
    const Size wanted = low.coefficient * *modulus;
    for (const AffineTerm& high : affine.terms) {
      if (!(high.coefficient == wanted) || high.term == low.term) continue;
      ExprId upper = high.term;
      std::optional<Size> bound;
      if (op(upper) == Op::kRemainder) {
        bound = as_size(pool_, argument(upper, 1));
        upper = argument(upper, 0);
      }
      const ExprId wanted_upper = quotient(pool_.affine(y), *modulus);
      ExprId joined = y;
      if (wanted_upper != high.term) {
        if (wanted_upper != upper || !bound || bound->bounds().lower < 0) continue;
        const Size wider = *modulus * *bound;
        if (SizePolynomial::is_overflow(wider)) continue;
        joined = remainder(pool_.affine(y), wider);
      }
      const Affine pair{Size(0), {low, high}};
      Affine shorter = add(subtract(affine, pair), scale(pool_.affine(joined), low.coefficient));
      if (overflowed(shorter)) break;
      affine = std::move(shorter);
      i = static_cast<std::size_t>(-1);
      break;
    }
  }
  recombine_digits(affine);
}

// With every y % m written as y - m * (y // m), quotients of one number meet and cancel.
void ExprRules::recombine_digits(Affine& affine) {
  const auto divisions = [&](const Affine& a) {
    return std::count_if(a.terms.begin(), a.terms.end(), [&](const AffineTerm& term) {
      return op(term.term) == Op::kRemainder || op(term.term) == Op::kFloorDivide;
    });
  };
  if (divisions(affine) < 2) return;
  Affine expanded{affine.constant, {}};
  bool changed = false;
  for (const AffineTerm& term : affine.terms) {
    if (op(term.term) == Op::kRemainder) {
      const auto modulus = as_size(pool_, argument(term.term, 1));
      if (modulus && modulus->bounds().lower >= 1) {
        const Affine y = pool_.affine(argument(term.term, 0));
        const Affine high = scale(pool_.affine(quotient(y, *modulus)), *modulus);
        expanded = add(expanded, scale(subtract(y, high), term.coefficient));
        changed = true;
        continue;
      }
    }
    expanded = add(expanded, Affine{Size(0), {term}});
  }
  // Unless all are gone, digits say more.
  if (changed && !overflowed(expanded) && divisions(expanded) == 0) affine = std::move(expanded);
}

}  // namespace tendon::ir
