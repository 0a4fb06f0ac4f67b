// Complex numbers: parts, views as pairs, what is special about them.
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// The view of one part: `base` is seen as pairs of real numbers.
Tensor negated(Builder& b, const Tensor& x) {
  return elementwise(b, {x}, x.dtype, x.dtype, [](const std::vector<Expr>& e) { return -e[0]; });
}

DType complex_of(DType component) {
  return component == DType::kFloat64   ? DType::kComplex128
         : component == DType::kFloat16 ? DType::kComplex32
                                        : DType::kComplex64;
}

Tensor conjugate(Builder& b, const Tensor& x) {
  return make_complex(b, real_part(b, x), negated(b, imaginary_part(b, x)));
}

void check_floating(const Tensor& x) {
  if (!is_floating(x.dtype) || x.dtype == DType::kBFloat16) {
    throw InvalidProgram("Expected both inputs to be Half, Float or Double tensors but got " +
                         std::string(dtype_name(x.dtype)));
  }
}

/// The pairs of a complex tensor as a real tensor with one more axis.
Tensor pairs(const Tensor& x) {
  Tensor result{x.value, x.component(), x.shape};
  result.shape.push_back(2);
  return result;
}

}  // namespace

OPERATOR(complex, "complex(Tensor real, Tensor imag) -> Tensor") {
  const Tensor &real = arguments.tensor("real"), &imaginary = arguments.tensor("imag");
  check_floating(real);
  if (real.dtype != imaginary.dtype) {
    throw InvalidProgram("Expected object of scalar type " + std::string(dtype_name(real.dtype)) +
                         " but got scalar type " + std::string(dtype_name(imaginary.dtype)) +
                         " for second argument");
  }
  const std::vector<Shape> shapes = {real.shape, imaginary.shape};
  const Shape shape = broadcast_shapes(b, shapes);
  return make_complex(b, expand(b, real, shape), expand(b, imaginary, shape));
}
OPERATOR(polar, "polar(Tensor abs, Tensor angle) -> Tensor") {
  const Tensor &radius = arguments.tensor("abs"), &angle = arguments.tensor("angle");
  check_floating(radius);
  const auto part = [&](Op op) {
    return elementwise(b, {radius, angle}, compute_type(radius.dtype), radius.dtype,
                       [op](const std::vector<Expr>& e) { return e[0] * unary(op, e[1]); });
  };
  return make_complex(b, part(Op::kCos), part(Op::kSin));
}
OPERATOR(conjugate, "conj_physical(Tensor self) -> Tensor", "_conj_physical(Tensor self) -> Tensor",
         "conj(Tensor self) -> Tensor", "_conj(Tensor self) -> Tensor",
         "_conj_copy(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (!self.complex()) return Outputs::alias_of("self");
  return conjugate(b, self);
}
OPERATOR(angle, "angle(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (self.complex()) {
    return elementwise(b, {imaginary_part(b, self), real_part(b, self)},
                       compute_type(self.component()), self.component(),
                       [](const std::vector<Expr>& e) { return binary(Op::kAtan2, e[0], e[1]); });
  }
  // Negative numbers lie at pi.
  return elementwise_floating(b, std::span(&self, 1), [](const std::vector<Expr>& e) {
    const Expr turned = select(e[0] < 0, like(e[0], 3.14159265358979323846), like(e[0], 0.0));
    return select(unary(Op::kIsNan, e[0]), e[0], turned);
  });
}
OPERATOR(isreal, "isreal(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (!self.complex()) return full(b, self.shape, Scalar(true), DType::kBool);
  const Tensor imaginary = imaginary_part(b, self);
  return elementwise(b, {imaginary}, compute_type(imaginary.dtype), DType::kBool,
                     [](const std::vector<Expr>& e) { return e[0] == 0; });
}
OPERATOR(real, "real(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (!self.complex()) return Outputs::alias_of("self");
  return real_part(b, self);
}
OPERATOR(imag, "imag(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (!self.complex()) {
    throw InvalidProgram("imag is not implemented for tensors with non-complex dtypes.");
  }
  return imaginary_part(b, self);
}
OPERATOR(view_as_real, "view_as_real(Tensor self) -> Tensor",
         "view_as_real_copy(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (!self.complex()) {
    throw InvalidProgram("view_as_real is only supported for complex tensors");
  }
  return pairs(self);
}
OPERATOR(view_as_complex, "view_as_complex(Tensor self) -> Tensor",
         "view_as_complex_copy(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  check_floating(self);
  if (self.rank() == 0 || self.size(-1) != Size(2)) {
    throw InvalidProgram("Tensor must have a last dimension of size 2");
  }
  return Tensor{self.value, complex_of(self.dtype),
                Shape(self.shape.begin(), self.shape.end() - 1)};
}

}  // namespace tendon::aten
