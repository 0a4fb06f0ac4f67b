// Values of sizes, substitution, and the symbols in them.
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/size.h"
#include "ir/size_polynomial.h"

namespace tendon::ir {

namespace {

/// Walks shared sub-expressions once.
class Evaluator {
 public:
  explicit Evaluator(const SymbolLookup& lookup) : lookup_(lookup) {}

  std::optional<std::int64_t> evaluate(const Size& size) {
    if (size.is_constant()) return size.constant();
    __int128 sum = SizePolynomial::constant_part(size);
    for (const SizeTerm& term : terms_of(size)) {
      // A zero factor decides even where the others overflow.
      __int128 product = term.coefficient;
      bool overflowed = false;
      bool zero = false;
      for (const AtomRef& factor : term.factors) {
        const auto value = evaluate(*factor);
        if (!value) return std::nullopt;
        zero |= *value == 0;
        overflowed |= __builtin_mul_overflow(product, static_cast<__int128>(*value), &product);
      }
      if (zero) continue;
      if (overflowed || __builtin_add_overflow(sum, product, &sum)) return std::nullopt;
    }
    const auto result = static_cast<std::int64_t>(sum);
    if (result != sum) return std::nullopt;
    return result;
  }

 private:
  std::optional<std::int64_t> evaluate(const SizeAtom& atom) {
    if (atom.symbol != nullptr) return lookup_(*atom.symbol);
    if (atom.overflow) return std::nullopt;
    const bool remember = atom.tree_size > 64;
    if (remember) {
      if (const auto found = known_.find(&atom); found != known_.end()) return found->second;
    }
    const auto value = apply(atom);
    if (remember) known_.emplace(&atom, value);
    return value;
  }

  std::optional<std::int64_t> apply(const SizeAtom& atom) {
    if (atom.function == SizeFunction::kSelect && atom.arguments.size() == 3) {
      const auto condition = evaluate(atom.arguments[0]);
      if (!condition) return std::nullopt;
      return evaluate(atom.arguments[*condition != 0 ? 1 : 2]);
    }
    std::vector<std::int64_t> values;
    values.reserve(atom.arguments.size());
    for (const Size& argument : atom.arguments) {
      const auto value = evaluate(argument);
      if (!value) return std::nullopt;
      values.push_back(*value);
    }
    return apply_function(atom.function, values);
  }

  const SymbolLookup& lookup_;
  std::unordered_map<const SizeAtom*, std::optional<std::int64_t>> known_;
};

class Substitution {
 public:
  using Replacement = std::function<std::optional<Size>(const Symbol&)>;
  explicit Substitution(const Replacement& replacement) : replacement_(replacement) {}

  Size rebuild(const Size& size) {
    if (size.is_constant() || SizePolynomial::is_overflow(size)) return size;
    Size sum(SizePolynomial::constant_part(size));
    for (const SizeTerm& term : terms_of(size)) {
      Size product(term.coefficient);
      for (const AtomRef& factor : term.factors) product = product * rebuild(factor);
      sum = sum + product;
    }
    return sum;
  }

 private:
  Size rebuild(const AtomRef& atom) {
    if (const auto found = known_.find(atom.get()); found != known_.end()) return found->second;
    Size result;
    if (atom->symbol != nullptr) {
      const auto replaced = replacement_(*atom->symbol);
      result = replaced ? *replaced : SizePolynomial::from_atom(atom);
    } else {
      bool changed = false;
      std::vector<Size> arguments;
      for (const Size& argument : atom->arguments) {
        arguments.push_back(rebuild(argument));
        changed |= !(arguments.back() == argument);
      }
      result = changed ? Size::function(atom->function, std::move(arguments))
                       : SizePolynomial::from_atom(atom);
    }
    known_.emplace(atom.get(), result);
    return result;
  }

  const Replacement& replacement_;
  std::unordered_map<const SizeAtom*, Size> known_;
};

void visit_symbols(const Size& size, std::unordered_set<const void*>& seen,
                   const std::function<void(const SymbolRef&)>& visit) {
  for (const SizeTerm& term : terms_of(size)) {
    for (const AtomRef& factor : term.factors) {
      if (factor->symbol != nullptr) {
        if (seen.insert(factor->symbol.get()).second) visit(factor->symbol);
      } else if (seen.insert(factor.get()).second) {
        for (const Size& argument : factor->arguments) visit_symbols(argument, seen, visit);
      }
    }
  }
}

}  // namespace

std::optional<std::int64_t> Size::evaluate(const SymbolLookup& lookup) const {
  if (is_constant()) return value_;
  return Evaluator(lookup).evaluate(*this);
}

Size Size::substitute(const std::function<std::optional<Size>(const Symbol&)>& replacement) const {
  if (is_constant()) return *this;
  return Substitution(replacement).rebuild(*this);
}

void Size::for_each_symbol(const std::function<void(const SymbolRef&)>& visit) const {
  if (is_constant()) return;
  std::unordered_set<const void*> seen;
  visit_symbols(*this, seen, visit);
}

}  // namespace tendon::ir
