// Symbolic sizes: integer expressions over symbols with ranges.
//
// A Size is a polynomial in canonical form over atoms; an atom is a symbol or a function that is
// not a polynomial (floor division, max, a comparison, ...) of other Sizes. Two Sizes that are
// equal as polynomials are equal as values: s0 + 1 - 1 == s0. Constants need no memory. Values are
// immutable and may be shared between threads.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tendon::ir {

/// Stands for "no bound" in ranges; arithmetic on bounds saturates there.
inline constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

/// A named unknown. Identity is the object's address.
struct Symbol {
  std::string name;
  std::int64_t lower = 0;
  std::int64_t upper = kUnbounded;
  /// Known only after some kernel has run (a mask's count, item()); false: from input shapes.
  bool from_data = false;
  /// The value at export, if recorded.
  std::optional<std::int64_t> hint;
};
using SymbolRef = std::shared_ptr<const Symbol>;

/// Inclusive; kUnbounded / -kUnbounded where there is no bound.
struct Bounds {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  bool finite() const { return upper != kUnbounded && lower != -kUnbounded; }
};

/// Functions that are not polynomials. Comparisons and logic give 0 or 1. kFloorDiv rounds toward
/// minus infinity and kMod has the divisor's sign (Python's rules); kTruncDiv is C's division.
enum class SizeFunction : std::uint8_t {
  kFloorDiv,
  kTruncDiv,
  kMod,
  kMax,
  kMin,
  kPow,  // exponent >= 0
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kAnd,
  kOr,
  kNot,
  kSelect,
};

struct SizePolynomial;

/// Looks up a symbol's value during evaluation; returns nothing for an unknown symbol.
using SymbolLookup = std::function<std::optional<std::int64_t>(const Symbol&)>;

class Size {
 public:
  Size() = default;
  Size(std::int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  static Size symbol(SymbolRef symbol);
  /// Folds and canonicalises where it can.
  static Size function(SizeFunction function, std::vector<Size> arguments);

  bool is_constant() const { return polynomial_ == nullptr; }
  /// Only for constants.
  std::int64_t constant() const { return value_; }
  std::optional<std::int64_t> as_constant() const {
    return is_constant() ? std::optional(value_) : std::nullopt;
  }
  /// The symbol, if this Size is just one; else null.
  SymbolRef as_symbol() const;

  friend Size operator+(const Size& a, const Size& b);
  friend Size operator-(const Size& a, const Size& b);
  friend Size operator*(const Size& a, const Size& b);

  /// Equality of canonical forms: true means equal for every value of the symbols; false means "not
  /// known to be equal".
  friend bool operator==(const Size& a, const Size& b);
  std::size_t hash() const;

  /// From the symbols' ranges: contains every possible value.
  Bounds bounds() const;
  /// Nothing if a symbol is unknown, or an operation overflows or divides by zero.
  std::optional<std::int64_t> evaluate(const SymbolLookup& lookup) const;
  /// Replaces symbols; the function returns nothing to keep one.
  Size substitute(const std::function<std::optional<Size>(const Symbol&)>& replacement) const;
  /// Calls `visit` once for every distinct symbol, in a fixed order.
  void for_each_symbol(const std::function<void(const SymbolRef&)>& visit) const;
  /// True if any symbol comes from data.
  bool depends_on_data() const;
  /// "12", "s0", "4*s0 + 2", "floor_div(s0, 2)".
  std::string to_string() const;
  /// The same as an expression of C++: every symbol as `symbol_text` says it, functions as calls of
  /// size_floor_div(a, b), size_equal(a, b), ..., whole however large. A Size without a value
  /// (arithmetic that left int64) reads as the largest int64.
  std::string to_source(const std::function<std::string(const Symbol&)>& symbol_text) const;

 private:
  friend struct SizePolynomial;
  std::int64_t value_ = 0;
  std::shared_ptr<const SizePolynomial> polynomial_;  // null: the constant value_
};

Size floor_div(const Size& a, const Size& b);
Size ceil_div(const Size& a, const Size& b);
Size mod(const Size& a, const Size& b);
Size max(const Size& a, const Size& b);
Size min(const Size& a, const Size& b);
/// Comparisons as Sizes (0 or 1), folded where bounds decide.
Size equal(const Size& a, const Size& b);
Size less(const Size& a, const Size& b);
Size less_equal(const Size& a, const Size& b);
Size logical_and(const Size& a, const Size& b);
Size logical_not(const Size& a);

/// a / b where b divides a as polynomials (4*s0 by 2 gives 2*s0; s0*s1 by s0 gives s1).
std::optional<Size> divide_exactly(const Size& a, const Size& b);

/// What the symbols' ranges prove; nothing if they do not decide.
std::optional<bool> provably_less(const Size& a, const Size& b);
std::optional<bool> provably_less_equal(const Size& a, const Size& b);
std::optional<bool> provably_equal(const Size& a, const Size& b);

using Shape = std::vector<Size>;
/// Product of the sizes; 1 for an empty shape.
Size element_count(std::span<const Size> shape);
/// Row-major strides.
Shape contiguous_strides(std::span<const Size> shape);
/// "[s0, 3, 4]"
std::string to_string(std::span<const Size> shape);
bool is_constant(std::span<const Size> shape);

}  // namespace tendon::ir
