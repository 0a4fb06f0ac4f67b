// Sums, means, extremes.
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

DType sum_type(const Arguments& arguments) {
  const DType self = arguments.tensor("self").dtype;
  if (const auto dtype = arguments.dtype("dtype")) return *dtype;
  return is_floating(self) || is_complex(self) ? self : DType::kInt64;
}

std::vector<int> axes_of(const Arguments& arguments) {
  return wrap_axes(arguments.optional_integers("dim"), arguments.tensor("self").rank());
}

std::vector<int> one_axis(const Arguments& arguments) {
  const Tensor& self = arguments.tensor("self");
  const int axis = wrap_axis(arguments.integer("dim"), self.rank());
  return self.rank() == 0 ? std::vector<int>{} : std::vector<int>{axis};
}

void check_not_empty(const Tensor& x, const std::vector<int>& axes, std::string_view name) {
  for (int axis : axes) {
    if (x.size(axis) == Size(0)) {
      throw InvalidProgram(std::string(name) + "(): Expected reduction dim " +
                           std::to_string(axis) + " to have non-zero size.");
    }
  }
}

Tensor extreme(Builder& b, const Tensor& self, const std::vector<int>& axes, bool keep,
               bool largest) {
  check_not_empty(self, axes, largest ? "amax" : "amin");
  return cast(b,
              reduce(b, largest ? ReduceOp::kMax : ReduceOp::kMin, self, axes, keep,
                     compute_type(self.dtype)),
              self.dtype);
}

Tensor position(Builder& b, const Tensor& self, const std::vector<int>& axes, bool keep,
                bool largest) {
  check_not_empty(self, axes, largest ? "argmax" : "argmin");
  return reduce(b, largest ? ReduceOp::kArgMax : ReduceOp::kArgMin, self, axes, keep,
                compute_type(self.dtype));
}

Outputs extreme_with_position(Builder& b, const Arguments& arguments, bool largest) {
  const Tensor& self = arguments.tensor("self");
  const std::vector<int> axes = one_axis(arguments);
  const bool keep = arguments.boolean("keepdim");
  return {extreme(b, self, axes, keep, largest), position(b, self, axes, keep, largest)};
}

std::vector<int> all_axes(const Tensor& x) { return wrap_axes(std::nullopt, x.rank()); }

Tensor arg_extreme(Builder& b, const Arguments& arguments, bool largest) {
  const Tensor& self = arguments.tensor("self");
  if (arguments.has("dim"))
    return position(b, self, one_axis(arguments), arguments.boolean("keepdim"), largest);
  return position(b, self, all_axes(self), false, largest);
}

Tensor truth(Builder& b, const Tensor& self, const std::vector<int>& axes, bool keep, ReduceOp op) {
  const Tensor result = reduce(b, op, self, axes, keep, DType::kBool);
  // uint8 stays uint8, by PyTorch's history.
  return self.dtype == DType::kUInt8 ? cast(b, result, DType::kUInt8) : result;
}

}  // namespace

OPERATOR(sum, "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return sum(b, self, all_axes(self), false, sum_type(arguments));
}
OPERATOR(sum_dim,
         "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) "
         "-> Tensor") {
  return sum(b, arguments.tensor("self"), axes_of(arguments), arguments.boolean("keepdim"),
             sum_type(arguments));
}
OPERATOR(mean, "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return mean(b, self, all_axes(self), false, arguments.dtype("dtype").value_or(self.dtype));
}
OPERATOR(
    mean_dim,
    "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return mean(b, self, axes_of(arguments), arguments.boolean("keepdim"),
              arguments.dtype("dtype").value_or(self.dtype));
}
OPERATOR(prod, "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const DType type = sum_type(arguments);
  return cast(b, reduce(b, ReduceOp::kProduct, self, all_axes(self), false, compute_type(type)),
              type);
}
OPERATOR(
    prod_dim,
    "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor") {
  const DType type = sum_type(arguments);
  return cast(b,
              reduce(b, ReduceOp::kProduct, arguments.tensor("self"), one_axis(arguments),
                     arguments.boolean("keepdim"), compute_type(type)),
              type);
}
OPERATOR(amax, "amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor") {
  return extreme(b, arguments.tensor("self"), axes_of(arguments), arguments.boolean("keepdim"),
                 true);
}
OPERATOR(amin, "amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor") {
  return extreme(b, arguments.tensor("self"), axes_of(arguments), arguments.boolean("keepdim"),
                 false);
}
OPERATOR(aminmax,
         "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)") {
  const Tensor& self = arguments.tensor("self");
  const std::vector<int> axes = arguments.has("dim") ? one_axis(arguments) : all_axes(self);
  const bool keep = arguments.boolean("keepdim");
  return {extreme(b, self, axes, keep, false), extreme(b, self, axes, keep, true)};
}
OPERATOR(max, "max(Tensor self) -> Tensor") {
  return extreme(b, arguments.tensor("self"), all_axes(arguments.tensor("self")), false, true);
}
OPERATOR(min, "min(Tensor self) -> Tensor") {
  return extreme(b, arguments.tensor("self"), all_axes(arguments.tensor("self")), false, false);
}
OPERATOR(max_dim,
         "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)") {
  return extreme_with_position(b, arguments, true);
}
OPERATOR(min_dim,
         "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)") {
  return extreme_with_position(b, arguments, false);
}
OPERATOR(argmax, "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor") {
  return arg_extreme(b, arguments, true);
}
OPERATOR(argmin, "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor") {
  return arg_extreme(b, arguments, false);
}
OPERATOR(any, "any(Tensor self) -> Tensor") {
  return truth(b, arguments.tensor("self"), all_axes(arguments.tensor("self")), false,
               ReduceOp::kAny);
}
OPERATOR(all, "all(Tensor self) -> Tensor") {
  return truth(b, arguments.tensor("self"), all_axes(arguments.tensor("self")), false,
               ReduceOp::kAll);
}
OPERATOR(any_dim, "any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor") {
  return truth(b, arguments.tensor("self"), one_axis(arguments), arguments.boolean("keepdim"),
               ReduceOp::kAny);
}
OPERATOR(all_dim, "all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor") {
  return truth(b, arguments.tensor("self"), one_axis(arguments), arguments.boolean("keepdim"),
               ReduceOp::kAll);
}
OPERATOR(any_dims, "any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor") {
  return truth(b, arguments.tensor("self"), axes_of(arguments), arguments.boolean("keepdim"),
               ReduceOp::kAny);
}
OPERATOR(all_dims, "all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor") {
  return truth(b, arguments.tensor("self"), axes_of(arguments), arguments.boolean("keepdim"),
               ReduceOp::kAll);
}

}  // namespace tendon::aten
