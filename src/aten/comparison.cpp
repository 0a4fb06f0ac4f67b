// Comparisons and logic.
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

using Body = std::function<Expr(Expr, Expr)>;

Outputs compare(Builder& b, const Arguments& arguments, const Body& body) {
  const Tensor& self = arguments.tensor("self");
  const Arguments::Value& value = arguments.value("other");
  if (const auto* other = std::get_if<Tensor>(&value)) {
    const DType type = compute_type(result_type({self, *other}));
    return elementwise(b, {self, *other}, type, DType::kBool,
                       [&](const std::vector<Expr>& e) { return body(e[0], e[1]); });
  }
  const Scalar& other = arguments.scalar("other");
  const DType result = result_type({self, other});
  return elementwise(
      b, {self}, compute_type(result), DType::kBool, [&](const std::vector<Expr>& e) {
        // The number as PyTorch holds it: rounded to the tensor's type first.
        const Expr number = cast(e[0].dtype(), cast(result, b.scalar(other, result)));
        return body(e[0], number);
      });
}

Outputs bitwise(Builder& b, const Arguments& arguments, Op op) {
  const auto type_of = [&](std::string_view name) {
    const auto* tensor = std::get_if<Tensor>(&arguments.value(name));
    return tensor != nullptr ? Operand(*tensor) : Operand(arguments.scalar(name));
  };
  const DType type = result_type({type_of("self"), type_of("other")});
  const auto as_tensor = [&](std::string_view name) {
    const auto* tensor = std::get_if<Tensor>(&arguments.value(name));
    return tensor != nullptr ? *tensor : scalar_tensor(b, arguments.scalar(name), type);
  };
  if (is_floating(type)) throw InvalidProgram("bitwise operators take integers and bool");
  return elementwise(b, {as_tensor("self"), as_tensor("other")}, type, type,
                     [op](const std::vector<Expr>& e) { return binary(op, e[0], e[1]); });
}

Outputs logical(Builder& b, const Arguments& arguments, Op op) {
  return elementwise(b, {arguments.tensor("self"), arguments.tensor("other")}, DType::kBool,
                     DType::kBool,
                     [op](const std::vector<Expr>& e) { return binary(op, e[0], e[1]); });
}

}  // namespace

OPERATOR(eq, "eq.Tensor(Tensor self, Tensor other) -> Tensor",
         "eq.Scalar(Tensor self, Scalar other) -> Tensor") {
  return compare(b, arguments, [](Expr x, Expr y) { return x == y; });
}
OPERATOR(ne, "ne.Tensor(Tensor self, Tensor other) -> Tensor",
         "ne.Scalar(Tensor self, Scalar other) -> Tensor",
         "not_equal.Tensor(Tensor self, Tensor other) -> Tensor",
         "not_equal.Scalar(Tensor self, Scalar other) -> Tensor") {
  return compare(b, arguments, [](Expr x, Expr y) { return x != y; });
}
OPERATOR(lt, "lt.Tensor(Tensor self, Tensor other) -> Tensor",
         "lt.Scalar(Tensor self, Scalar other) -> Tensor",
         "less.Tensor(Tensor self, Tensor other) -> Tensor",
         "less.Scalar(Tensor self, Scalar other) -> Tensor") {
  return compare(b, arguments, [](Expr x, Expr y) { return x < y; });
}
OPERATOR(le, "le.Tensor(Tensor self, Tensor other) -> Tensor",
         "le.Scalar(Tensor self, Scalar other) -> Tensor",
         "less_equal.Tensor(Tensor self, Tensor other) -> Tensor",
         "less_equal.Scalar(Tensor self, Scalar other) -> Tensor") {
  return compare(b, arguments, [](Expr x, Expr y) { return x <= y; });
}
OPERATOR(gt, "gt.Tensor(Tensor self, Tensor other) -> Tensor",
         "gt.Scalar(Tensor self, Scalar other) -> Tensor",
         "greater.Tensor(Tensor self, Tensor other) -> Tensor",
         "greater.Scalar(Tensor self, Scalar other) -> Tensor") {
  return compare(b, arguments, [](Expr x, Expr y) { return x > y; });
}
OPERATOR(ge, "ge.Tensor(Tensor self, Tensor other) -> Tensor",
         "ge.Scalar(Tensor self, Scalar other) -> Tensor",
         "greater_equal.Tensor(Tensor self, Tensor other) -> Tensor",
         "greater_equal.Scalar(Tensor self, Scalar other) -> Tensor") {
  return compare(b, arguments, [](Expr x, Expr y) { return x >= y; });
}
OPERATOR(bitwise_and, "bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor",
         "bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor",
         "__and__.Tensor(Tensor self, Tensor other) -> Tensor",
         "__and__.Scalar(Tensor self, Scalar other) -> Tensor") {
  return bitwise(b, arguments, Op::kAnd);
}
OPERATOR(bitwise_or, "bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor",
         "bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor",
         "__or__.Tensor(Tensor self, Tensor other) -> Tensor",
         "__or__.Scalar(Tensor self, Scalar other) -> Tensor") {
  return bitwise(b, arguments, Op::kOr);
}
OPERATOR(bitwise_xor, "bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor",
         "bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor",
         "__xor__.Tensor(Tensor self, Tensor other) -> Tensor",
         "__xor__.Scalar(Tensor self, Scalar other) -> Tensor") {
  return bitwise(b, arguments, Op::kXor);
}
OPERATOR(bitwise_left_shift, "bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor",
         "bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
         "__lshift__.Tensor(Tensor self, Tensor other) -> Tensor",
         "__lshift__.Scalar(Tensor self, Scalar other) -> Tensor") {
  return bitwise(b, arguments, Op::kShiftLeft);
}
OPERATOR(bitwise_right_shift, "bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor",
         "bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
         "__rshift__.Tensor(Tensor self, Tensor other) -> Tensor",
         "__rshift__.Scalar(Tensor self, Scalar other) -> Tensor") {
  return bitwise(b, arguments, Op::kShiftRight);
}
OPERATOR(bitwise_not, "bitwise_not(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return elementwise(b, {self}, self.dtype, self.dtype, [](const std::vector<Expr>& e) {
    return e[0].dtype() == DType::kBool ? !e[0] : unary(Op::kBitNot, e[0]);
  });
}
OPERATOR(logical_and, "logical_and(Tensor self, Tensor other) -> Tensor") {
  return logical(b, arguments, Op::kAnd);
}
OPERATOR(logical_or, "logical_or(Tensor self, Tensor other) -> Tensor") {
  return logical(b, arguments, Op::kOr);
}
OPERATOR(logical_xor, "logical_xor(Tensor self, Tensor other) -> Tensor") {
  return logical(b, arguments, Op::kXor);
}
OPERATOR(logical_not, "logical_not(Tensor self) -> Tensor") {
  return elementwise(b, {arguments.tensor("self")}, DType::kBool, DType::kBool,
                     [](const std::vector<Expr>& e) { return !e[0]; });
}

}  // namespace tendon::aten
