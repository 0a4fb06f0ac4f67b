// Expressions as lowerings write them.
#include "aten/builder.h"

namespace tendon::aten {

namespace {
Expr wrap(Expr like, ExprId id) { return Expr{like.builder, id}; }
}  // namespace

DType Expr::dtype() const { return builder->pool().dtype(id); }

Expr unary(Op op, Expr a) { return wrap(a, a.builder->pool().unary(op, a.id)); }
Expr binary(Op op, Expr a, Expr b) { return wrap(a, a.builder->pool().binary(op, a.id, b.id)); }
Expr operator+(Expr a, Expr b) { return binary(Op::kAdd, a, b); }
Expr operator-(Expr a, Expr b) { return binary(Op::kSubtract, a, b); }
Expr operator*(Expr a, Expr b) { return binary(Op::kMultiply, a, b); }
Expr operator/(Expr a, Expr b) { return binary(Op::kDivide, a, b); }
Expr operator-(Expr a) { return unary(Op::kNegate, a); }
Expr operator<(Expr a, Expr b) { return binary(Op::kLess, a, b); }
Expr operator<=(Expr a, Expr b) { return binary(Op::kLessEqual, a, b); }
Expr operator>(Expr a, Expr b) { return binary(Op::kLess, b, a); }
Expr operator>=(Expr a, Expr b) { return binary(Op::kLessEqual, b, a); }
Expr operator==(Expr a, Expr b) { return binary(Op::kEqual, a, b); }
Expr operator!=(Expr a, Expr b) { return binary(Op::kNotEqual, a, b); }
Expr operator&&(Expr a, Expr b) { return binary(Op::kAnd, a, b); }
Expr operator||(Expr a, Expr b) { return binary(Op::kOr, a, b); }
Expr operator!(Expr a) { return unary(Op::kLogicalNot, a); }
Expr minimum(Expr a, Expr b) { return binary(Op::kMinimum, a, b); }
Expr maximum(Expr a, Expr b) { return binary(Op::kMaximum, a, b); }
Expr floor_divide(Expr a, Expr b) { return binary(Op::kFloorDivide, a, b); }
Expr remainder(Expr a, Expr b) { return binary(Op::kRemainder, a, b); }

Expr select(Expr condition, Expr then_value, Expr else_value) {
  return wrap(condition,
              condition.builder->pool().select(condition.id, then_value.id, else_value.id));
}
Expr cast(DType dtype, Expr a) { return wrap(a, a.builder->pool().cast(dtype, a.id)); }
Expr like(Expr a, double value) { return a.builder->constant(a.dtype(), value); }
Expr like(Expr a, std::int64_t value) { return a.builder->constant(a.dtype(), value); }

}  // namespace tendon::aten
