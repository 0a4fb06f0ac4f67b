// Sums back to a smaller shape, gradients of softmax, cross products, membership.
#include <algorithm>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// Of softmax (`logarithmic`: of log-softmax) along an axis.
Tensor softmax_gradient(Builder& b, const Arguments& arguments, bool logarithmic) {
  const Tensor &gradient = arguments.tensor("grad_output"), &output = arguments.tensor("output");
  const DType result = arguments.dtype("input_dtype").value_or(gradient.dtype);
  const DType compute = compute_type(gradient.dtype);
  std::vector<int> axes;
  const int axis = wrap_axis(arguments.integer("dim"), output.rank());
  if (output.rank() > 0) axes = {axis};
  const Tensor products = b.map(output.shape, [&](const Indices& i) {
    const Expr value = cast(compute, b.load(gradient, i));
    return logarithmic ? value : value * cast(compute, b.load(output, i));
  });
  const Tensor total = reduce(b, ReduceOp::kSum, products, axes, true, compute);
  return b.map(output.shape, [&](const Indices& i) {
    const Expr own = cast(compute, b.load(output, i));
    const Expr along = b.load_broadcast(total, i);
    const Expr value = cast(compute, b.load(gradient, i));
    return cast(result, logarithmic ? value - unary(Op::kExp, own) * along : (value - along) * own);
  });
}

Tensor cross(Builder& b, const Tensor& self, const Tensor& other, std::optional<int> given) {
  const DType result = result_type({self, other});
  if (is_complex(result)) throw Unsupported("complex numbers");
  const std::vector<Shape> shapes = {self.shape, other.shape};
  const Shape shape = broadcast_shapes(b, shapes);
  int axis = given.value_or(-1);
  for (int i = 0; axis < 0 && i < static_cast<int>(shape.size()); ++i) {
    if (shape[static_cast<std::size_t>(i)] == Size(3)) axis = i;
  }
  if (axis < 0) throw InvalidProgram("no dimension of size 3 in input");
  const auto at = static_cast<std::size_t>(axis);
  if (shape[at] != Size(3)) {
    throw InvalidProgram("linalg.cross: inputs dimension " + std::to_string(axis) +
                         " must have length 3");
  }
  const DType compute = compute_type(result);
  return b.map(shape, [&](const Indices& i) {
    const auto element = [&](const Tensor& t, int shift) {
      Indices index = i;
      index[at] = remainder(i[at] + shift, b.constant(DType::kInt64, 3));
      return cast(compute, b.load_broadcast(t, index));
    };
    return cast(result,
                element(self, 1) * element(other, 2) - element(self, 2) * element(other, 1));
  });
}

Outputs is_in(Builder& b, const Arguments& arguments, std::string_view elements,
              std::string_view among) {
  const auto operand = [&](std::string_view name) {
    const auto* tensor = std::get_if<Tensor>(&arguments.value(name));
    return tensor != nullptr ? Operand(*tensor) : Operand(arguments.scalar(name));
  };
  const DType compute = compute_type(result_type({operand(elements), operand(among)}));
  const auto as_tensor = [&](std::string_view name) {
    const auto* tensor = std::get_if<Tensor>(&arguments.value(name));
    return tensor != nullptr ? *tensor : scalar_tensor(b, arguments.scalar(name), compute);
  };
  const Tensor self = as_tensor(elements), set = as_tensor(among);
  const bool invert = arguments.boolean("invert");
  const Tensor found = b.reduce(ReduceOp::kAny, self.shape, set.shape, [&](const Indices& i) {
    const auto rank = static_cast<std::ptrdiff_t>(self.shape.size());
    return cast(compute, b.load(self, Indices(i.begin(), i.begin() + rank))) ==
           cast(compute, b.load(set, Indices(i.begin() + rank, i.end())));
  });
  if (!invert) return found;
  return b.map(found.shape, [&](const Indices& i) { return !b.load(found, i); });
}

}  // namespace

OPERATOR(softmax_gradient,
         "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType "
         "input_dtype) -> Tensor") {
  return softmax_gradient(b, arguments, false);
}
OPERATOR(log_softmax_gradient,
         "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType "
         "input_dtype) -> Tensor") {
  return softmax_gradient(b, arguments, true);
}
OPERATOR(sum_to_size, "sum_to_size(Tensor self, SymInt[] size) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Shape to = arguments.sizes("size");
  const int skipped = self.rank() - static_cast<int>(to.size());
  if (skipped < 0) {
    throw InvalidProgram("size {" + ir::to_string(to) + "} is not expandable to size {" +
                         ir::to_string(self.shape) + "}.");
  }
  std::vector<int> leading, stretched;
  for (int axis = 0; axis < self.rank(); ++axis) {
    if (axis < skipped) {
      leading.push_back(axis);
    } else if (to[static_cast<std::size_t>(axis - skipped)] == Size(1) &&
               self.size(axis) != Size(1)) {
      stretched.push_back(axis);
    }
  }
  const bool exact = is_floating(self.dtype) || self.complex();
  const DType type = exact ? self.dtype : DType::kInt64;
  Tensor result = self;
  if (!stretched.empty()) result = sum(b, result, stretched, true, type);
  if (!leading.empty() || to.empty()) result = sum(b, result, leading, false, type);
  return result;
}
OPERATOR(cross, "cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
         "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor") {
  const Tensor &self = arguments.tensor("self"), &other = arguments.tensor("other");
  std::optional<int> axis;
  if (arguments.has("dim")) {
    axis = wrap_axis(arguments.integer("dim"), std::max(self.rank(), other.rank()));
  }
  return cross(b, self, other, axis);
}
OPERATOR(isin,
         "isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, "
         "bool invert=False) -> Tensor") {
  return is_in(b, arguments, "elements", "test_elements");
}
OPERATOR(isin_scalar,
         "isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, "
         "bool invert=False) -> Tensor") {
  return is_in(b, arguments, "elements", "test_element");
}
OPERATOR(isin_of_scalar,
         "isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, "
         "bool invert=False) -> Tensor") {
  return is_in(b, arguments, "element", "test_elements");
}

}  // namespace tendon::aten
