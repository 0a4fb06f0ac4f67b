// Numbers of the program: sizes, items, arithmetic on them, assertions.
#include <cmath>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

bool is_size(const Scalar& s) {
  return std::holds_alternative<std::int64_t>(s) || std::holds_alternative<bool>(s) ||
         std::holds_alternative<Size>(s);
}

Size size_of(const Scalar& s) {
  if (const auto* v = std::get_if<std::int64_t>(&s)) return *v;
  if (const auto* v = std::get_if<bool>(&s)) return *v ? 1 : 0;
  return std::get<Size>(s);
}

using SizeBody = Size (*)(const Size&, const Size&);
using FloatBody = Expr (*)(Expr, Expr);

/// Integers as sizes; anything else as a 0-d float64 tensor.
Scalar combine(Builder& b, const Arguments& arguments, SizeBody sizes, FloatBody floats) {
  const Scalar& left = arguments.scalar("a");
  const Scalar& right = arguments.scalar("b");
  if (is_size(left) && is_size(right) && sizes != nullptr)
    return Scalar(sizes(size_of(left), size_of(right)));
  if (floats == nullptr) throw Unsupported("numbers that are not integers");
  return b.map({}, [&](const Indices&) {
    return floats(b.scalar(left, DType::kFloat64), b.scalar(right, DType::kFloat64));
  });
}

Outputs item(Builder& b, const Arguments& arguments) {
  Tensor self = arguments.tensor("self");
  if (self.rank() != 0) self = reshape(b, self, {});
  if (is_floating(self.dtype)) return Scalar(self);
  const auto& expected = arguments.expected_scalars();
  return Scalar(b.item(self, expected.empty() ? std::nullopt : expected[0]));
}

}  // namespace

OPERATOR(operator_add, "_operator.add(Scalar a, Scalar b) -> Scalar") {
  return combine(
      b, arguments, [](const Size& x, const Size& y) { return x + y; },
      [](Expr x, Expr y) { return x + y; });
}
OPERATOR(operator_sub, "_operator.sub(Scalar a, Scalar b) -> Scalar") {
  return combine(
      b, arguments, [](const Size& x, const Size& y) { return x - y; },
      [](Expr x, Expr y) { return x - y; });
}
OPERATOR(operator_mul, "_operator.mul(Scalar a, Scalar b) -> Scalar") {
  return combine(
      b, arguments, [](const Size& x, const Size& y) { return x * y; },
      [](Expr x, Expr y) { return x * y; });
}
OPERATOR(operator_floordiv, "_operator.floordiv(Scalar a, Scalar b) -> Scalar") {
  return combine(b, arguments, ir::floor_div, [](Expr x, Expr y) { return floor_divide(x, y); });
}
OPERATOR(operator_mod, "_operator.mod(Scalar a, Scalar b) -> Scalar") {
  return combine(b, arguments, ir::mod, [](Expr x, Expr y) { return remainder(x, y); });
}
OPERATOR(operator_truediv, "_operator.truediv(Scalar a, Scalar b) -> Scalar") {
  return combine(b, arguments, nullptr, [](Expr x, Expr y) { return x / y; });
}
OPERATOR(operator_eq, "_operator.eq(Scalar a, Scalar b) -> Scalar") {
  return combine(b, arguments, ir::equal, [](Expr x, Expr y) { return x == y; });
}
OPERATOR(operator_ne, "_operator.ne(Scalar a, Scalar b) -> Scalar") {
  return combine(
      b, arguments, [](const Size& x, const Size& y) { return ir::logical_not(ir::equal(x, y)); },
      [](Expr x, Expr y) { return x != y; });
}
OPERATOR(operator_lt, "_operator.lt(Scalar a, Scalar b) -> Scalar") {
  return combine(b, arguments, ir::less, [](Expr x, Expr y) { return x < y; });
}
OPERATOR(operator_le, "_operator.le(Scalar a, Scalar b) -> Scalar") {
  return combine(b, arguments, ir::less_equal, [](Expr x, Expr y) { return x <= y; });
}
OPERATOR(operator_gt, "_operator.gt(Scalar a, Scalar b) -> Scalar") {
  return combine(
      b, arguments, [](const Size& x, const Size& y) { return ir::less(y, x); },
      [](Expr x, Expr y) { return x > y; });
}
OPERATOR(operator_ge, "_operator.ge(Scalar a, Scalar b) -> Scalar") {
  return combine(
      b, arguments, [](const Size& x, const Size& y) { return ir::less_equal(y, x); },
      [](Expr x, Expr y) { return x >= y; });
}
OPERATOR(operator_and, "_operator.and_(Scalar a, Scalar b) -> Scalar") {
  return combine(b, arguments, ir::logical_and, nullptr);
}
OPERATOR(operator_or, "_operator.or_(Scalar a, Scalar b) -> Scalar") {
  return combine(
      b, arguments,
      [](const Size& x, const Size& y) {
        return ir::logical_not(ir::logical_and(ir::logical_not(x), ir::logical_not(y)));
      },
      nullptr);
}
OPERATOR(operator_neg, "_operator.neg(Scalar a) -> Scalar") {
  const Scalar& a = arguments.scalar("a");
  if (is_size(a)) return Scalar(Size(0) - size_of(a));
  return Scalar(b.map({}, [&](const Indices&) { return -b.scalar(a, DType::kFloat64); }));
}
OPERATOR(sym_max, "torch.sym_max(Scalar a, Scalar b) -> Scalar") {
  return combine(b, arguments, ir::max, [](Expr x, Expr y) { return maximum(x, y); });
}
OPERATOR(sym_min, "torch.sym_min(Scalar a, Scalar b) -> Scalar") {
  return combine(b, arguments, ir::min, [](Expr x, Expr y) { return minimum(x, y); });
}
OPERATOR(sym_not, "torch.sym_not(Scalar a) -> Scalar") {
  return Scalar(ir::logical_not(size_of(arguments.scalar("a"))));
}
OPERATOR(sym_float, "torch.sym_float(Scalar a) -> Scalar") {
  return Scalar(
      b.map({}, [&](const Indices&) { return b.scalar(arguments.scalar("a"), DType::kFloat64); }));
}
OPERATOR(sym_sum, "torch.sym_sum(Scalar[] args) -> Scalar") {
  Size total = 0;
  for (const Size& size : arguments.sizes("args")) total = total + size;
  return Scalar(total);
}

OPERATOR(sym_size, "sym_size.int(Tensor self, int dim) -> SymInt") {
  const Tensor& self = arguments.tensor("self");
  return Scalar(self.size(wrap_axis(arguments.integer("dim"), self.rank())));
}
OPERATOR(sym_stride, "sym_stride.int(Tensor self, int dim) -> SymInt") {
  const Tensor& self = arguments.tensor("self");
  return Scalar(ir::contiguous_strides(
      self.shape)[static_cast<std::size_t>(wrap_axis(arguments.integer("dim"), self.rank()))]);
}
OPERATOR(sym_numel, "sym_numel(Tensor self) -> SymInt") {
  return Scalar(ir::element_count(arguments.tensor("self").shape));
}
OPERATOR(sym_storage_offset, "sym_storage_offset(Tensor self) -> SymInt") {
  // What export recorded: views of inputs are at offset 0 unless it says otherwise.
  const auto& expected = arguments.expected_scalars();
  if (!expected.empty() && expected[0]) return Scalar(*expected[0]);
  return Scalar(Size(0));
}
OPERATOR(item, "item(Tensor self) -> Scalar", "_local_scalar_dense(Tensor self) -> Scalar") {
  return item(b, arguments);
}

OPERATOR(assert_scalar, "_assert_scalar(Scalar self, str assert_msg) -> ()") {
  const Scalar& self = arguments.scalar("self");
  if (is_size(self)) {
    b.assert_size(size_of(self), arguments.text("assert_msg"));
  } else if (const auto* tensor = std::get_if<Tensor>(&self)) {
    b.assert_tensor(cast(b, *tensor, DType::kBool), arguments.text("assert_msg"));
  }
  return {};
}
OPERATOR(assert_async, "_assert_async.msg(Tensor self, str assert_msg) -> ()") {
  const Tensor flag = cast(b, arguments.tensor("self"), DType::kBool);
  b.assert_tensor(flag.rank() == 0 ? flag : reshape(b, flag, {}), arguments.text("assert_msg"));
  return {};
}
OPERATOR(assert_tensor_metadata,
         "_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, "
         "ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()") {
  // The device is the caller's choice, strides are ours; the dtype is checked here.
  const auto dtype = arguments.dtype("dtype");
  const Tensor& a = arguments.tensor("a");
  if (dtype && *dtype != a.dtype) {
    throw InvalidProgram("Tensor dtype mismatch! Expected: " + std::string(dtype_name(*dtype)) +
                         ", Got: " + std::string(dtype_name(a.dtype)));
  }
  return {};
}
OPERATOR(constrain_range, "sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
         "sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()") {
  const Scalar& scalar = arguments.scalar("size");
  if (!is_size(scalar)) return {};
  const Size size = size_of(scalar);
  const auto low = arguments.optional_integer("min"), high = arguments.optional_integer("max");
  if (low)
    b.assert_size(ir::less_equal(*low, size), "Invalid value range for " + size.to_string() +
                                                  ": below " + std::to_string(*low));
  if (high)
    b.assert_size(ir::less_equal(size, *high), "Invalid value range for " + size.to_string() +
                                                   ": above " + std::to_string(*high));
  return {};
}

}  // namespace tendon::aten
