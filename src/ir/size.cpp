#include "ir/size.h"

#include <algorithm>
#include <utility>

#include "ir/size_polynomial.h"

namespace tendon::ir {

namespace {

// A product that would have more terms than this stays a product of boxed factors, so that no
// program can make sizes explode.
constexpr std::size_t kMaxTerms = 256;

std::size_t mix(std::size_t seed, std::size_t value) {
  seed ^= value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2);
  return seed * 0xff51afd7ed558ccdULL;
}

std::strong_ordering order_terms(const SizeTerm& a, const SizeTerm& b) {
  return compare(a.factors, b.factors);
}

bool same_atom(const AtomRef& a, const AtomRef& b) {
  return a == b || (a->hash == b->hash && compare(*a, *b) == 0);
}

bool same_factors(const std::vector<AtomRef>& a, const std::vector<AtomRef>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same_atom);
}

/// Of a large polynomial, an atom that stands for it.
Size boxed(const Size& size) {
  return terms_of(size).size() <= 1 && SizePolynomial::constant_part(size) == 0
             ? size
             : make_function(SizeFunction::kPow, {size, Size(1)});
}

std::vector<AtomRef> merged_factors(const std::vector<AtomRef>& a, const std::vector<AtomRef>& b) {
  std::vector<AtomRef> factors(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), factors.begin(),
             [](const AtomRef& x, const AtomRef& y) { return compare(*x, *y) < 0; });
  return factors;
}

}  // namespace

std::span<const SizeTerm> terms_of(const Size& size) {
  const SizePolynomial* polynomial = SizePolynomial::of(size);
  return polynomial == nullptr ? std::span<const SizeTerm>() : polynomial->terms;
}

// --- order ---------------------------------------------------------------------------------------

std::strong_ordering compare(const SizeAtom& a, const SizeAtom& b) {
  if (&a == &b) return std::strong_ordering::equal;
  if ((a.symbol != nullptr) != (b.symbol != nullptr)) {
    return a.symbol != nullptr ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  if (a.symbol != nullptr) {
    if (a.symbol == b.symbol) return std::strong_ordering::equal;
    if (const int names = a.symbol->name.compare(b.symbol->name); names != 0) return names <=> 0;
    return std::compare_three_way()(a.symbol.get(), b.symbol.get());
  }
  if (a.overflow || b.overflow) return std::compare_three_way()(&a, &b);
  if (a.function != b.function) return a.function <=> b.function;
  if (a.tree_size != b.tree_size) return a.tree_size <=> b.tree_size;
  if (a.tree_size > kMaxTreeSize) return std::compare_three_way()(&a, &b);
  if (a.arguments.size() != b.arguments.size()) return a.arguments.size() <=> b.arguments.size();
  for (std::size_t i = 0; i < a.arguments.size(); ++i) {
    if (const auto order = compare(a.arguments[i], b.arguments[i]); order != 0) return order;
  }
  return std::strong_ordering::equal;
}

std::strong_ordering compare(const std::vector<AtomRef>& a, const std::vector<AtomRef>& b) {
  if (a.size() != b.size()) return b.size() <=> a.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (const auto order = compare(*a[i], *b[i]); order != 0) return order;
  }
  return std::strong_ordering::equal;
}

std::strong_ordering compare(const Size& a, const Size& b) {
  if (SizePolynomial::of(a) != SizePolynomial::of(b)) {
    const auto left = terms_of(a);
    const auto right = terms_of(b);
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      if (const auto order = order_terms(left[i], right[i]); order != 0) return order;
      if (left[i].coefficient != right[i].coefficient) {
        return left[i].coefficient <=> right[i].coefficient;
      }
    }
    if (left.size() != right.size()) return right.size() <=> left.size();
  }
  return SizePolynomial::constant_part(a) <=> SizePolynomial::constant_part(b);
}

// --- construction --------------------------------------------------------------------------------

Size SizePolynomial::with_constant(const Size& size, std::int64_t constant) {
  Size result = size;
  result.value_ = constant;
  return result;
}

Size SizePolynomial::make(std::vector<SizeTerm> sorted_terms, std::int64_t constant) {
  Size result(constant);
  if (sorted_terms.empty()) return result;
  auto polynomial = std::make_shared<SizePolynomial>();
  std::size_t hash = 0;
  for (const SizeTerm& term : sorted_terms) {
    hash = mix(hash, std::hash<std::int64_t>()(term.coefficient));
    for (const AtomRef& factor : term.factors) hash = mix(hash, factor->hash);
  }
  polynomial->hash = hash;
  polynomial->terms = std::move(sorted_terms);
  result.polynomial_ = std::move(polynomial);
  return result;
}

Size SizePolynomial::collect(std::vector<SizeTerm> terms, std::int64_t constant) {
  std::sort(terms.begin(), terms.end(),
            [](const SizeTerm& a, const SizeTerm& b) { return order_terms(a, b) < 0; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < terms.size();) {
    SizeTerm sum = std::move(terms[i]);
    for (++i; i < terms.size() && same_factors(sum.factors, terms[i].factors); ++i) {
      if (__builtin_add_overflow(sum.coefficient, terms[i].coefficient, &sum.coefficient)) {
        return overflow();
      }
    }
    if (sum.coefficient != 0) terms[kept++] = std::move(sum);
  }
  terms.resize(kept);
  return make(std::move(terms), constant);
}

Size SizePolynomial::from_atom(AtomRef atom) {
  std::vector<SizeTerm> terms(1);
  terms[0].factors.push_back(std::move(atom));
  return make(std::move(terms), 0);
}

Size SizePolynomial::overflow() {
  auto atom = std::make_shared<SizeAtom>();
  atom->overflow = true;
  atom->bounds = kNoBounds;
  atom->hash = 0x5eed;
  return from_atom(std::move(atom));
}

bool SizePolynomial::is_overflow(const Size& size) {
  return size.polynomial_ != nullptr && size.polynomial_->terms.front().factors.front()->overflow;
}

const SizeAtom* SizePolynomial::as_atom(const Size& size) {
  if (size.polynomial_ == nullptr || size.value_ != 0) return nullptr;
  const std::vector<SizeTerm>& terms = size.polynomial_->terms;
  if (terms.size() != 1 || terms[0].coefficient != 1 || terms[0].factors.size() != 1) {
    return nullptr;
  }
  return terms[0].factors[0].get();
}

Size make_function(SizeFunction function, std::vector<Size> arguments) {
  auto atom = std::make_shared<SizeAtom>();
  atom->function = function;
  std::size_t hash = mix(0xf00d, static_cast<std::size_t>(function));
  for (const Size& argument : arguments) {
    hash = mix(hash, argument.hash());
    for (const SizeTerm& term : terms_of(argument)) {
      for (const AtomRef& factor : term.factors) {
        if (__builtin_add_overflow(atom->tree_size, factor->tree_size, &atom->tree_size)) {
          atom->tree_size = kUnbounded;
        }
        atom->depends_on_data |= factor->depends_on_data;
      }
    }
  }
  atom->hash = hash;
  atom->bounds = function_bounds(function, arguments);
  atom->arguments = std::move(arguments);
  return SizePolynomial::from_atom(std::move(atom));
}

Size Size::symbol(SymbolRef symbol) {
  auto atom = std::make_shared<SizeAtom>();
  atom->bounds = {std::max(symbol->lower, -kUnbounded), symbol->upper};
  atom->hash = mix(0xcafe, std::hash<std::string>()(symbol->name));
  atom->depends_on_data = symbol->from_data;
  atom->symbol = std::move(symbol);
  return SizePolynomial::from_atom(std::move(atom));
}

SymbolRef Size::as_symbol() const {
  const SizeAtom* atom = SizePolynomial::as_atom(*this);
  return atom == nullptr ? nullptr : atom->symbol;
}

// --- arithmetic ----------------------------------------------------------------------------------

Size operator+(const Size& a, const Size& b) {
  std::int64_t constant = 0;
  const bool overflowed = __builtin_add_overflow(a.value_, b.value_, &constant);
  if (a.is_constant() && b.is_constant()) {
    return overflowed ? SizePolynomial::overflow() : Size(constant);
  }
  if (overflowed || SizePolynomial::is_overflow(a) || SizePolynomial::is_overflow(b)) {
    return SizePolynomial::overflow();
  }
  if (b.is_constant()) return SizePolynomial::with_constant(a, constant);
  if (a.is_constant()) return SizePolynomial::with_constant(b, constant);

  const auto left = terms_of(a);
  const auto right = terms_of(b);
  std::vector<SizeTerm> terms;
  terms.reserve(left.size() + right.size());
  for (std::size_t i = 0, j = 0; i < left.size() || j < right.size();) {
    const auto order = i == left.size()    ? std::strong_ordering::greater
                       : j == right.size() ? std::strong_ordering::less
                                           : order_terms(left[i], right[j]);
    if (order < 0) {
      terms.push_back(left[i++]);
    } else if (order > 0) {
      terms.push_back(right[j++]);
    } else {
      std::int64_t coefficient = 0;
      if (__builtin_add_overflow(left[i].coefficient, right[j].coefficient, &coefficient)) {
        return SizePolynomial::overflow();
      }
      if (coefficient != 0) terms.push_back({coefficient, left[i].factors});
      ++i;
      ++j;
    }
  }
  return SizePolynomial::make(std::move(terms), constant);
}

Size operator-(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a.value_, b.value_, &difference)) return SizePolynomial::overflow();
    return difference;
  }
  return a + b * Size(-1);
}

Size operator*(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a.value_, b.value_, &product)) return SizePolynomial::overflow();
    return product;
  }
  if ((a.is_constant() && a.value_ == 0) || (b.is_constant() && b.value_ == 0)) return 0;
  if (SizePolynomial::is_overflow(a) || SizePolynomial::is_overflow(b)) {
    return SizePolynomial::overflow();
  }
  if (a.is_constant() || b.is_constant()) {
    const std::int64_t factor = a.is_constant() ? a.value_ : b.value_;
    const Size& other = a.is_constant() ? b : a;
    if (factor == 1) return other;
    std::int64_t constant = 0;
    bool overflowed = __builtin_mul_overflow(other.value_, factor, &constant);
    std::vector<SizeTerm> terms(terms_of(other).begin(), terms_of(other).end());
    for (SizeTerm& term : terms) {
      overflowed |= __builtin_mul_overflow(term.coefficient, factor, &term.coefficient);
    }
    if (overflowed) return SizePolynomial::overflow();
    return SizePolynomial::make(std::move(terms), constant);
  }

  const auto left = terms_of(a);
  const auto right = terms_of(b);
  if ((left.size() + 1) * (right.size() + 1) > kMaxTerms) return boxed(a) * boxed(b);
  std::vector<SizeTerm> terms;
  terms.reserve((left.size() + 1) * (right.size() + 1));
  std::int64_t constant = 0;
  bool overflowed = __builtin_mul_overflow(a.value_, b.value_, &constant);
  const auto scaled = [&](std::span<const SizeTerm> side, std::int64_t factor) {
    if (factor == 0) return;
    for (const SizeTerm& term : side) {
      terms.push_back(term);
      overflowed |= __builtin_mul_overflow(term.coefficient, factor, &terms.back().coefficient);
    }
  };
  scaled(left, b.value_);
  scaled(right, a.value_);
  for (const SizeTerm& x : left) {
    for (const SizeTerm& y : right) {
      SizeTerm& term = terms.emplace_back();
      overflowed |= __builtin_mul_overflow(x.coefficient, y.coefficient, &term.coefficient);
      term.factors = merged_factors(x.factors, y.factors);
    }
  }
  if (overflowed) return SizePolynomial::overflow();
  return SizePolynomial::collect(std::move(terms), constant);
}

bool operator==(const Size& a, const Size& b) {
  if (a.value_ != b.value_) return false;
  if (a.polynomial_ == b.polynomial_) return true;
  if (a.polynomial_ == nullptr || b.polynomial_ == nullptr) return false;
  if (a.polynomial_->hash != b.polynomial_->hash) return false;
  return compare(a, b) == 0;
}

std::size_t Size::hash() const {
  const std::size_t constant = std::hash<std::int64_t>()(value_);
  return polynomial_ == nullptr ? constant : mix(polynomial_->hash, constant);
}

std::optional<std::vector<AtomRef>> divide_factors(const std::vector<AtomRef>& factors,
                                                   const std::vector<AtomRef>& divisor) {
  std::vector<AtomRef> rest;
  std::size_t taken = 0;
  for (const AtomRef& factor : factors) {
    if (taken < divisor.size() && same_atom(factor, divisor[taken])) {
      ++taken;
    } else {
      rest.push_back(factor);
    }
  }
  if (taken != divisor.size()) return std::nullopt;
  return rest;
}

namespace {
bool divides(std::int64_t divisor, std::int64_t number) {
  return divisor == -1 ? number != std::numeric_limits<std::int64_t>::min() : number % divisor == 0;
}
}  // namespace

std::optional<Size> divide_exactly(const Size& a, const Size& b) {
  if (SizePolynomial::is_overflow(a) || SizePolynomial::is_overflow(b)) return std::nullopt;
  if (b == Size(0)) return std::nullopt;
  if (b == Size(1)) return a;
  if (a == b) return Size(1);
  if (b.is_constant()) {
    const std::int64_t divisor = b.constant();
    if (!divides(divisor, SizePolynomial::constant_part(a))) return std::nullopt;
    std::vector<SizeTerm> terms(terms_of(a).begin(), terms_of(a).end());
    for (SizeTerm& term : terms) {
      if (!divides(divisor, term.coefficient)) return std::nullopt;
      term.coefficient /= divisor;
    }
    return SizePolynomial::make(std::move(terms), SizePolynomial::constant_part(a) / divisor);
  }
  // Long division; the order of terms is graded lexicographic, so leading terms must divide.
  const SizeTerm& lead = terms_of(b).front();
  Size quotient;
  Size remainder = a;
  for (std::size_t step = 0; step < kMaxTerms; ++step) {
    if (remainder == Size(0)) return quotient;
    if (remainder.is_constant() || SizePolynomial::is_overflow(remainder)) return std::nullopt;
    const SizeTerm& top = terms_of(remainder).front();
    auto factors = divide_factors(top.factors, lead.factors);
    if (!factors || !divides(lead.coefficient, top.coefficient)) return std::nullopt;
    const std::int64_t coefficient = top.coefficient / lead.coefficient;
    Size part(coefficient);
    if (!factors->empty()) {
      std::vector<SizeTerm> terms(1);
      terms[0] = {coefficient, std::move(*factors)};
      part = SizePolynomial::make(std::move(terms), 0);
    }
    quotient = quotient + part;
    remainder = remainder - part * b;
  }
  return std::nullopt;
}

bool Size::depends_on_data() const {
  for (const SizeTerm& term : terms_of(*this)) {
    for (const AtomRef& factor : term.factors) {
      if (factor->depends_on_data) return true;
    }
  }
  return false;
}

// --- shapes --------------------------------------------------------------------------------------

Size element_count(std::span<const Size> shape) {
  Size count(1);
  for (const Size& size : shape) count = count * size;
  return count;
}

Shape contiguous_strides(std::span<const Size> shape) {
  Shape strides(shape.size());
  Size stride(1);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride = stride * shape[axis];
  }
  return strides;
}

bool is_constant(std::span<const Size> shape) {
  return std::all_of(shape.begin(), shape.end(),
                     [](const Size& size) { return size.is_constant(); });
}

}  // namespace tendon::ir
