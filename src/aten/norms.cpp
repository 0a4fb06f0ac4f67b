// Norms of vectors and matrices, distances.
#include <algorithm>
#include <cmath>
#include <limits>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor magnitudes(Builder& b, const Tensor& x) {
  if (!x.complex()) return x;
  return elementwise(b, {real_part(b, x), imaginary_part(b, x)}, compute_type(x.component()),
                     x.component(),
                     [](const std::vector<Expr>& e) { return binary(Op::kHypot, e[0], e[1]); });
}

std::vector<int> all_axes(const Tensor& x) { return wrap_axes(std::nullopt, x.rank()); }

/// The p-norm over the axes, accumulated in the compute type and rounded once.
Tensor vector_norm(Builder& b, const Tensor& input, double order, const std::vector<int>& axes,
                   bool keep, DType result) {
  const Tensor x = magnitudes(b, input);
  const DType compute = compute_type(result);
  const auto total = [&](ReduceOp op, const std::function<Expr(Expr)>& body) {
    return reduce(b, op, x, axes, keep, compute, body);
  };
  const auto finish = [&](const Tensor& sum, const std::function<Expr(Expr)>& body) {
    return b.map(sum.shape, [&](const Indices& i) { return cast(result, body(b.load(sum, i))); });
  };
  const auto absolute = [](Expr e) { return unary(Op::kAbs, e); };
  if (order == kInfinity || order == -kInfinity) {
    for (int axis : axes) {
      if (x.size(axis) == Size(0)) {
        throw InvalidProgram(
            "linalg.vector_norm cannot compute the infinity norm on an empty dimension because the "
            "operation does not have an identity");
      }
    }
    return cast(b, total(order > 0 ? ReduceOp::kMax : ReduceOp::kMin, absolute), result);
  }
  if (order == 0) {
    return cast(b, total(ReduceOp::kSum, [](Expr e) { return cast(e.dtype(), e != 0); }), result);
  }
  if (order == 1) return cast(b, total(ReduceOp::kSum, absolute), result);
  if (order == 2) {
    return finish(total(ReduceOp::kSum, [](Expr e) { return e * e; }),
                  [](Expr e) { return unary(Op::kSqrt, e); });
  }
  return finish(total(ReduceOp::kSum,
                      [&](Expr e) { return binary(Op::kPow, unary(Op::kAbs, e), like(e, order)); }),
                [&](Expr e) { return binary(Op::kPow, e, like(e, 1.0 / order)); });
}

void check_floating(const Tensor& x, std::string_view name) {
  if (!is_floating(x.dtype) && !x.complex()) {
    throw InvalidProgram(std::string(name) +
                         ": Expected a floating point or complex tensor as input. Got " +
                         std::string(dtype_name(x.dtype)));
  }
}

DType norm_type(const Arguments& arguments, const Tensor& x) {
  const DType dtype = arguments.dtype("dtype").value_or(x.dtype);
  return is_complex(dtype) ? complex_component(dtype) : dtype;
}

/// Sums of magnitudes along one axis of a matrix, and the extreme of them along the other.
Tensor operator_norm(Builder& b, const Tensor& x, int summed, int compared, bool largest, bool keep,
                     DType result) {
  const Tensor sums = vector_norm(b, x, 1, {summed}, true, compute_type(result));
  const Tensor extreme = reduce(b, largest ? ReduceOp::kMax : ReduceOp::kMin, sums, {compared},
                                true, compute_type(result));
  const Tensor rounded = cast(b, extreme, result);
  if (keep) return rounded;
  return squeeze(b, rounded, {std::min(summed, compared), std::max(summed, compared)});
}

std::vector<int> matrix_axes(const Arguments& arguments, const Tensor& x) {
  const std::vector<std::int64_t> given = arguments.integers("dim");
  if (given.size() != 2) throw InvalidProgram("linalg.matrix_norm: dim must be a 2-tuple");
  const std::vector<int> axes = {wrap_axis(given[0], x.rank()), wrap_axis(given[1], x.rank())};
  if (axes[0] == axes[1]) throw InvalidProgram("linalg.matrix_norm: dims must be different");
  return axes;
}

Outputs matrix_norm(Builder& b, const Arguments& arguments, double order) {
  const Tensor& x = arguments.tensor("self");
  check_floating(x, "linalg.matrix_norm");
  const std::vector<int> axes = matrix_axes(arguments, x);
  const bool keep = arguments.boolean("keepdim");
  const DType result = norm_type(arguments, x);
  if (std::abs(order) == 1) return operator_norm(b, x, axes[0], axes[1], order > 0, keep, result);
  if (std::abs(order) == kInfinity) {
    return operator_norm(b, x, axes[1], axes[0], order > 0, keep, result);
  }
  throw Unsupported("matrix norms that need singular values");
}

/// x - y + eps: with a number to add, integers become floats.
Tensor difference(Builder& b, const Tensor& x, const Tensor& y, std::optional<double> eps) {
  const DType common = result_type({x, y});
  const DType result = eps ? to_floating(common) : common;
  return elementwise(b, {x, y}, compute_type(common), result, [&](const std::vector<Expr>& e) {
    const Expr gap = e[0] - e[1];
    if (!eps) return gap;
    const Expr rounded = cast(compute_type(result), cast(common, gap));
    return rounded + *eps;
  });
}

}  // namespace

OPERATOR(linalg_vector_norm,
         "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
         "ScalarType? dtype=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  check_floating(self, "linalg.vector_norm");
  return vector_norm(b, self, arguments.real("ord"),
                     wrap_axes(arguments.optional_integers("dim"), self.rank()),
                     arguments.boolean("keepdim"), norm_type(arguments, self));
}
OPERATOR(linalg_norm,
         "linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, "
         "ScalarType? dtype=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  check_floating(self, "linalg.norm");
  const auto given = arguments.optional_integers("dim");
  const std::vector<int> axes = wrap_axes(given, self.rank());
  const bool matrix =
      arguments.has("ord") && ((given && given->size() == 2) || (!given && self.rank() == 2));
  if (!matrix) {
    return vector_norm(b, self, arguments.optional_real("ord").value_or(2), axes,
                       arguments.boolean("keepdim"), norm_type(arguments, self));
  }
  const double order = arguments.real("ord");
  const int rows = given ? wrap_axis((*given)[0], self.rank()) : 0;
  const int columns = given ? wrap_axis((*given)[1], self.rank()) : 1;
  const bool keep = arguments.boolean("keepdim");
  const DType result = norm_type(arguments, self);
  if (std::abs(order) == 1) return operator_norm(b, self, rows, columns, order > 0, keep, result);
  if (std::abs(order) == kInfinity) {
    return operator_norm(b, self, columns, rows, order > 0, keep, result);
  }
  throw Unsupported("matrix norms that need singular values");
}
OPERATOR(linalg_matrix_norm,
         "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2,-1], bool keepdim=False, *, "
         "ScalarType? dtype=None) -> Tensor") {
  return matrix_norm(b, arguments, arguments.real("ord"));
}
OPERATOR(linalg_matrix_norm_text,
         "linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2,-1], bool "
         "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
         "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, "
         "ScalarType? dtype=None) -> Tensor") {
  const Tensor& x = arguments.tensor("self");
  check_floating(x, "linalg.matrix_norm");
  if (arguments.text("ord") != "fro") {
    throw Unsupported("matrix norms that need singular values");
  }
  std::vector<int> axes = {x.rank() - 2, x.rank() - 1};
  if (arguments.has("dim")) axes = matrix_axes(arguments, x);
  std::sort(axes.begin(), axes.end());
  return vector_norm(b, x, 2, axes, arguments.boolean("keepdim"), norm_type(arguments, x));
}
OPERATOR(norm, "norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
         "native_norm(Tensor self, Scalar p=2) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return vector_norm(b, self, arguments.real("p"), all_axes(self), false, self.component());
}
OPERATOR(norm_dtype,
         "norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return vector_norm(b, self, arguments.optional_real("p").value_or(2), all_axes(self), false,
                     norm_type(arguments, self));
}
OPERATOR(norm_dim,
         "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
         "norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType "
         "dtype) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const DType result = arguments.has("dtype") ? norm_type(arguments, self) : self.component();
  return vector_norm(b, self, arguments.optional_real("p").value_or(2),
                     wrap_axes(arguments.integers("dim"), self.rank()),
                     arguments.boolean("keepdim"), result);
}
OPERATOR(frobenius_norm,
         "frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return vector_norm(b, self, 2, wrap_axes(arguments.integers("dim"), self.rank()),
                     arguments.boolean("keepdim"), self.component());
}
OPERATOR(dist, "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor") {
  const Tensor gap =
      difference(b, arguments.tensor("self"), arguments.tensor("other"), std::nullopt);
  return vector_norm(b, gap, arguments.real("p"), all_axes(gap), false, gap.dtype);
}
OPERATOR(pairwise_distance,
         "pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False) "
         "-> Tensor") {
  const Tensor gap =
      difference(b, arguments.tensor("x1"), arguments.tensor("x2"), arguments.real("eps"));
  return vector_norm(b, gap, arguments.real("p"), {gap.rank() - 1}, arguments.boolean("keepdim"),
                     gap.dtype);
}
OPERATOR(cosine_similarity,
         "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor") {
  const Tensor &first = arguments.tensor("x1"), &second = arguments.tensor("x2");
  const DType result = result_type({first, second}), compute = compute_type(result);
  if (!is_floating(result)) {
    throw InvalidProgram("expected common dtype to be floating point, yet common dtype is " +
                         std::string(dtype_name(result)));
  }
  const std::vector<Shape> shapes = {first.shape, second.shape};
  const Shape shape = broadcast_shapes(b, shapes);
  const int axis = wrap_axis(arguments.integer("dim"), static_cast<int>(shape.size()));
  const double eps = arguments.real("eps");
  // Each vector is divided by its length (at least eps) before the product.
  const auto unit = [&](const Tensor& x) {
    const Tensor wide = expand(b, x, shape);
    const Tensor length = vector_norm(b, wide, 2, {axis}, true, compute);
    return b.map(shape, [&, wide](const Indices& i) {
      const Expr norm = b.load_broadcast(length, i);
      return cast(compute, b.load(wide, i)) / maximum(norm, like(norm, eps));
    });
  };
  const Tensor x = unit(first), y = unit(second);
  const Tensor product =
      b.map(shape, [&](const Indices& i) { return b.load(x, i) * b.load(y, i); });
  return sum(b, product, {axis}, false, result);
}
OPERATOR(renorm, "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const int kept = wrap_axis(arguments.integer("dim"), self.rank());
  const double limit = arguments.real("maxnorm");
  std::vector<int> axes;
  for (int axis = 0; axis < self.rank(); ++axis) {
    if (axis != kept) axes.push_back(axis);
  }
  const DType compute = compute_type(self.dtype);
  const Tensor length = vector_norm(b, self, arguments.real("p"), axes, true, compute);
  return b.map(self.shape, [&](const Indices& i) {
    const Expr norm = b.load_broadcast(length, i);
    const Expr factor = select(norm > limit, like(norm, limit) / (norm + 1e-7), like(norm, 1.0));
    return cast(self.dtype, cast(compute, b.load(self, i)) * factor);
  });
}
OPERATOR(weight_norm, "_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor") {
  const Tensor &v = arguments.tensor("v"), &g = arguments.tensor("g");
  const int kept =
      arguments.integer("dim") == -1 ? -1 : wrap_axis(arguments.integer("dim"), v.rank());
  std::vector<int> axes;
  for (int axis = 0; axis < v.rank(); ++axis) {
    if (axis != kept) axes.push_back(axis);
  }
  const DType compute = compute_type(v.dtype);
  const Tensor length = vector_norm(b, v, 2, axes, true, compute);
  return elementwise(b, {v, g, length}, compute, v.dtype,
                     [](const std::vector<Expr>& e) { return e[0] * (e[1] / e[2]); });
}

}  // namespace tendon::aten
