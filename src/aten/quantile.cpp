// Quantiles: by sorting, between the two neighbours of a position.
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// How many elements along the (only or last) axis are numbers, for each of the other positions.
Tensor count_numbers(Builder& b, const Tensor& x) {
  const Shape shape(x.shape.begin(), x.shape.end() - 1);
  return b.reduce(ReduceOp::kSum, shape, {x.shape.back()}, [&](const Indices& i) {
    return cast(DType::kInt64, !unary(Op::kIsNan, b.load(x, i)));
  });
}

/// Where between the neighbours the quantile lies, given how far the position is from the lower.
Expr weight_of(const std::string& interpolation, Expr position) {
  if (interpolation == "midpoint") return like(position, 0.5);
  return position - unary(Op::kFloor, position);
}

Expr rounded_position(const std::string& interpolation, Expr position) {
  if (interpolation == "lower") return unary(Op::kFloor, position);
  if (interpolation == "higher") return unary(Op::kCeil, position);
  if (interpolation == "nearest") return unary(Op::kRound, position);
  return position;
}

bool is_interpolation(const std::string& name) {
  for (const char* known : {"linear", "lower", "higher", "midpoint", "nearest"}) {
    if (name == known) return true;
  }
  return false;
}

/// [q..., the axes of x but the last] of x sorted along its last axis.
Tensor quantiles_of_last(Builder& b, const Tensor& x, const Tensor& q,
                         const std::string& interpolation, bool ignore_nan) {
  const auto [sorted, order] = b.sort(x, x.rank() - 1, false);  // NaN comes last
  const Tensor numbers = count_numbers(b, x);
  const Size size = x.shape.back();
  Shape shape = q.shape;
  shape.insert(shape.end(), numbers.shape.begin(), numbers.shape.end());
  const auto q_rank = static_cast<std::ptrdiff_t>(q.shape.size());
  return b.map(shape, [&, from = sorted](const Indices& i) {
    const Indices at_q(i.begin(), i.begin() + q_rank), at_x(i.begin() + q_rank, i.end());
    const Expr count = b.load(numbers, at_x);
    const Expr fraction = b.load(q, at_q);
    const Expr last = b.size(size - 1);
    const Expr zero = b.constant(DType::kInt64, 0);
    const Expr last_number = ignore_nan ? maximum(count - 1, zero) : last;
    Expr position = fraction * cast(x.dtype, last_number);
    if (!ignore_nan) {
      position = select(count == b.size(size), position, cast(x.dtype, last));
    }
    position = rounded_position(interpolation, position);
    const auto element = [&](Op rounding) {
      const Expr whole = cast(DType::kInt64, unary(rounding, position));
      Indices at = at_x;
      at.push_back(
          b.check_index(whole, size, {false, "quantile() q values must be in the range [0, 1]"}));
      return b.load(from, at);
    };
    const Expr below = element(Op::kFloor), above = element(Op::kCeil);
    const Expr weight = weight_of(interpolation, position);
    // Both ends are met exactly.
    return select(weight < 0.5, below + weight * (above - below),
                  above - (above - below) * (1.0 - weight));
  });
}

Outputs quantile(Builder& b, const Arguments& arguments, const Tensor& q, bool ignore_nan) {
  const std::string name = ignore_nan ? "nanquantile" : "quantile";
  const Tensor& self = arguments.tensor("self");
  const std::string interpolation = arguments.text("interpolation");
  if (self.dtype != DType::kFloat32 && self.dtype != DType::kFloat64) {
    throw InvalidProgram(name + "() input tensor must be either float or double dtype");
  }
  if (q.dtype != self.dtype) {
    throw InvalidProgram(name + "() q tensor must be same dtype as the input tensor");
  }
  if (q.rank() > 1) throw InvalidProgram(name + "() q must be a scalar or 1D tensor");
  if (!is_interpolation(interpolation)) {
    throw InvalidProgram(name +
                         "() interpolation must be one of linear, lower, higher, midpoint or "
                         "nearest, but got " +
                         interpolation);
  }
  if (ir::element_count(self.shape) == Size(0)) {
    throw InvalidProgram(name + "() input tensor must be non-empty");
  }
  const auto dim = arguments.optional_integer("dim");
  const int axis = dim ? wrap_axis(*dim, self.rank()) : 0;
  Tensor x = self;
  if (!dim || self.rank() == 0) {
    x = reshape(b, self, {ir::element_count(self.shape)});
  } else if (axis != self.rank() - 1) {
    std::vector<int> order;
    for (int k = 0; k < self.rank(); ++k) {
      if (k != axis) order.push_back(k);
    }
    order.push_back(axis);
    x = permute(b, self, order);
  }
  Tensor result = quantiles_of_last(b, x, q, interpolation, ignore_nan);
  if (!arguments.boolean("keepdim") || self.rank() == 0) return result;
  if (dim) return unsqueeze(b, result, q.rank() + axis);
  while (result.rank() < q.rank() + self.rank()) result = unsqueeze(b, result, result.rank());
  return result;
}

Tensor given(Builder& b, const Arguments& arguments) {
  return scalar_tensor(b, Scalar(arguments.real("q")), arguments.tensor("self").dtype);
}

}  // namespace

OPERATOR(quantile,
         "quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
         "interpolation='linear') -> Tensor") {
  return quantile(b, arguments, arguments.tensor("q"), false);
}
OPERATOR(quantile_scalar,
         "quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
         "interpolation='linear') -> Tensor") {
  return quantile(b, arguments, given(b, arguments), false);
}
OPERATOR(nanquantile,
         "nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
         "interpolation='linear') -> Tensor") {
  return quantile(b, arguments, arguments.tensor("q"), true);
}
OPERATOR(nanquantile_scalar,
         "nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
         "interpolation='linear') -> Tensor") {
  return quantile(b, arguments, given(b, arguments), true);
}

}  // namespace tendon::aten
