// Sums back to a smaller shape, gradients of softmax.
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
}  // namespace tendon::aten
