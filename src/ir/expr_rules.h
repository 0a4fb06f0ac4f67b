// The rules that ExprPool applies while it builds. Used by expr*.cpp only.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "ir/expr.h"

namespace tendon::ir {

/// Builds nodes of one pool. Every function returns an expression with the value its name says,
/// under the pool's current extents.
class ExprRules {
 public:
  explicit ExprRules(ExprPool& pool) : pool_(pool) {}

  ExprId cast(DType dtype, ExprId a);
  ExprId bitcast(DType dtype, ExprId a);
  ExprId unary(Op op, ExprId a);
  ExprId binary(Op op, ExprId a, ExprId b);
  ExprId select(ExprId condition, ExprId then_value, ExprId else_value);
  ExprId check_index(ExprId position, const IndexCheck& check);
  ExprId from_affine(ExprPool::Affine affine);

 private:
  using Affine = ExprPool::Affine;

  // The node as it is, without simplification.
  ExprId make(Op op, DType dtype, std::initializer_list<ExprId> arguments,
              std::int64_t payload = 0) {
    return pool_.intern(op, dtype, std::span(arguments.begin(), arguments.size()), payload);
  }
  /// Orders the arguments of a commutative operation: constants last.
  ExprId make_commutative(Op op, DType dtype, ExprId a, ExprId b);
  ExprId make_constant(DType dtype, std::int64_t payload) {
    return make(Op::kConstant, dtype, {}, payload);
  }
  ExprId truth(bool value) { return make_constant(DType::kBool, value ? 1 : 0); }

  const ExprNode& node(ExprId id) const { return pool_.node(id); }
  Op op(ExprId id) const { return node(id).op; }
  DType dtype(ExprId id) const { return node(id).dtype; }
  ExprId argument(ExprId id, std::size_t i) const { return pool_.arguments(id)[i]; }
  bool is_constant(ExprId id) const { return op(id) == Op::kConstant; }
  std::optional<std::int64_t> integer(ExprId id) const { return pool_.as_integer(id); }
  bool is_integer_constant(ExprId id, std::int64_t value) const { return integer(id) == value; }
  bool is_float_constant(ExprId id, double value) const;  // by bits: 0.0 is not -0.0

  // expr_simplify.cpp
  ExprId make_check(ExprId position, const IndexCheck& check);
  bool cast_is_lossless(ExprId a, DType through);
  std::optional<ExprId> simplify_float(Op op, ExprId a, ExprId b);
  // expr_integer.cpp
  std::optional<ExprId> simplify_integer(Op op, ExprId a, ExprId b);
  std::optional<ExprId> simplify_extreme(Op op, ExprId a, ExprId b);
  // expr_logic.cpp
  ExprId logical_not(ExprId a);
  std::optional<ExprId> simplify_bool(Op op, ExprId a, ExprId b);
  ExprId join(Op op, ExprId a, ExprId b);  // and, or
  std::optional<ExprId> simplify_comparison(Op op, ExprId a, ExprId b);
  std::optional<ExprId> compare_affine(Op op, ExprId a, ExprId b);
  // expr_division.cpp: int64 division by a Size that is positive.
  std::optional<ExprId> simplify_division(Op op, ExprId a, ExprId b);
  ExprId quotient(const Affine& a, const Size& divisor);
  ExprId remainder(const Affine& a, const Size& divisor);
  ExprId raw_division(Op op, const Affine& a, const Size& divisor);
  void recombine(Affine& affine);
  void recombine_digits(Affine& affine);

  ExprPool& pool_;
};

/// What is known about integer expressions under the pool's extents. One object answers one
/// question: it stops looking deeper when it has seen enough nodes.
class ExprFacts {
 public:
  using Affine = ExprPool::Affine;
  // Wide enough that sums and products of 64-bit numbers do not overflow.
  using Wide = __int128;
  /// Stands for the end of an unbounded size; nothing that exists in memory is that large.
  static constexpr Wide kInfinite = static_cast<Wide>(1) << 120;
  struct Range {
    Wide lower = 0;
    Wide upper = 0;
    bool is_finite() const { return lower > -kInfinite && upper < kInfinite; }
  };
  struct SizeRange {
    std::optional<Size> lower, upper;
  };

  explicit ExprFacts(const ExprPool& pool) : pool_(pool) {}

  static Range type_range(DType dtype);
  /// The value of an integer or bool expression lies in it.
  Range range(ExprId id);
  /// The same for a sum; nothing if it might not fit into int64.
  std::optional<Range> range(const Affine& affine);
  /// Bounds as Sizes, for int64.
  SizeRange size_range(ExprId id);
  SizeRange size_range(const Affine& affine);

  /// What the ranges prove about sums that do not wrap.
  bool is_at_least(const Affine& a, const Size& bound);
  bool is_less(const Affine& a, const Size& bound);

 private:
  Range compute(ExprId id);
  std::optional<Range> combine(Op op, const Range& a, const Range& b);

  const ExprPool& pool_;
  int budget_ = 200;
};

// expr_affine.cpp
std::optional<Size> as_size(const ExprPool& pool, ExprId id);  // of a constant or a size
/// Not a number so large that sizes made of it would leave int64.
bool is_size_like(const Size& size);
ExprPool::Affine scale(const ExprPool::Affine& a, const Size& factor);
ExprPool::Affine add(const ExprPool::Affine& a, const ExprPool::Affine& b);
ExprPool::Affine subtract(const ExprPool::Affine& a, const ExprPool::Affine& b);
/// True if an operation left what a Size can hold.
bool overflowed(const ExprPool::Affine& a);

}  // namespace tendon::ir
