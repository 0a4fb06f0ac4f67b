// Cross products and pairwise distances.
#include <cmath>

#include "aten/index_tools.h"
#include "aten/operator.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

Tensor real_cross(Builder& b, const Tensor& x, const Tensor& y, int axis) {
  const auto a = static_cast<std::size_t>(axis);
  const DType compute = compute_type(x.dtype);
  return b.map(x.shape, [&](const Indices& i) {
    const auto element = [&](const Tensor& tensor, std::int64_t shift) {
      Indices at = i;
      at[a] = remainder(i[a] + shift, b.constant(DType::kInt64, 3));
      return cast(compute, b.load(tensor, at));
    };
    // The products of half types are rounded.
    const auto product = [&](std::int64_t p, std::int64_t q) {
      return cast(compute, cast(x.dtype, element(x, p) * element(y, q)));
    };
    return cast(x.dtype, product(1, 2) - product(2, 1));
  });
}

Tensor cross(Builder& b, const Tensor& self, const Tensor& other, int axis) {
  const std::vector<Shape> shapes = {self.shape, other.shape};
  const Shape shape = broadcast_shapes(b, shapes);
  const DType dtype = result_type({self, other});
  const Tensor x = expand(b, cast(b, self, dtype), shape);
  const Tensor y = expand(b, cast(b, other, dtype), shape);
  require(b, ir::equal(x.size(axis), Size(3)),
          "linalg.cross: inputs dimension " + std::to_string(axis) + " must have length 3. Got " +
              self.size(axis).to_string() + " and " + other.size(axis).to_string());
  if (!x.complex()) return real_cross(b, x, y, axis);
  const Tensor xr = real_part(b, x), xi = imaginary_part(b, x);
  const Tensor yr = real_part(b, y), yi = imaginary_part(b, y);
  const DType compute = compute_type(xr.dtype);
  const auto combine = [&](const Tensor& p, const Tensor& q, bool subtract) {
    return elementwise(b, {p, q}, compute, xr.dtype, [&](const std::vector<Expr>& e) {
      return subtract ? e[0] - e[1] : e[0] + e[1];
    });
  };
  return make_complex(b, combine(real_cross(b, xr, yr, axis), real_cross(b, xi, yi, axis), true),
                      combine(real_cross(b, xr, yi, axis), real_cross(b, xi, yr, axis), false));
}

/// Distances between every row of x1 [..., p, m] and every row of x2 [..., r, m].
Tensor distances(Builder& b, const Tensor& x1, const Tensor& x2, double p) {
  if (x1.rank() < 2 || x2.rank() < 2) {
    throw InvalidProgram(
        "cdist only supports at least 2D tensors, X1 got: " + std::to_string(x1.rank()) +
        "D, X2 got: " + std::to_string(x2.rank()) + "D");
  }
  require(b, ir::equal(x1.size(-1), x2.size(-1)),
          "X1 and X2 must have the same number of columns. X1: " + x1.size(-1).to_string() +
              " X2: " + x2.size(-1).to_string());
  if (p < 0) throw InvalidProgram("cdist only supports non-negative p values");
  const std::vector<Shape> batches = {Shape(x1.shape.begin(), x1.shape.end() - 2),
                                      Shape(x2.shape.begin(), x2.shape.end() - 2)};
  Shape shape = broadcast_shapes(b, batches);
  const DType dtype = promote(x1.dtype, x2.dtype), compute = compute_type(dtype);
  Shape left = shape, right = shape;
  left.insert(left.end(), {x1.size(-2), x1.size(-1)});
  right.insert(right.end(), {x2.size(-2), x2.size(-1)});
  const Tensor a = expand(b, x1, left), c = expand(b, x2, right);
  shape.insert(shape.end(), {x1.size(-2), x2.size(-2)});
  const bool infinite = std::isinf(p);
  const Tensor total = b.reduce(
      infinite ? ReduceOp::kMax : ReduceOp::kSum, shape, {x1.size(-1)}, [&](const Indices& i) {
        Indices first(i.begin(), i.end() - 3), second = first;
        first.insert(first.end(), {i[i.size() - 3], i.back()});
        second.insert(second.end(), {i[i.size() - 2], i.back()});
        const Expr difference =
            unary(Op::kAbs, cast(compute, b.load(a, first)) - cast(compute, b.load(c, second)));
        if (p == 0) return cast(compute, difference != 0.0);
        if (p == 1 || infinite) return difference;
        return p == 2 ? difference * difference
                      : binary(Op::kPow, difference, b.constant(compute, p));
      });
  return b.map(shape, [&](const Indices& i) {
    Expr result = b.load(total, i);
    if (infinite) result = maximum(result, b.constant(compute, 0.0));  // no columns at all
    if (p == 2) result = unary(Op::kSqrt, result);
    if (p != 0 && p != 1 && p != 2 && !infinite) {
      result = binary(Op::kPow, result, b.constant(compute, 1.0 / p));
    }
    return cast(dtype, result);
  });
}

}  // namespace

OPERATOR(cross, "cross(Tensor self, Tensor other, int? dim=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor& other = arguments.tensor("other");
  if (const auto dim = arguments.optional_integer("dim")) {
    return cross(b, self, other, wrap_axis(*dim, std::max(self.rank(), other.rank())));
  }
  for (int axis = 0; axis < self.rank(); ++axis) {
    if (self.size(axis) == Size(3)) return cross(b, self, other, axis);
  }
  throw InvalidProgram("no dimension of size 3 in input");
}
OPERATOR(linalg_cross, "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor& other = arguments.tensor("other");
  if (self.rank() != other.rank()) {
    throw InvalidProgram("linalg.cross: inputs must have the same number of dimensions.");
  }
  return cross(b, self, other, wrap_axis(arguments.integer("dim"), self.rank()));
}
OPERATOR(cdist, "cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor",
         "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor") {
  return distances(b, arguments.tensor("x1"), arguments.tensor("x2"), arguments.real("p"));
}

}  // namespace tendon::aten
