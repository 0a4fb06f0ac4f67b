// Dropout: nothing in evaluation; in training random elements are zeroed and the others scaled up.
#include <cmath>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// Of the input's shape, or one number per sample and channel.
Shape noise_shape(const Tensor& input, bool features) {
  if (!features) return input.shape;
  if (input.rank() < 2) {
    throw InvalidProgram("Feature dropout requires at least 2 dimensions in the input");
  }
  Shape shape = input.shape;
  for (std::size_t axis = 2; axis < shape.size(); ++axis) shape[axis] = 1;
  return shape;
}

/// True with probability 1 - p.
Tensor kept_elements(Builder& b, const Shape& shape, double p) {
  const Tensor noise = uniform_numbers(b, shape, DType::kFloat32);
  return b.map(shape, [&](const Indices& i) { return b.load(noise, i) >= p; });
}

Tensor dropped(Builder& b, const Tensor& input, double p, const Tensor& kept) {
  const double scale = p < 1 ? 1 / (1 - p) : 0;
  return elementwise(b, {input, kept}, compute_type(input.dtype), input.dtype,
                     [&](const std::vector<Expr>& e) { return e[0] * (e[1] * scale); });
}

/// Dropped elements take the value that keeps the mean and variance of a self-normalizing network.
Tensor alpha_dropped(Builder& b, const Tensor& input, double p, const Tensor& kept) {
  constexpr double kAlpha = 1.7580993408473766;
  const double a = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  return elementwise(b, {input, kept}, compute_type(input.dtype), input.dtype,
                     [&](const std::vector<Expr>& e) {
                       return e[0] * (e[1] * a) + ((e[1] - 1.0) * (kAlpha * a) + kAlpha * a * p);
                     });
}

Outputs dropout(Builder& b, const Arguments& arguments, bool features, bool alpha) {
  const Tensor& input = arguments.tensor("input");
  const double p = arguments.real("p");
  if (p < 0 || p > 1) {
    throw InvalidProgram("dropout probability has to be between 0 and 1, but got " +
                         std::to_string(p));
  }
  if (p == 0 || !arguments.boolean("train")) return Outputs::alias_of("input");
  if (p == 1) return full(b, input.shape, Scalar(0.0), input.dtype);
  const Tensor kept = kept_elements(b, noise_shape(input, features), p);
  return alpha ? alpha_dropped(b, input, p, kept) : dropped(b, input, p, kept);
}

}  // namespace

OPERATOR(dropout, "dropout(Tensor input, float p, bool train) -> Tensor") {
  return dropout(b, arguments, false, false);
}
OPERATOR(feature_dropout, "feature_dropout(Tensor input, float p, bool train) -> Tensor") {
  return dropout(b, arguments, true, false);
}
OPERATOR(alpha_dropout, "alpha_dropout(Tensor input, float p, bool train) -> Tensor") {
  return dropout(b, arguments, false, true);
}
OPERATOR(feature_alpha_dropout,
         "feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor") {
  return dropout(b, arguments, true, true);
}
OPERATOR(native_dropout, "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)") {
  const Tensor& input = arguments.tensor("input");
  const double p = arguments.real("p");
  const bool train = !arguments.has("train") || arguments.boolean("train");
  if (!train || p == 0) return {input, full(b, input.shape, Scalar(true), DType::kBool)};
  const Tensor kept = kept_elements(b, input.shape, p);
  return {dropped(b, input, p, kept), kept};
}

OPERATOR(native_dropout_backward,
         "native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor") {
  const Tensor& gradient = arguments.tensor("grad_output");
  const double scale = arguments.real("scale");
  const DType result = to_floating(gradient.dtype);
  return elementwise(b, {gradient, arguments.tensor("mask")}, compute_type(result), result,
                     [&](const std::vector<Expr>& e) { return e[0] * e[1] * scale; });
}
OPERATOR(rrelu,
         "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool "
         "training=False, Generator? generator=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const double lower = arguments.real("lower"), upper = arguments.real("upper");
  const DType compute = compute_type(self.dtype);
  if (!arguments.boolean("training")) {
    return elementwise(b, {self}, compute, self.dtype, [&](const std::vector<Expr>& e) {
      return select(e[0] > 0, e[0], e[0] * ((lower + upper) / 2));
    });
  }
  const Tensor noise = uniform_numbers(b, self.shape, DType::kFloat32);
  return elementwise(b, {self, noise}, compute, self.dtype, [&](const std::vector<Expr>& e) {
    return select(e[0] <= 0, e[0] * (e[1] * (upper - lower) + lower), e[0]);
  });
}

}  // namespace tendon::aten
