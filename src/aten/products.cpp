// Matrix products.
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

bool is_number(const Scalar& scalar, double value) {
  if (const auto* v = std::get_if<std::int64_t>(&scalar)) return static_cast<double>(*v) == value;
  if (const auto* v = std::get_if<double>(&scalar)) return *v == value;
  return false;
}

/// beta * self + alpha * product; self does not matter where beta is 0, NaN or not.
Tensor plus_product(Builder& b, const Tensor& self, const Tensor& product, const Scalar& beta,
                    const Scalar& alpha) {
  if (product.complex()) throw Unsupported("complex numbers");
  const DType compute = compute_type(product.dtype);
  const auto scaled = [&](Expr x, const Scalar& factor) {
    return is_number(factor, 1) ? x : x * b.scalar(factor, compute);
  };
  if (is_number(beta, 0)) {
    return elementwise(b, {product}, compute, product.dtype,
                       [&](const std::vector<Expr>& e) { return scaled(e[0], alpha); });
  }
  return elementwise(b, {product, self}, compute, product.dtype, [&](const std::vector<Expr>& e) {
    return scaled(e[1], beta) + scaled(e[0], alpha);
  });
}

Outputs plus_product(Builder& b, const Arguments& arguments, const Tensor& product) {
  return plus_product(b, arguments.tensor("self"), product, arguments.scalar("beta"),
                      arguments.scalar("alpha"));
}

}  // namespace

OPERATOR(linear, "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor") {
  return linear(b, arguments.tensor("input"), arguments.tensor("weight"),
                arguments.optional_tensor("bias"));
}
OPERATOR(matmul, "matmul(Tensor self, Tensor other) -> Tensor",
         "linalg_matmul(Tensor self, Tensor other) -> Tensor") {
  return matmul(b, arguments.tensor("self"), arguments.tensor("other"));
}
OPERATOR(mm, "mm(Tensor self, Tensor mat2) -> Tensor", "bmm(Tensor self, Tensor mat2) -> Tensor") {
  return matmul(b, arguments.tensor("self"), arguments.tensor("mat2"));
}
OPERATOR(mv, "mv(Tensor self, Tensor vec) -> Tensor") {
  return matmul(b, arguments.tensor("self"), arguments.tensor("vec"));
}
OPERATOR(dot, "dot(Tensor self, Tensor tensor) -> Tensor") {
  return matmul(b, arguments.tensor("self"), arguments.tensor("tensor"));
}
OPERATOR(
    addmm,
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor") {
  return plus_product(b, arguments, matmul(b, arguments.tensor("mat1"), arguments.tensor("mat2")));
}
OPERATOR(baddbmm,
         "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> "
         "Tensor") {
  return plus_product(b, arguments,
                      matmul(b, arguments.tensor("batch1"), arguments.tensor("batch2")));
}
OPERATOR(addmv,
         "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor") {
  return plus_product(b, arguments, matmul(b, arguments.tensor("mat"), arguments.tensor("vec")));
}

}  // namespace tendon::aten
