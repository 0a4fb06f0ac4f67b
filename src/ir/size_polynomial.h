// The inside of a Size: used by size*.cpp only.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/size.h"

namespace tendon::ir {

/// A symbol, or a function of Sizes that is not a polynomial.
struct SizeAtom {
  SymbolRef symbol;  // null: a function
  SizeFunction function = SizeFunction::kFloorDiv;
  std::vector<Size> arguments;
  /// Stands for arithmetic that left int64: has no value, and equals only itself.
  bool overflow = false;

  // What is asked often, computed once.
  Bounds bounds;
  std::size_t hash = 0;
  std::int64_t tree_size = 1;  // atoms below, counted with repetition; saturates
  bool depends_on_data = false;
};
using AtomRef = std::shared_ptr<const SizeAtom>;

/// coefficient * product of the factors, which are sorted and may repeat; neither is empty or zero.
struct SizeTerm {
  std::int64_t coefficient = 1;
  std::vector<AtomRef> factors;
};

/// The terms of a Size other than its constant, in graded lexicographic order, highest first.
struct SizePolynomial {
  std::vector<SizeTerm> terms;
  std::size_t hash = 0;

  /// null for a constant.
  static const SizePolynomial* of(const Size& size) { return size.polynomial_.get(); }
  static std::int64_t constant_part(const Size& size) { return size.value_; }
  static Size without_constant(const Size& size) { return with_constant(size, 0); }
  static Size with_constant(const Size& size, std::int64_t constant);
  /// Terms must be sorted, distinct and without zeros.
  static Size make(std::vector<SizeTerm> sorted_terms, std::int64_t constant);
  /// Sorts and adds up terms of any order.
  static Size collect(std::vector<SizeTerm> terms, std::int64_t constant);
  static Size from_atom(AtomRef atom);
  /// The Size without a value.
  static Size overflow();
  static bool is_overflow(const Size& size);
  /// The atom, if the Size is coefficient 1 times one atom plus nothing.
  static const SizeAtom* as_atom(const Size& size);
};

// Beyond this size atoms are compared by identity and not printed in full: shared sub-expressions
// make trees exponentially larger than their memory.
inline constexpr std::int64_t kMaxTreeSize = 20'000;

std::span<const SizeTerm> terms_of(const Size& size);

/// A new function atom with its arguments as they are: no folding.
Size make_function(SizeFunction function, std::vector<Size> arguments);
Bounds function_bounds(SizeFunction function, std::span<const Size> arguments);
/// Nothing on overflow, division by zero or a wrong number of arguments.
std::optional<std::int64_t> apply_function(SizeFunction function,
                                           std::span<const std::int64_t> arguments);
const char* size_function_name(SizeFunction function);

std::strong_ordering compare(const SizeAtom& a, const SizeAtom& b);
std::strong_ordering compare(const std::vector<AtomRef>& a, const std::vector<AtomRef>& b);
std::strong_ordering compare(const Size& a, const Size& b);

/// What remains of `factors` after taking `divisor` out, if it is in there.
std::optional<std::vector<AtomRef>> divide_factors(const std::vector<AtomRef>& factors,
                                                   const std::vector<AtomRef>& divisor);

// Division as Python rounds it; the divisor is not 0, nor -1 with the smallest number.
constexpr std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return quotient - static_cast<std::int64_t>(a % b != 0 && (a < 0) != (b < 0));
}
constexpr std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

// Arithmetic on intervals; bounds saturate at kUnbounded.
Bounds add_bounds(const Bounds& a, const Bounds& b);
Bounds multiply_bounds(const Bounds& a, const Bounds& b);
Bounds scale_bounds(const Bounds& a, std::int64_t factor);
inline constexpr Bounds kNoBounds{-kUnbounded, kUnbounded};

}  // namespace tendon::ir
