// Softmax and prefix operations.
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

int axis_of(const Arguments& arguments) {
  return wrap_axis(arguments.integer("dim"), arguments.tensor("self").rank());
}

Tensor scanned(Builder& b, const Tensor& self, int axis, ir::ScanOp op, DType result) {
  if (self.rank() == 0) return cast(b, self, result);
  const DType compute = compute_type(result);
  const auto outputs = b.scan(op, axis, self.shape,
                              [&](const Indices& i) { return cast(compute, b.load(self, i)); });
  return cast(b, outputs[0], result);
}

DType accumulated_type(const Arguments& arguments) {
  const DType self = arguments.tensor("self").dtype;
  if (const auto dtype = arguments.dtype("dtype")) return *dtype;
  return is_floating(self) ? self : DType::kInt64;
}

Outputs extreme_scan(Builder& b, const Arguments& arguments, ir::ScanOp op) {
  const Tensor& self = arguments.tensor("self");
  if (self.rank() == 0) return {self, full(b, {}, Scalar(std::int64_t{0}), DType::kInt64)};
  const DType compute = compute_type(self.dtype);
  const auto outputs = b.scan(op, axis_of(arguments), self.shape,
                              [&](const Indices& i) { return cast(compute, b.load(self, i)); });
  return {cast(b, outputs[0], self.dtype), outputs[1]};
}

}  // namespace

OPERATOR(softmax, "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const DType result = arguments.dtype("dtype").value_or(self.dtype);
  return softmax(b, cast(b, self, result), axis_of(arguments), result);
}
OPERATOR(softmax_internal, "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return softmax(b, self, axis_of(arguments),
                 arguments.boolean("half_to_float") ? DType::kFloat32 : self.dtype);
}
OPERATOR(log_softmax, "log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const DType result = arguments.dtype("dtype").value_or(self.dtype);
  return log_softmax(b, cast(b, self, result), axis_of(arguments), result);
}
OPERATOR(log_softmax_internal, "_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return log_softmax(b, self, axis_of(arguments),
                     arguments.boolean("half_to_float") ? DType::kFloat32 : self.dtype);
}
OPERATOR(safe_softmax, "_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor") {
  // Rows that are masked whole give zeros.
  const Tensor& self = arguments.tensor("self");
  const DType result = arguments.dtype("dtype").value_or(self.dtype);
  const int axis = axis_of(arguments);
  const Tensor soft = softmax(b, cast(b, self, result), axis, result);
  if (self.rank() == 0) return soft;
  const Tensor masked =
      reduce(b, ReduceOp::kAll, self, {axis}, true, compute_type(self.dtype),
             [](Expr x) { return x == -std::numeric_limits<double>::infinity(); });
  return b.map(soft.shape, [&](const Indices& i) {
    const Expr value = b.load(soft, i);
    return select(b.load_broadcast(masked, i), like(value, 0.0), value);
  });
}
OPERATOR(cumsum, "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor") {
  return scanned(b, arguments.tensor("self"), axis_of(arguments), ir::ScanOp::kSum,
                 accumulated_type(arguments));
}
OPERATOR(cumprod, "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor") {
  return scanned(b, arguments.tensor("self"), axis_of(arguments), ir::ScanOp::kProduct,
                 accumulated_type(arguments));
}
OPERATOR(logcumsumexp, "logcumsumexp(Tensor self, int dim) -> Tensor") {
  return scanned(b, arguments.tensor("self"), axis_of(arguments), ir::ScanOp::kLogSumExp,
                 arguments.tensor("self").dtype);
}
OPERATOR(cummax, "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)") {
  return extreme_scan(b, arguments, ir::ScanOp::kMax);
}
OPERATOR(cummin, "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)") {
  return extreme_scan(b, arguments, ir::ScanOp::kMin);
}

}  // namespace tendon::aten
