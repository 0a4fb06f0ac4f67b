// Matrix products.
#include <algorithm>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

bool is_number(const Scalar& scalar, double value) {
  if (const auto* v = std::get_if<std::int64_t>(&scalar)) return static_cast<double>(*v) == value;
  if (const auto* v = std::get_if<double>(&scalar)) return *v == value;
  return false;
}

/// Elementwise, with promotion.
Tensor product_of(Builder& b, const Tensor& x, const Tensor& y) {
  const DType result = result_type({x, y});
  return elementwise(b, {x, y}, compute_type(result), result, [](const std::vector<Expr>& e) {
    return e[0].dtype() == DType::kBool ? e[0] && e[1] : e[0] * e[1];
  });
}

/// Sums over pairs of axes; what is left of x comes first.
Tensor contract(Builder& b, const Tensor& x, const Tensor& y, const std::vector<int>& x_axes,
                const std::vector<int>& y_axes) {
  Size inner = 1;
  for (std::size_t i = 0; i < x_axes.size(); ++i) {
    // A size of 1 stretches.
    inner = inner * (x.size(x_axes[i]) == Size(1) ? y.size(y_axes[i]) : x.size(x_axes[i]));
  }
  const auto side = [&](const Tensor& t, const Tensor& other, const std::vector<int>& summed,
                        const std::vector<int>& others, bool left) {
    Shape wide = t.shape;
    for (std::size_t i = 0; i < summed.size(); ++i) {
      const auto at = static_cast<std::size_t>(summed[i]);
      if (wide[at] == Size(1)) wide[at] = other.size(others[i]);
    }
    std::vector<int> kept;
    Shape shape;
    Size rows = 1;
    for (int axis = 0; axis < t.rank(); ++axis) {
      if (std::find(summed.begin(), summed.end(), axis) != summed.end()) continue;
      kept.push_back(axis);
      shape.push_back(t.size(axis));
      rows = rows * t.size(axis);
    }
    std::vector<int> order = left ? kept : summed;
    const std::vector<int>& rest = left ? summed : kept;
    order.insert(order.end(), rest.begin(), rest.end());
    const Tensor matrix = permute(b, expand(b, t, wide), order);
    return std::pair(reshape(b, matrix, left ? Shape{rows, inner} : Shape{inner, rows}), shape);
  };
  auto [left, shape] = side(x, y, x_axes, y_axes, true);
  const auto [right, columns] = side(y, x, y_axes, x_axes, false);
  shape.insert(shape.end(), columns.begin(), columns.end());
  return reshape(b, matmul(b, left, right), shape);
}

/// beta * self + alpha * product (see wide_matmul), of self's dtype; self does not matter where
/// beta is 0, NaN or not.
Tensor plus_product(Builder& b, const Tensor& self, const Tensor& product, const Scalar& beta,
                    const Scalar& alpha) {
  if (product.complex()) throw Unsupported("complex numbers");
  const DType compute = compute_type(product.dtype), result = self.dtype;
  const auto scaled = [&](Expr x, const Scalar& factor) {
    return is_number(factor, 1) ? x : x * b.scalar(factor, compute);
  };
  if (is_number(beta, 0)) {
    return elementwise(b, {product}, compute, result,
                       [&](const std::vector<Expr>& e) { return scaled(e[0], alpha); });
  }
  return elementwise(b, {product, self}, compute, result, [&](const std::vector<Expr>& e) {
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
OPERATOR(vdot, "vdot(Tensor self, Tensor other) -> Tensor") {
  const Tensor &self = arguments.tensor("self"), &other = arguments.tensor("other");
  if (!self.complex()) return matmul(b, self, other);
  const Tensor imaginary = imaginary_part(b, self);
  const Tensor negated = elementwise(b, {imaginary}, imaginary.dtype, imaginary.dtype,
                                     [](const std::vector<Expr>& e) { return -e[0]; });
  return matmul(b, make_complex(b, real_part(b, self), negated), other);
}
OPERATOR(inner, "inner(Tensor self, Tensor other) -> Tensor") {
  const Tensor &self = arguments.tensor("self"), &other = arguments.tensor("other");
  if (self.rank() == 0 || other.rank() == 0) return product_of(b, self, other);
  return contract(b, self, other, {self.rank() - 1}, {other.rank() - 1});
}
OPERATOR(outer, "outer(Tensor self, Tensor vec2) -> Tensor",
         "ger(Tensor self, Tensor vec2) -> Tensor") {
  return product_of(b, unsqueeze(b, arguments.tensor("self"), 1), arguments.tensor("vec2"));
}
OPERATOR(tensordot,
         "tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor") {
  const Tensor &self = arguments.tensor("self"), &other = arguments.tensor("other");
  std::vector<int> left, right;
  for (std::int64_t axis : arguments.integers("dims_self")) {
    left.push_back(wrap_axis(axis, self.rank()));
  }
  for (std::int64_t axis : arguments.integers("dims_other")) {
    right.push_back(wrap_axis(axis, other.rank()));
  }
  if (left.size() != right.size()) {
    throw InvalidProgram("both dimension lists should have same length");
  }
  return contract(b, self, other, left, right);
}
OPERATOR(kron, "kron(Tensor self, Tensor other) -> Tensor") {
  const Tensor &self = arguments.tensor("self"), &other = arguments.tensor("other");
  const int rank = std::max(self.rank(), other.rank());
  // Axis by axis, self's position counts blocks and other's counts within them.
  Shape left(static_cast<std::size_t>(2 * rank), Size(1)), right = left, result;
  for (int axis = 0; axis < rank; ++axis) {
    const auto at = static_cast<std::size_t>(2 * axis);
    if (axis >= rank - self.rank()) left[at] = self.size(axis - rank);
    if (axis >= rank - other.rank()) right[at + 1] = other.size(axis - rank);
    result.push_back(left[at] * right[at + 1]);
  }
  return reshape(b, product_of(b, reshape(b, self, left), reshape(b, other, right)), result);
}
OPERATOR(chain_matmul, "chain_matmul(Tensor[] matrices) -> Tensor",
         "linalg_multi_dot(Tensor[] tensors) -> Tensor") {
  std::vector<Tensor> matrices;
  for (const Arguments::Parameter& parameter : arguments.parameters) {
    matrices = arguments.tensors(parameter.name);
  }
  if (matrices.empty()) throw InvalidProgram("chain_matmul(): Expected one or more matrices");
  Tensor product = matrices[0];
  for (std::size_t i = 1; i < matrices.size(); ++i) product = matmul(b, product, matrices[i]);
  return product;
}
OPERATOR(
    addr,
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor") {
  const Tensor &self = arguments.tensor("self"), &first = arguments.tensor("vec1"),
               &second = arguments.tensor("vec2");
  const Scalar &beta = arguments.scalar("beta"), &alpha = arguments.scalar("alpha");
  const DType result = result_type({self, first, second}), compute = compute_type(result);
  const Shape shape = {first.size(0), second.size(0)};
  return b.map(shape, [&](const Indices& i) {
    const Expr x = cast(compute, b.load(first, {i[0]})), y = cast(compute, b.load(second, {i[1]}));
    const Expr own = cast(compute, b.load_broadcast(self, i));
    if (compute == DType::kBool) {
      Expr value = x && y;
      if (is_number(alpha, 0)) value = b.truth(false);
      return is_number(beta, 0) ? value : own || value;
    }
    // PyTorch works in the half types themselves: every step rounds.
    const auto rounded = [&](Expr e) { return cast(compute, cast(result, e)); };
    const auto scaled = [&](Expr e, const Scalar& factor) {
      return is_number(factor, 1) ? e : rounded(rounded(b.scalar(factor, compute)) * e);
    };
    const Expr product = rounded(scaled(x, alpha) * y);
    return cast(result, is_number(beta, 0) ? product : scaled(own, beta) + product);
  });
}
OPERATOR(addbmm,
         "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> "
         "Tensor") {
  const Tensor &first = arguments.tensor("batch1"), &second = arguments.tensor("batch2");
  const auto batches = first.size(0).as_constant();
  if (is_half(first.dtype) && batches && *batches > 0 && *batches <= 64) {
    // PyTorch adds product after product to a half tensor: each sum rounds.
    Tensor total = arguments.tensor("self");
    for (std::int64_t i = 0; i < *batches; ++i) {
      total = plus_product(
          b, total, wide_matmul(b, select(b, first, 0, i), select(b, second, 0, i)),
          i == 0 ? arguments.scalar("beta") : Scalar(std::int64_t{1}), arguments.scalar("alpha"));
    }
    return total;
  }
  // The sum over the batch is one product along batch and inner axes together.
  return plus_product(b, arguments, contract(b, first, second, {0, 2}, {0, 1}));
}
OPERATOR(bilinear,
         "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor") {
  const Tensor &first = arguments.tensor("input1"), &second = arguments.tensor("input2"),
               &weight = arguments.tensor("weight");
  const auto bias = arguments.optional_tensor("bias");
  const DType compute = compute_type(first.dtype);
  // [..., o, j] = sum over i of input1 and weight, a tensor of its own; then along j with input2.
  Shape shape(first.shape.begin(), first.shape.end() - 1);
  shape.push_back(weight.size(0));
  const Tensor inner = contract(b, first, weight, {first.rank() - 1}, {1});
  const Tensor total = b.reduce(ReduceOp::kSum, shape, {weight.size(2)}, [&](const Indices& i) {
    Indices right(i.begin(), i.end() - 2);
    right.push_back(i.back());
    return cast(compute, b.load(inner, i)) * cast(compute, b.load(second, right));
  });
  const Tensor product = cast(b, total, first.dtype);
  if (!bias) return product;
  return elementwise(b, {product, *bias}, compute, first.dtype,
                     [](const std::vector<Expr>& e) { return e[0] + e[1]; });
}
OPERATOR(addmm_activation,
         "_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar "
         "alpha=1, bool use_gelu=False) -> Tensor") {
  const Tensor product = plus_product(b, arguments.tensor("self"),
                                      matmul(b, arguments.tensor("mat1"), arguments.tensor("mat2")),
                                      arguments.scalar("beta"), arguments.scalar("alpha"));
  const bool gelu = arguments.boolean("use_gelu");
  return elementwise(b, {product}, compute_type(product.dtype), product.dtype,
                     [&](const std::vector<Expr>& e) {
                       if (!gelu) return maximum(e[0], like(e[0], 0));
                       return e[0] * 0.5 * (unary(Op::kErf, e[0] * 0.70710678118654752440) + 1.0);
                     });
}
OPERATOR(matrix_power, "matrix_power(Tensor self, int n) -> Tensor",
         "linalg_matrix_power(Tensor self, int n) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  std::int64_t n = arguments.integer("n");
  if (n < 0) throw Unsupported("negative powers of matrices");
  if (self.complex()) throw Unsupported("complex numbers");
  std::optional<Tensor> result;
  for (Tensor square = self; n > 0; n /= 2) {
    if (n % 2 == 1) result = result ? matmul(b, *result, square) : square;
    if (n > 1) square = matmul(b, square, square);
  }
  if (result) return *result;
  return b.map(self.shape, [&](const Indices& i) {
    return cast(self.dtype, i[i.size() - 2] == i[i.size() - 1]);
  });
}
OPERATOR(
    addmm,
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor") {
  return plus_product(b, arguments,
                      wide_matmul(b, arguments.tensor("mat1"), arguments.tensor("mat2")));
}
OPERATOR(baddbmm,
         "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> "
         "Tensor") {
  return plus_product(b, arguments,
                      wide_matmul(b, arguments.tensor("batch1"), arguments.tensor("batch2")));
}
OPERATOR(addmv,
         "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor") {
  return plus_product(b, arguments,
                      wide_matmul(b, arguments.tensor("mat"), arguments.tensor("vec")));
}

}  // namespace tendon::aten
