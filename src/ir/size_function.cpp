// Functions of sizes that are not polynomials: values and folding.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "ir/size.h"
#include "ir/size_polynomial.h"

namespace tendon::ir {

// --- values --------------------------------------------------------------------------------------

namespace {

std::optional<std::int64_t> checked_pow(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return std::nullopt;
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  std::int64_t result = 1;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
  }
  return result;
}

}  // namespace

std::optional<std::int64_t> apply_function(SizeFunction function,
                                           std::span<const std::int64_t> arguments) {
  const std::size_t expected = function == SizeFunction::kNot      ? 1
                               : function == SizeFunction::kSelect ? 3
                                                                   : 2;
  const bool variadic = function == SizeFunction::kMax || function == SizeFunction::kMin ||
                        function == SizeFunction::kAnd || function == SizeFunction::kOr;
  if (variadic ? arguments.empty() : arguments.size() != expected) return std::nullopt;
  const std::int64_t a = arguments[0];
  const std::int64_t b = arguments.size() > 1 ? arguments[1] : 0;
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const auto is_true = [](std::int64_t value) { return value != 0; };
  switch (function) {
    case SizeFunction::kFloorDiv:
      if (b == 0 || (a == kLeast && b == -1)) return std::nullopt;
      return floor_quotient(a, b);
    case SizeFunction::kTruncDiv:
      if (b == 0 || (a == kLeast && b == -1)) return std::nullopt;
      return a / b;
    case SizeFunction::kMod:
      if (b == 0) return std::nullopt;
      return floor_remainder(a, b);
    case SizeFunction::kMax:
      return *std::max_element(arguments.begin(), arguments.end());
    case SizeFunction::kMin:
      return *std::min_element(arguments.begin(), arguments.end());
    case SizeFunction::kPow:
      return checked_pow(a, b);
    case SizeFunction::kEqual:
      return a == b;
    case SizeFunction::kNotEqual:
      return a != b;
    case SizeFunction::kLess:
      return a < b;
    case SizeFunction::kLessEqual:
      return a <= b;
    case SizeFunction::kAnd:
      return std::all_of(arguments.begin(), arguments.end(), is_true);
    case SizeFunction::kOr:
      return std::any_of(arguments.begin(), arguments.end(), is_true);
    case SizeFunction::kNot:
      return a == 0;
    case SizeFunction::kSelect:
      return a != 0 ? b : arguments[2];
  }
  return std::nullopt;
}

const char* size_function_name(SizeFunction function) {
  constexpr std::array kNames = {"floor_div", "trunc_div", "mod",       "max",   "min",
                                 "pow",       "equal",     "not_equal", "less",  "less_equal",
                                 "and",       "or",        "not",       "select"};
  static_assert(kNames.size() == static_cast<std::size_t>(SizeFunction::kSelect) + 1);
  return kNames[static_cast<std::size_t>(function)];
}

// --- folding -------------------------------------------------------------------------------------

namespace {

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

/// Greatest common divisor of the coefficients and `start`.
std::int64_t content(std::span<const SizeTerm> terms, std::uint64_t start) {
  std::uint64_t divisor = start;
  for (const SizeTerm& term : terms) divisor = std::gcd(divisor, magnitude(term.coefficient));
  return divisor > static_cast<std::uint64_t>(kUnbounded) ? 1 : static_cast<std::int64_t>(divisor);
}

struct Split {
  Size quotient, rest;  // of size = quotient * divisor + rest
};

/// Takes out of `size` what a positive constant divides, leaving small coefficients (with the sign
/// they had) and a constant in [0, divisor).
Split split(const Size& size, std::int64_t divisor) {
  std::vector<SizeTerm> quotient, rest;
  for (const SizeTerm& term : terms_of(size)) {
    if (term.coefficient / divisor != 0) {
      quotient.push_back({term.coefficient / divisor, term.factors});
    }
    if (term.coefficient % divisor != 0) rest.push_back({term.coefficient % divisor, term.factors});
  }
  const std::int64_t constant = SizePolynomial::constant_part(size);
  return {SizePolynomial::make(std::move(quotient), floor_quotient(constant, divisor)),
          SizePolynomial::make(std::move(rest), floor_remainder(constant, divisor))};
}

/// Takes out the terms that a symbolic divisor with a single term divides.
Split split(const Size& size, const SizeTerm& divisor) {
  std::vector<SizeTerm> quotient, rest;
  std::int64_t constant = 0;
  for (const SizeTerm& term : terms_of(size)) {
    auto factors = divide_factors(term.factors, divisor.factors);
    if (!factors || divisor.coefficient == -1 || term.coefficient % divisor.coefficient != 0) {
      rest.push_back(term);
    } else if (factors->empty()) {
      constant = term.coefficient / divisor.coefficient;
    } else {
      quotient.push_back({term.coefficient / divisor.coefficient, std::move(*factors)});
    }
  }
  return {SizePolynomial::collect(std::move(quotient), constant),
          SizePolynomial::make(std::move(rest), SizePolynomial::constant_part(size))};
}

bool is_function(const SizeAtom* atom, SizeFunction function) {
  return atom != nullptr && atom->symbol == nullptr && !atom->overflow &&
         atom->function == function;
}

const SizeTerm* single_term(const Size& size) {
  const auto terms = terms_of(size);
  return terms.size() == 1 && SizePolynomial::constant_part(size) == 0 ? terms.data() : nullptr;
}

bool at_least(const Size& size, std::int64_t value) {
  return size.is_constant() ? size.constant() >= value : size.bounds().lower >= value;
}

/// 0 <= a < b.
bool lies_within(const Size& a, const Size& b) {
  return at_least(a, 0) && provably_less(a, b) == true;
}

/// floor_div(floor_div(x, b) + k, c) is floor_div(x + k * b, b * c) for any c > 0.
std::optional<Size> fold_nested_quotient(const Size& dividend, const Size& divisor) {
  const SizeAtom* inner = SizePolynomial::as_atom(SizePolynomial::without_constant(dividend));
  if (!is_function(inner, SizeFunction::kFloorDiv) || !at_least(divisor, 1)) return std::nullopt;
  const Size& x = inner->arguments[0];
  const Size& b = inner->arguments[1];
  const Size moved = x + Size(SizePolynomial::constant_part(dividend)) * b;
  const Size product = b * divisor;
  if (SizePolynomial::is_overflow(moved) || SizePolynomial::is_overflow(product)) {
    return std::nullopt;
  }
  return floor_div(moved, product);
}

Size fold_floor_div(Size a, Size b) {
  if (b == Size(0)) return make_function(SizeFunction::kFloorDiv, {a, b});
  if (auto exact = divide_exactly(a, b)) return *exact;
  if (b.is_constant() && b.constant() < 0) {
    const Size negated = Size(0) - b;
    if (SizePolynomial::is_overflow(negated)) {
      return make_function(SizeFunction::kFloorDiv, {a, b});
    }
    return floor_div(Size(0) - a, negated);
  }
  Size quotient;
  if (b.is_constant()) {
    const Split parts = split(a, b.constant());
    quotient = parts.quotient;
    a = parts.rest;
    const std::int64_t common = content(terms_of(a), magnitude(b.constant()));
    if (common > 1) {
      // floor((g*x + k) / (g*c)) is floor((x + floor(k/g)) / c).
      const std::int64_t constant = SizePolynomial::constant_part(a);
      a = *divide_exactly(SizePolynomial::without_constant(a), common) + Size(constant / common);
      b = b.constant() / common;
    }
    const Bounds bounds = a.bounds();
    if (bounds.finite() &&
        floor_quotient(bounds.lower, b.constant()) == floor_quotient(bounds.upper, b.constant())) {
      return quotient + Size(floor_quotient(bounds.lower, b.constant()));
    }
    if (b == Size(1)) return quotient + a;
  } else if (const SizeTerm* divisor = single_term(b)) {
    const Split parts = split(a, *divisor);
    quotient = parts.quotient;
    a = parts.rest;
  }
  if (!b.is_constant()) {
    if (lies_within(a, b)) return quotient;
    if (lies_within(a + b, b)) return quotient - Size(1);
  }
  if (auto nested = fold_nested_quotient(a, b)) return quotient + *nested;
  return quotient + make_function(SizeFunction::kFloorDiv, {a, b});
}

Size fold_trunc_div(const Size& a, const Size& b) {
  if (b != Size(0)) {
    if (auto exact = divide_exactly(a, b)) return *exact;
    if (at_least(a, 0) && at_least(b, 1)) return floor_div(a, b);
  }
  return make_function(SizeFunction::kTruncDiv, {a, b});
}

/// mod(x, m) inside a remainder by a divisor of m may lose its own mod.
Size without_inner_mods(const Size& size, std::int64_t divisor) {
  Size result(SizePolynomial::constant_part(size));
  for (const SizeTerm& term : terms_of(size)) {
    const SizeAtom& atom = *term.factors.front();
    if (term.factors.size() == 1 && is_function(&atom, SizeFunction::kMod)) {
      const auto modulus = atom.arguments[1].as_constant();
      if (modulus && *modulus % divisor == 0) {
        result = result + Size(term.coefficient) * atom.arguments[0];
        continue;
      }
    }
    result = result + SizePolynomial::make({term}, 0);
  }
  return result;
}

Size fold_mod(Size a, const Size& b) {
  if (b == Size(0)) return make_function(SizeFunction::kMod, {a, b});
  if (b == Size(1) || b == Size(-1) || divide_exactly(a, b)) return 0;
  if (!b.is_constant()) {
    if (const SizeTerm* divisor = single_term(b)) a = split(a, *divisor).rest;
    if (lies_within(a, b)) return a;
    if (const Size shifted = a + b; lies_within(shifted, b)) return shifted;
    return make_function(SizeFunction::kMod, {a, b});
  }
  const std::int64_t divisor = b.constant();
  if (divisor < 0) {
    const Size negated = Size(0) - b;
    if (SizePolynomial::is_overflow(negated)) return make_function(SizeFunction::kMod, {a, b});
    return Size(0) - mod(Size(0) - a, negated);
  }
  const Size simpler = without_inner_mods(a, divisor);
  if (!SizePolynomial::is_overflow(simpler)) a = simpler;
  a = split(a, divisor).rest;
  if (a.is_constant()) return a;
  const std::int64_t common = content(terms_of(a), magnitude(divisor));
  if (common > 1) {
    // (g*x + g*k + j) mod g*c is g * ((x + k) mod c) + j for 0 <= j < g.
    const std::int64_t constant = SizePolynomial::constant_part(a);
    const Size reduced =
        *divide_exactly(SizePolynomial::without_constant(a), common) + Size(constant / common);
    return Size(common) * mod(reduced, divisor / common) + Size(constant % common);
  }
  const Bounds bounds = a.bounds();
  if (bounds.finite()) {
    const std::int64_t least = floor_quotient(bounds.lower, divisor);
    if (least == floor_quotient(bounds.upper, divisor)) return a - Size(least) * b;
  }
  return make_function(SizeFunction::kMod, {a, b});
}

/// Arguments of nested calls of the same function in one list, sorted, without repetitions.
std::vector<Size> flattened(SizeFunction function, std::span<const Size> arguments) {
  std::vector<Size> flat;
  for (const Size& argument : arguments) {
    const SizeAtom* atom = SizePolynomial::as_atom(argument);
    if (is_function(atom, function)) {
      flat.insert(flat.end(), atom->arguments.begin(), atom->arguments.end());
    } else {
      flat.push_back(argument);
    }
  }
  std::sort(flat.begin(), flat.end(),
            [](const Size& x, const Size& y) { return compare(x, y) < 0; });
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  return flat;
}

Size fold_extreme(SizeFunction function, std::span<const Size> arguments) {
  std::vector<Size> flat = flattened(function, arguments);
  const auto makes_needless = [&](const Size& kept, const Size& other) {
    return (function == SizeFunction::kMax ? provably_less_equal(other, kept)
                                           : provably_less_equal(kept, other)) == true;
  };
  for (std::size_t i = 0; i < flat.size(); ++i) {
    for (std::size_t j = 0; j < flat.size(); ++j) {
      if (i != j && makes_needless(flat[i], flat[j])) {
        flat.erase(flat.begin() + static_cast<std::ptrdiff_t>(j));
        if (j < i) --i;
        --j;
      }
    }
  }
  if (flat.size() == 1) return flat[0];
  return make_function(function, std::move(flat));
}

Size fold_pow(const Size& a, const Size& b) {
  constexpr std::int64_t kMaxExpandedExponent = 8;
  if (const auto exponent = b.as_constant()) {
    if (*exponent >= 0 && *exponent <= kMaxExpandedExponent) {
      Size product(1);
      for (std::int64_t i = 0; i < *exponent; ++i) product = product * a;
      return product;
    }
  }
  return make_function(SizeFunction::kPow, {a, b});
}

struct Sides {
  Size left, right;
};

/// left - right == difference, with positive coefficients only on both sides.
Sides two_sides(const Size& difference) {
  std::vector<SizeTerm> positive, negative;
  for (const SizeTerm& term : terms_of(difference)) {
    if (term.coefficient > 0) {
      positive.push_back(term);
    } else {
      negative.push_back(term);
    }
  }
  const std::int64_t constant = SizePolynomial::constant_part(difference);
  const Size left = SizePolynomial::make(std::move(positive), 0);
  const Size right = Size(0) - SizePolynomial::make(std::move(negative), 0);
  return constant > 0 ? Sides{left + Size(constant), right} : Sides{left, right - Size(constant)};
}

bool leads_negative(const Size& size) {
  return !size.is_constant() && terms_of(size).front().coefficient < 0;
}

Size make_comparison(SizeFunction function, const Sides& sides) {
  if (SizePolynomial::is_overflow(sides.left) || SizePolynomial::is_overflow(sides.right)) {
    return SizePolynomial::overflow();
  }
  return make_function(function, {sides.left, sides.right});
}

Size fold_equal(const Size& a, const Size& b) {
  if (a == b) return 1;
  const Bounds left = a.bounds();
  const Bounds right = b.bounds();
  if (left.lower > right.upper || right.lower > left.upper) return 0;
  if (left.finite() && left.lower == left.upper && right.lower == left.lower &&
      right.upper == left.lower) {
    return 1;
  }
  Size difference = a - b;
  if (SizePolynomial::is_overflow(difference)) {
    return make_function(SizeFunction::kEqual, {a, b});
  }
  if (difference.is_constant()) return difference.constant() == 0;
  const Bounds bounds = difference.bounds();
  if (bounds.lower > 0 || bounds.upper < 0) return 0;
  const std::int64_t common = content(terms_of(difference), 0);
  if (SizePolynomial::constant_part(difference) % common != 0) return 0;
  difference = *divide_exactly(difference, common);
  if (leads_negative(difference)) difference = Size(0) - difference;
  if (SizePolynomial::is_overflow(difference)) return difference;
  return make_comparison(SizeFunction::kEqual, two_sides(difference));
}

/// a < b is b - a >= 1. Stored with a positive leading coefficient, or as the negation of that, so
/// that a condition and its opposite share their atom.
Size fold_less(const Size& a, const Size& b) {
  if (const auto known = provably_less(a, b)) return *known ? 1 : 0;
  const Size difference = b - a;
  if (SizePolynomial::is_overflow(difference)) return make_function(SizeFunction::kLess, {a, b});
  // g*x + k >= 1 is x + floor((k - 1) / g) >= 0.
  const std::int64_t common = content(terms_of(difference), 0);
  const std::int64_t constant = SizePolynomial::constant_part(difference);
  if (constant == std::numeric_limits<std::int64_t>::min()) {
    return make_function(SizeFunction::kLess, {a, b});
  }
  const Size not_negative = *divide_exactly(SizePolynomial::without_constant(difference), common) +
                            Size(floor_quotient(constant - 1, common));
  const Bounds bounds = not_negative.bounds();
  if (bounds.lower >= 0) return 1;
  if (bounds.upper < 0) return 0;
  // x >= 0 is 0 < x + 1, and the negation of x < 0.
  if (leads_negative(not_negative)) {
    const Sides sides = two_sides(Size(0) - not_negative);
    return Size(1) - make_comparison(SizeFunction::kLess, {sides.right, sides.left});
  }
  const Sides sides = two_sides(not_negative + Size(1));
  return make_comparison(SizeFunction::kLess, {sides.right, sides.left});
}

/// 0 or 1.
Size truth(const Size& a) {
  const Bounds bounds = a.bounds();
  return bounds.lower >= 0 && bounds.upper <= 1 ? a : Size(1) - equal(a, 0);
}

/// And, or: of sizes that are 0 or 1.
Size fold_logic(SizeFunction function, std::span<const Size> arguments) {
  const std::int64_t absorbing = function == SizeFunction::kAnd ? 0 : 1;
  std::vector<Size> truths;
  for (const Size& argument : arguments) truths.push_back(truth(argument));
  std::vector<Size> flat = flattened(function, truths);
  std::erase(flat, Size(1 - absorbing));
  for (std::size_t i = 0; i < flat.size(); ++i) {
    if (flat[i] == Size(absorbing)) return absorbing;
    for (std::size_t j = 0; j < i; ++j) {
      if (flat[i] + flat[j] == Size(1)) return absorbing;
    }
  }
  if (flat.empty()) return 1 - absorbing;
  if (flat.size() == 1) return flat[0];
  return make_function(function, std::move(flat));
}

Size fold_select(const Size& condition, const Size& then_value, const Size& else_value) {
  if (then_value == else_value) return then_value;
  const Size chosen = truth(condition);
  if (chosen.is_constant()) return chosen.constant() != 0 ? then_value : else_value;
  if (then_value == Size(1) && else_value == Size(0)) return chosen;
  if (then_value == Size(0) && else_value == Size(1)) return Size(1) - chosen;
  if (leads_negative(chosen)) {
    return make_function(SizeFunction::kSelect, {Size(1) - chosen, else_value, then_value});
  }
  return make_function(SizeFunction::kSelect, {chosen, then_value, else_value});
}

bool takes(SizeFunction function, std::size_t count) {
  switch (function) {
    case SizeFunction::kNot:
      return count == 1;
    case SizeFunction::kSelect:
      return count == 3;
    case SizeFunction::kMax:
    case SizeFunction::kMin:
    case SizeFunction::kAnd:
    case SizeFunction::kOr:
      return count >= 1;
    default:
      return count == 2;
  }
}

}  // namespace

Size Size::function(SizeFunction function, std::vector<Size> arguments) {
  if (!takes(function, arguments.size())) return SizePolynomial::overflow();
  bool constants = true;
  for (const Size& argument : arguments) {
    if (SizePolynomial::is_overflow(argument)) return SizePolynomial::overflow();
    constants &= argument.is_constant();
  }
  if (constants) {
    std::array<std::int64_t, 8> values{};
    if (arguments.size() <= values.size()) {
      for (std::size_t i = 0; i < arguments.size(); ++i) values[i] = arguments[i].constant();
      const auto value = apply_function(function, std::span(values).first(arguments.size()));
      return value ? Size(*value) : SizePolynomial::overflow();
    }
  }
  const Size& a = arguments[0];
  switch (function) {
    case SizeFunction::kFloorDiv:
      return fold_floor_div(a, arguments[1]);
    case SizeFunction::kTruncDiv:
      return fold_trunc_div(a, arguments[1]);
    case SizeFunction::kMod:
      return fold_mod(a, arguments[1]);
    case SizeFunction::kMax:
    case SizeFunction::kMin:
      return fold_extreme(function, arguments);
    case SizeFunction::kPow:
      return fold_pow(a, arguments[1]);
    case SizeFunction::kEqual:
      return fold_equal(a, arguments[1]);
    case SizeFunction::kNotEqual:
      return Size(1) - fold_equal(a, arguments[1]);
    case SizeFunction::kLess:
      return fold_less(a, arguments[1]);
    case SizeFunction::kLessEqual:
      return Size(1) - fold_less(arguments[1], a);
    case SizeFunction::kAnd:
    case SizeFunction::kOr:
      return fold_logic(function, arguments);
    case SizeFunction::kNot:
      return Size(1) - truth(a);
    case SizeFunction::kSelect:
      return fold_select(a, arguments[1], arguments[2]);
  }
  return SizePolynomial::overflow();
}

namespace {
Size binary(SizeFunction function, const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) {
    const std::array values = {a.constant(), b.constant()};
    const auto value = apply_function(function, values);
    return value ? Size(*value) : SizePolynomial::overflow();
  }
  return Size::function(function, {a, b});
}
}  // namespace

Size floor_div(const Size& a, const Size& b) { return binary(SizeFunction::kFloorDiv, a, b); }
Size ceil_div(const Size& a, const Size& b) {
  if (at_least(b, 1)) return floor_div(a + b - Size(1), b);
  return Size(0) - floor_div(Size(0) - a, b);
}
Size mod(const Size& a, const Size& b) { return binary(SizeFunction::kMod, a, b); }
Size max(const Size& a, const Size& b) { return binary(SizeFunction::kMax, a, b); }
Size min(const Size& a, const Size& b) { return binary(SizeFunction::kMin, a, b); }
Size equal(const Size& a, const Size& b) { return binary(SizeFunction::kEqual, a, b); }
Size less(const Size& a, const Size& b) { return binary(SizeFunction::kLess, a, b); }
Size less_equal(const Size& a, const Size& b) { return binary(SizeFunction::kLessEqual, a, b); }
Size logical_and(const Size& a, const Size& b) { return binary(SizeFunction::kAnd, a, b); }
Size logical_not(const Size& a) { return Size::function(SizeFunction::kNot, {a}); }

}  // namespace tendon::ir
