// Activations.
#include <cmath>
#include <numbers>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

Outputs apply(Builder& b, const Tensor& self, const std::function<Expr(Expr)>& body) {
  return elementwise(b, {self}, compute_type(self.dtype), self.dtype,
                     [&](const std::vector<Expr>& e) { return body(e[0]); });
}

Outputs apply(Builder& b, const Arguments& arguments, const std::function<Expr(Expr)>& body) {
  return apply(b, arguments.tensor("self"), body);
}

/// log(1 + exp(x)), x itself where that is the same.
Expr softplus(Expr x, double beta, double threshold) {
  const Expr scaled = x * beta;
  return select(scaled > threshold, x, unary(Op::kLog1p, unary(Op::kExp, scaled)) / like(x, beta));
}

Expr clamped(Expr x, double low, double high) {
  return minimum(maximum(x, like(x, low)), like(x, high));
}

}  // namespace

OPERATOR(relu, "relu(Tensor self) -> Tensor") {
  return apply(b, arguments, [](Expr x) { return maximum(x, like(x, 0)); });
}
OPERATOR(relu6, "relu6(Tensor self) -> Tensor") {
  return apply(b, arguments, [](Expr x) { return minimum(maximum(x, like(x, 0)), like(x, 6)); });
}
OPERATOR(gelu, "gelu(Tensor self, *, str approximate='none') -> Tensor") {
  const bool tanh = arguments.text("approximate") == "tanh";
  return apply(b, arguments, [tanh](Expr x) {
    if (tanh) {
      const double beta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi * 2 * 0.5;
      const Expr inner = (x + x * x * x * 0.044715) * beta;
      return x * 0.5 * (unary(Op::kTanh, inner) + 1.0);
    }
    return x * 0.5 * (unary(Op::kErf, x * (1 / std::numbers::sqrt2)) + 1.0);
  });
}
OPERATOR(silu, "silu(Tensor self) -> Tensor") {
  return apply(b, arguments, [](Expr x) { return x * unary(Op::kSigmoid, x); });
}
OPERATOR(mish, "mish(Tensor self) -> Tensor") {
  return apply(b, arguments,
               [](Expr x) { return x * unary(Op::kTanh, unary(Op::kLog1p, unary(Op::kExp, x))); });
}
OPERATOR(softplus, "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor") {
  const double beta = arguments.real("beta"), threshold = arguments.real("threshold");
  return apply(b, arguments, [&](Expr x) { return softplus(x, beta, threshold); });
}
OPERATOR(log_sigmoid, "log_sigmoid(Tensor self) -> Tensor") {
  return apply(b, arguments, [](Expr x) {
    return minimum(x, like(x, 0)) - unary(Op::kLog1p, unary(Op::kExp, -unary(Op::kAbs, x)));
  });
}
OPERATOR(hardtanh, "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor") {
  const double low = arguments.real("min_val"), high = arguments.real("max_val");
  return apply(b, arguments, [&](Expr x) { return clamped(x, low, high); });
}
OPERATOR(hardsigmoid, "hardsigmoid(Tensor self) -> Tensor") {
  return apply(b, arguments, [](Expr x) { return clamped(x + 3.0, 0, 6) / like(x, 6.0); });
}
OPERATOR(hardswish, "hardswish(Tensor self) -> Tensor") {
  return apply(b, arguments, [](Expr x) { return x * clamped(x + 3.0, 0, 6) / like(x, 6.0); });
}
OPERATOR(hardshrink, "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor") {
  const double lambda = arguments.real("lambd");
  return apply(b, arguments,
               [&](Expr x) { return select(x >= -lambda && x <= lambda, like(x, 0), x); });
}
OPERATOR(softshrink, "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor") {
  const double lambda = arguments.real("lambd");
  return apply(b, arguments, [&](Expr x) {
    return select(x > lambda, x - lambda, select(x < -lambda, x + lambda, x * 0.0));
  });
}
OPERATOR(threshold, "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor") {
  const double limit = arguments.real("threshold"), value = arguments.real("value");
  return apply(b, arguments,
               [&](Expr x) { return select(x <= like(x, limit), like(x, value), x); });
}
OPERATOR(leaky_relu, "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor") {
  const double slope = arguments.real("negative_slope");
  return apply(b, arguments, [&](Expr x) { return select(x > 0, x, x * slope); });
}
OPERATOR(elu, "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor") {
  const double alpha = arguments.real("alpha"), scale = arguments.real("scale");
  const double input_scale = arguments.real("input_scale");
  return apply(b, arguments, [&](Expr x) {
    return select(x <= 0, unary(Op::kExpm1, x * input_scale) * (alpha * scale), x * scale);
  });
}
OPERATOR(selu, "selu(Tensor self) -> Tensor") {
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  return apply(b, arguments, [&](Expr x) {
    return select(x <= 0, unary(Op::kExpm1, x) * (kAlpha * kScale), x * kScale);
  });
}
OPERATOR(celu, "celu(Tensor self, Scalar alpha=1.0) -> Tensor") {
  const double alpha = arguments.real("alpha");
  return apply(b, arguments, [&](Expr x) {
    return select(x <= 0, unary(Op::kExpm1, x * (1 / alpha)) * alpha, x);
  });
}
OPERATOR(prelu, "prelu(Tensor self, Tensor weight) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  Tensor weight = arguments.tensor("weight");
  // One weight per channel (axis 1), or one for all.
  if (self.rank() > 1 && weight.rank() == 1) {
    for (int axis = 2; axis < self.rank(); ++axis) weight = unsqueeze(b, weight, weight.rank());
  } else {
    weight = reshape(b, weight, {});
  }
  return elementwise(
      b, {self, weight}, compute_type(self.dtype), self.dtype,
      [](const std::vector<Expr>& e) { return select(e[0] > 0, e[0], e[0] * e[1]); });
}
OPERATOR(glu, "glu(Tensor self, int dim=-1) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const int axis = wrap_axis(arguments.integer("dim"), self.rank());
  const Size half = ir::floor_div(self.size(axis), 2);
  return elementwise(b, {slice(b, self, axis, 0, half), slice(b, self, axis, half, half)},
                     compute_type(self.dtype), self.dtype,
                     [](const std::vector<Expr>& e) { return e[0] * unary(Op::kSigmoid, e[1]); });
}

OPERATOR(clamp, "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
         "clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const auto low = arguments.optional_scalar("min"), high = arguments.optional_scalar("max");
  std::vector<Operand> operands = {self};
  if (low) operands.emplace_back(*low);
  if (high) operands.emplace_back(*high);
  const DType result = result_type(operands);
  return elementwise(b, {self}, compute_type(result), result, [&](const std::vector<Expr>& e) {
    Expr x = e[0];
    if (low) x = maximum(x, b.scalar(*low, x.dtype()));
    if (high) x = minimum(x, b.scalar(*high, x.dtype()));
    return x;
  });
}
OPERATOR(clamp_tensor, "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
         "clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor") {
  Tensor x = arguments.tensor("self");
  for (const char* name : {"min", "max"}) {
    const auto bound = arguments.optional_tensor(name);
    if (!bound) continue;
    const DType result = result_type({x, *bound});
    const bool low = std::string_view(name) == "min";
    x = elementwise(b, {x, *bound}, compute_type(result), result, [&](const std::vector<Expr>& e) {
      return low ? maximum(e[0], e[1]) : minimum(e[0], e[1]);
    });
  }
  return x;
}
OPERATOR(clamp_min, "clamp_min(Tensor self, Scalar min) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const DType result = result_type({self, arguments.scalar("min")});
  return elementwise(b, {self}, compute_type(result), result, [&](const std::vector<Expr>& e) {
    return maximum(e[0], b.scalar(arguments.scalar("min"), e[0].dtype()));
  });
}
OPERATOR(clamp_max, "clamp_max(Tensor self, Scalar max) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const DType result = result_type({self, arguments.scalar("max")});
  return elementwise(b, {self}, compute_type(result), result, [&](const std::vector<Expr>& e) {
    return minimum(e[0], b.scalar(arguments.scalar("max"), e[0].dtype()));
  });
}
OPERATOR(clamp_min_tensor, "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor") {
  const Tensor &self = arguments.tensor("self"), &bound = arguments.tensor("min");
  const DType result = result_type({self, bound});
  return elementwise(b, {self, bound}, compute_type(result), result,
                     [](const std::vector<Expr>& e) { return maximum(e[0], e[1]); });
}
OPERATOR(clamp_max_tensor, "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor") {
  const Tensor &self = arguments.tensor("self"), &bound = arguments.tensor("max");
  const DType result = result_type({self, bound});
  return elementwise(b, {self, bound}, compute_type(result), result,
                     [](const std::vector<Expr>& e) { return minimum(e[0], e[1]); });
}

}  // namespace tendon::aten
