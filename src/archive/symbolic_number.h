// Numbers that symbolic expressions stand for: integers, fractions of integers, and floating-point
// results.
#pragma once

#include "ir/size.h"
#include "tendon/status.h"

namespace tendon::archive {

/// A size expression may leave the integers on its way (`FloorToInt(IntTrueDiv(s0, 3))`). As long
/// as floating-point arithmetic gives what exact arithmetic gives, the number is kept as a fraction
/// and can come back; otherwise it is opaque, and whatever integer is made of it is known only
/// where the program computes it. Sizes are taken to be below 2^32, products of them below 2^53.
class SymbolicNumber {
 public:
  SymbolicNumber() = default;
  SymbolicNumber(ir::Size value) : numerator_(std::move(value)) {}  // NOLINT
  /// A floating-point constant: a fraction if it is a small one of a power of two, else opaque.
  static SymbolicNumber real(double value);
  static SymbolicNumber opaque();

  bool is_integer() const { return kind_ == Kind::kInteger; }
  bool is_opaque() const { return kind_ == Kind::kOpaque; }
  /// Of an integer, or of a fraction that the writer knows to be one (CleanDiv, 2*s0/2).
  /// Errors: Unimplemented.
  Result<ir::Size> as_size() const;

  friend SymbolicNumber operator+(const SymbolicNumber& a, const SymbolicNumber& b);
  friend SymbolicNumber operator-(const SymbolicNumber& a, const SymbolicNumber& b);
  friend SymbolicNumber operator*(const SymbolicNumber& a, const SymbolicNumber& b);
  /// Exact, as sympy divides.
  friend SymbolicNumber divide(const SymbolicNumber& a, const SymbolicNumber& b);
  /// As floating-point numbers: rounded once, unless b is a power of two.
  friend SymbolicNumber true_divide(const SymbolicNumber& a, const SymbolicNumber& b);
  friend SymbolicNumber power(const SymbolicNumber& base, const SymbolicNumber& exponent);
  friend SymbolicNumber maximum(const SymbolicNumber& a, const SymbolicNumber& b);
  friend SymbolicNumber minimum(const SymbolicNumber& a, const SymbolicNumber& b);
  friend SymbolicNumber select(const ir::Size& condition, const SymbolicNumber& a,
                               const SymbolicNumber& b);

  /// Integers of a number. Errors: Unimplemented for an opaque one.
  enum class Rounding { kFloor, kCeil, kTruncate, kHalfToEven };
  Result<ir::Size> rounded(Rounding rounding) const;

  /// Comparisons, 0 or 1. Errors: Unimplemented where rounding might decide.
  enum class Relation { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
  static Result<ir::Size> compare(const SymbolicNumber& a, Relation relation,
                                  const SymbolicNumber& b);

 private:
  enum class Kind {
    kInteger,
    kFraction,  // numerator / denominator exactly
    kRounded,   // numerator / denominator, rounded to the nearest floating-point number
    kOpaque,
  };
  SymbolicNumber(Kind kind, ir::Size numerator, ir::Size denominator)
      : kind_(kind), numerator_(std::move(numerator)), denominator_(std::move(denominator)) {}
  static SymbolicNumber quotient(const SymbolicNumber& a, const SymbolicNumber& b, bool exact);
  bool is_exact() const { return kind_ == Kind::kInteger || kind_ == Kind::kFraction; }
  static bool integers(const SymbolicNumber& a, const SymbolicNumber& b) {
    return a.is_integer() && b.is_integer();
  }

  Kind kind_ = Kind::kInteger;
  ir::Size numerator_;
  ir::Size denominator_ = 1;  // positive
};

SymbolicNumber divide(const SymbolicNumber& a, const SymbolicNumber& b);
SymbolicNumber true_divide(const SymbolicNumber& a, const SymbolicNumber& b);
SymbolicNumber power(const SymbolicNumber& base, const SymbolicNumber& exponent);
SymbolicNumber maximum(const SymbolicNumber& a, const SymbolicNumber& b);
SymbolicNumber minimum(const SymbolicNumber& a, const SymbolicNumber& b);

}  // namespace tendon::archive
