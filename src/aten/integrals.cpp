// Differences, sums of trapezoids and gradients along an axis.
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

Tensor combine(Builder& b, const Tensor& x, const Tensor& y,
               const std::function<Expr(Expr, Expr)>& body) {
  const DType result = result_type({x, y});
  return elementwise(b, {x, y}, compute_type(result), result,
                     [&](const std::vector<Expr>& e) { return body(e[0], e[1]); });
}

Tensor sum_of(Builder& b, const Tensor& x, const Tensor& y) {
  return combine(b, x, y, [](Expr p, Expr q) { return p + q; });
}
Tensor product_of(Builder& b, const Tensor& x, const Tensor& y) {
  return combine(b, x, y, [](Expr p, Expr q) { return p * q; });
}
Tensor difference_of(Builder& b, const Tensor& x, const Tensor& y) {
  return combine(b, x, y, [](Expr p, Expr q) {
    return p.dtype() == DType::kBool ? binary(Op::kXor, p, q) : p - q;
  });
}

/// Times a Python float: integers become floats.
Tensor scaled(Builder& b, const Tensor& x, double factor) {
  const DType result = to_floating(x.dtype);
  return elementwise(b, {x}, compute_type(result), result,
                     [&](const std::vector<Expr>& e) { return e[0] * factor; });
}

Tensor without_last(Builder& b, const Tensor& x, int axis) {
  return slice(b, x, axis, 0, x.size(axis) - 1);
}
Tensor without_first(Builder& b, const Tensor& x, int axis) {
  return slice(b, x, axis, 1, x.size(axis) - 1);
}

/// Sample points of rank 1 lie along the axis; others line up from the right.
Tensor spacing_along(Builder& b, const Tensor& x, const Tensor& y, int axis) {
  Tensor points = x;
  if (x.rank() == 1) {
    if (const auto same = ir::provably_equal(x.size(0), y.size(axis)); same && !*same) {
      throw InvalidProgram("trapezoid: There must be one `x` value for each sample point");
    }
    for (int i = axis + 1; i < y.rank(); ++i) points = unsqueeze(b, points, points.rank());
    for (int i = 0; i < axis; ++i) points = unsqueeze(b, points, 0);
  } else {
    while (points.rank() < y.rank()) points = unsqueeze(b, points, 0);
  }
  return difference_of(b, without_first(b, points, axis), without_last(b, points, axis));
}

DType sum_type(DType dtype) {
  return is_floating(dtype) || is_complex(dtype) ? dtype : DType::kInt64;
}

Tensor neighbours(Builder& b, const Tensor& y, int axis) {
  return sum_of(b, without_last(b, y, axis), without_first(b, y, axis));
}

Outputs trapezoid(Builder& b, const Arguments& arguments) {
  const Tensor& y = arguments.tensor("y");
  const int axis = wrap_axis(arguments.integer("dim"), y.rank());
  if (y.size(axis) == Size(0)) {
    Shape shape = y.shape;
    shape.erase(shape.begin() + axis);
    return full(b, shape, Scalar(0.0), y.dtype);
  }
  if (const auto* x = std::get_if<Tensor>(&arguments.parameters[1].value)) {
    const Tensor areas = product_of(b, neighbours(b, y, axis), spacing_along(b, *x, y, axis));
    return scaled(b, sum(b, areas, {axis}, false, sum_type(areas.dtype)), 0.5);
  }
  // The ends count half.
  const Tensor total = sum(b, y, {axis}, false, sum_type(y.dtype));
  const Tensor ends = sum_of(b, select(b, y, axis, 0), select(b, y, axis, y.size(axis) - 1));
  const Tensor inner = difference_of(b, total, scaled(b, ends, 0.5));
  return scaled(b, inner, arguments.real("dx"));
}

Outputs cumulative_trapezoid(Builder& b, const Arguments& arguments) {
  const Tensor& y = arguments.tensor("y");
  const int axis = wrap_axis(arguments.integer("dim"), y.rank());
  const auto summed = [&](const Tensor& areas) {
    const DType type = sum_type(areas.dtype), compute = compute_type(type);
    const auto sums = b.scan(ir::ScanOp::kSum, axis, areas.shape,
                             [&](const Indices& i) { return cast(compute, b.load(areas, i)); });
    return cast(b, sums[0], type);
  };
  if (const auto* x = std::get_if<Tensor>(&arguments.parameters[1].value)) {
    const Tensor areas = product_of(b, spacing_along(b, *x, y, axis), neighbours(b, y, axis));
    return scaled(b, summed(areas), 0.5);
  }
  return summed(scaled(b, neighbours(b, y, axis), arguments.real("dx") / 2));
}

// ---- Gradients.

/// Second order in the middle; at the ends first or (`edge` 2) second order. `points` are the
/// coordinates, or nothing for even spacing `step`.
Tensor gradient_along(Builder& b, const Tensor& self, int axis, double step,
                      const std::optional<Tensor>& points, std::int64_t edge) {
  const DType type = to_floating(self.dtype), compute = compute_type(type);
  const Size size = self.size(axis);
  const auto at = static_cast<std::size_t>(axis);
  return b.map(self.shape, [&](const Indices& i) {
    const Expr last = b.size(size - 1);
    const auto position = [&](std::int64_t offset, Expr from) {
      return minimum(maximum(from + offset, b.constant(DType::kInt64, 0)), last);
    };
    const auto value = [&](Expr where) {
      Indices index = i;
      index[at] = where;
      return cast(compute, b.load(self, index));
    };
    const auto gap = [&](Expr from) {  // from `from` to the next point
      if (!points) return b.constant(compute, step);
      return cast(compute, b.load(*points, {position(1, from)})) -
             cast(compute, b.load(*points, {from}));
    };
    const auto slope = [&](Expr from) {
      return (value(position(1, from)) - value(from)) / gap(from);
    };
    const Expr here = i[at];
    const Expr before = position(-1, here), after = position(1, here);
    Expr middle;
    if (points) {
      const Expr left = gap(before), right = gap(here);
      const Expr a = -right / (left * (left + right)), c = left / (right * (left + right));
      const Expr centre = (right - left) / (left * right);
      middle = a * value(before) + centre * value(here) + c * value(after);
    } else {
      middle = (value(after) - value(before)) / b.constant(compute, 2 * step);
    }
    const Expr zero = b.constant(DType::kInt64, 0);
    Expr first = slope(zero), final = slope(position(-1, last));
    if (edge == 2) {
      const Expr first_gap = gap(zero), second_gap = gap(position(1, zero));
      first =
          value(zero) * (-(first_gap * 2.0 + second_gap) / (first_gap * (first_gap + second_gap))) +
          value(position(1, zero)) * ((first_gap + second_gap) / (first_gap * second_gap)) +
          value(position(2, zero)) * (-first_gap / (second_gap * (first_gap + second_gap)));
      const Expr before_gap = gap(position(-2, last)), end_gap = gap(position(-1, last));
      final = value(position(-2, last)) * (end_gap / (before_gap * (before_gap + end_gap))) +
              value(position(-1, last)) * (-(end_gap + before_gap) / (before_gap * end_gap)) +
              value(last) * ((end_gap * 2.0 + before_gap) / (end_gap * (before_gap + end_gap)));
    }
    return cast(type, select(here == 0, first, select(here == last, final, middle)));
  });
}

Outputs gradient(Builder& b, const Arguments& arguments) {
  const Tensor& self = arguments.tensor("self");
  std::vector<int> axes;
  std::vector<double> steps;
  std::vector<Tensor> points;
  for (const Arguments::Parameter& parameter : arguments.parameters) {
    if (parameter.name == "dim" && arguments.has("dim")) {
      for (std::int64_t axis : arguments.integers("dim")) {
        axes.push_back(wrap_axis(axis, self.rank()));
      }
    } else if (parameter.name == "spacing" && arguments.has("spacing")) {
      if (std::holds_alternative<std::vector<std::optional<Tensor>>>(parameter.value)) {
        points = arguments.tensors("spacing");
      } else {
        steps = arguments.reals("spacing");
      }
    }
  }
  if (axes.empty()) axes = wrap_axes(std::nullopt, self.rank());
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const double step = steps.empty() ? 1.0 : steps[steps.size() == 1 ? 0 : i];
    results.push_back(gradient_along(b, self, axes[i], step,
                                     points.empty() ? std::nullopt : std::optional(points.at(i)),
                                     arguments.integer("edge_order")));
  }
  return results;
}

}  // namespace

OPERATOR(trapezoid, "trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
         "trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
         "trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
         "trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor") {
  return trapezoid(b, arguments);
}
OPERATOR(cumulative_trapezoid,
         "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
         "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor") {
  return cumulative_trapezoid(b, arguments);
}
OPERATOR(diff,
         "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> "
         "Tensor") {
  const Tensor& self = arguments.tensor("self");
  const int axis = wrap_axis(arguments.integer("dim"), self.rank());
  if (self.rank() == 0) {
    throw InvalidProgram("diff expects input to be at least one-dimensional");
  }
  std::vector<Tensor> parts;
  if (const auto prepend = arguments.optional_tensor("prepend")) parts.push_back(*prepend);
  parts.push_back(self);
  if (const auto append = arguments.optional_tensor("append")) parts.push_back(*append);
  DType type = self.dtype;
  for (const Tensor& part : parts) type = promote(type, part.dtype);
  for (Tensor& part : parts) part = cast(b, part, type);
  Tensor result = parts.size() == 1 ? self : concatenate(b, parts, axis);
  std::int64_t n = arguments.integer("n");
  for (; n > 0; --n) {
    if (result.size(axis) == Size(0)) break;
    result = difference_of(b, without_first(b, result, axis), without_last(b, result, axis));
  }
  return result;
}
OPERATOR(gradient,
         "gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int "
         "edge_order=1) -> Tensor[]",
         "gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> "
         "Tensor[]",
         "gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]",
         "gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int "
         "edge_order=1) -> Tensor[]",
         "gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) "
         "-> Tensor[]",
         "gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int "
         "edge_order=1) -> Tensor[]",
         "gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> "
         "Tensor[]") {
  return gradient(b, arguments);
}

}  // namespace tendon::aten
