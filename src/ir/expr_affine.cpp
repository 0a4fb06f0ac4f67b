// Affine forms of int64 expressions, and back.
#include <algorithm>
#include <utility>

#include "ir/expr_rules.h"
#include "ir/size_polynomial.h"

namespace tendon::ir {

using Affine = ExprPool::Affine;
using AffineTerm = ExprPool::AffineTerm;

namespace {

// A longer sum counts as one term of the sums around it.
constexpr std::size_t kMaxTerms = 32;

// Integer arithmetic wraps. Symbolic sizes are taken not to, and so must not meet numbers that no
// size of a tensor is made of.
constexpr std::int64_t kLargestFactor = std::int64_t{1} << 40;
constexpr std::int64_t kLargestNumber = std::int64_t{1} << 60;

Size guarded(Size size) {
  const auto is_larger = [](std::int64_t number, std::int64_t limit) {
    return number > limit || number < -limit;
  };
  bool large = is_larger(SizePolynomial::constant_part(size), kLargestNumber);
  for (const SizeTerm& term : terms_of(size)) large |= is_larger(term.coefficient, kLargestFactor);
  return large ? SizePolynomial::overflow() : size;
}

Size add(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a.constant()) +
                                     static_cast<std::uint64_t>(b.constant()));
  }
  return guarded(a + b);
}
Size multiply(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a.constant()) *
                                     static_cast<std::uint64_t>(b.constant()));
  }
  return guarded(a * b);
}

/// Sorts, adds up the coefficients of equal terms and drops zeros.
void normalize(Affine& a) {
  const auto by_term = [](const AffineTerm& x, const AffineTerm& y) { return x.term < y.term; };
  if (!std::is_sorted(a.terms.begin(), a.terms.end(), by_term)) {
    std::stable_sort(a.terms.begin(), a.terms.end(), by_term);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < a.terms.size();) {
    AffineTerm sum = std::move(a.terms[i]);
    for (++i; i < a.terms.size() && a.terms[i].term == sum.term; ++i) {
      sum.coefficient = add(sum.coefficient, a.terms[i].coefficient);
    }
    if (!(sum.coefficient == Size(0))) a.terms[kept++] = std::move(sum);
  }
  a.terms.resize(kept);
}

void collect(const ExprPool& pool, ExprId id, const Size& factor, int depth, Affine& out) {
  const ExprNode& node = pool.node(id);
  if (const auto value = as_size(pool, id)) {
    out.constant = add(out.constant, multiply(factor, *value));
    return;
  }
  if (depth < static_cast<int>(2 * kMaxTerms) && node.dtype == DType::kInt64) {
    const auto arguments = pool.arguments(id);
    switch (node.op) {
      case Op::kAdd:
      case Op::kSubtract:
        collect(pool, arguments[0], factor, depth + 1, out);
        collect(pool, arguments[1], node.op == Op::kAdd ? factor : multiply(factor, Size(-1)),
                depth + 1, out);
        return;
      case Op::kNegate:
        collect(pool, arguments[0], multiply(factor, Size(-1)), depth + 1, out);
        return;
      case Op::kMultiply:
        if (const auto value = as_size(pool, arguments[1])) {
          collect(pool, arguments[0], multiply(factor, *value), depth + 1, out);
          return;
        }
        break;
      default:
        break;
    }
  }
  out.terms.push_back({id, factor});
}

bool is_negative(const Size& coefficient) {
  return coefficient.is_constant() ? coefficient.constant() < 0 : coefficient.bounds().upper <= 0;
}

}  // namespace

std::optional<Size> as_size(const ExprPool& pool, ExprId id) {
  const ExprNode& node = pool.node(id);
  if (node.dtype != DType::kInt64) return std::nullopt;
  if (node.op == Op::kConstant) return Size(node.payload);
  if (node.op == Op::kSize) return pool.size_of(id);
  return std::nullopt;
}

bool is_size_like(const Size& size) {
  return !size.is_constant() ||
         (size.constant() <= kLargestFactor && size.constant() >= -kLargestFactor);
}

Affine scale(const Affine& a, const Size& factor) {
  Affine result{multiply(a.constant, factor), a.terms};
  for (AffineTerm& term : result.terms) term.coefficient = multiply(term.coefficient, factor);
  normalize(result);
  return result;
}

Affine add(const Affine& a, const Affine& b) {
  Affine result{add(a.constant, b.constant), a.terms};
  result.terms.insert(result.terms.end(), b.terms.begin(), b.terms.end());
  normalize(result);
  return result;
}

Affine subtract(const Affine& a, const Affine& b) { return add(a, scale(b, Size(-1))); }

bool overflowed(const Affine& a) {
  return SizePolynomial::is_overflow(a.constant) ||
         std::any_of(a.terms.begin(), a.terms.end(), [](const AffineTerm& term) {
           return SizePolynomial::is_overflow(term.coefficient);
         });
}

Affine ExprPool::affine(ExprId id) const {
  Affine result;
  collect(*this, id, Size(1), 0, result);
  normalize(result);
  if (overflowed(result) || result.terms.size() > kMaxTerms) return Affine{0, {{id, Size(1)}}};
  return result;
}

// Indices in order of their axes, then other terms in order of their ids; those to be subtracted
// last, then the constant. Positions built in different ways meet in this form.
ExprId ExprRules::from_affine(Affine affine) {
  normalize(affine);
  recombine(affine);
  std::stable_sort(affine.terms.begin(), affine.terms.end(),
                   [&](const AffineTerm& x, const AffineTerm& y) {
                     const bool x_is_index = op(x.term) == Op::kIndex;
                     const bool y_is_index = op(y.term) == Op::kIndex;
                     if (x_is_index && y_is_index)
                       return node(x.term).payload < node(y.term).payload;
                     return x_is_index && !y_is_index;
                   });
  ExprId sum = kNoExpr;
  const auto scaled = [&](ExprId term, const Size& coefficient) {
    if (coefficient == Size(1)) return term;
    return make(Op::kMultiply, DType::kInt64, {term, pool_.size(coefficient)});
  };
  for (const AffineTerm& term : affine.terms) {
    if (is_negative(term.coefficient)) continue;
    const ExprId product = scaled(term.term, term.coefficient);
    sum = sum == kNoExpr ? product : make(Op::kAdd, DType::kInt64, {sum, product});
  }
  Size constant = affine.constant;
  for (const AffineTerm& term : affine.terms) {
    if (!is_negative(term.coefficient)) continue;
    if (sum == kNoExpr && !(constant == Size(0))) {
      sum = pool_.size(std::exchange(constant, Size(0)));
    }
    if (sum == kNoExpr) {
      sum = term.coefficient == Size(-1) ? make(Op::kNegate, DType::kInt64, {term.term})
                                         : scaled(term.term, term.coefficient);
    } else {
      const ExprId product = scaled(term.term, multiply(term.coefficient, Size(-1)));
      sum = make(Op::kSubtract, DType::kInt64, {sum, product});
    }
  }
  if (sum == kNoExpr) return pool_.size(constant);
  if (constant == Size(0)) return sum;
  return make(Op::kAdd, DType::kInt64, {sum, pool_.size(constant)});
}

}  // namespace tendon::ir
