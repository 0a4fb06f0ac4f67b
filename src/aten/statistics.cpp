// Variances, sums of logarithms and of numbers that are not NaN, counts.
#include "aten/statistics.h"

#include <cmath>
#include <limits>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<int> axes_of(const Arguments& arguments) {
  return wrap_axes(arguments.optional_integers("dim"), arguments.tensor("self").rank());
}

Size count_along(const Tensor& x, const std::vector<int>& axes) {
  Size count = 1;
  for (int axis : axes) count = count * x.size(axis);
  return count;
}

struct Statistics {
  Tensor variance, mean;
};

/// With `correction` taken from the count; standard deviations if `root`.
Statistics statistics(Builder& b, const Tensor& self, const std::vector<int>& axes,
                      double correction, bool keep, bool root, std::string_view name) {
  if (!is_floating(self.dtype) && !self.complex()) {
    throw InvalidProgram(std::string(name) +
                         " only support floating point and complex dtypes. Got: " +
                         std::string(dtype_name(self.dtype)));
  }
  if (self.complex()) throw Unsupported("complex numbers");
  const auto [mean, biased] = mean_and_variance(b, self, axes, keep);
  const Size count = count_along(self, axes);
  const Tensor variance = b.map(biased.shape, [&, v = biased](const Indices& i) {
    const Expr value = b.load(v, i);
    const Expr n = cast(value.dtype(), b.size(count));
    const Expr corrected = value * n / maximum(n - correction, like(value, 0.0));
    return cast(self.dtype, root ? unary(Op::kSqrt, corrected) : corrected);
  });
  return {variance, cast(b, mean, self.dtype)};
}

/// The overloads' ways to say the correction.
double correction_of(const Arguments& arguments) {
  for (const Arguments::Parameter& parameter : arguments.parameters) {
    if (parameter.name == "unbiased") return arguments.boolean("unbiased") ? 1 : 0;
  }
  return arguments.optional_real("correction").value_or(1);
}

Statistics statistics(Builder& b, const Arguments& arguments, bool root, std::string_view name) {
  const Tensor& self = arguments.tensor("self");
  bool keep = false;
  std::vector<int> axes = wrap_axes(std::nullopt, self.rank());
  for (const Arguments::Parameter& parameter : arguments.parameters) {
    if (parameter.name == "dim") axes = axes_of(arguments);
    if (parameter.name == "keepdim") keep = arguments.boolean("keepdim");
  }
  return statistics(b, self, axes, correction_of(arguments), keep, root, name);
}

DType sum_type(const Arguments& arguments) {
  const DType self = arguments.tensor("self").dtype;
  if (const auto dtype = arguments.dtype("dtype")) return *dtype;
  return is_floating(self) || is_complex(self) ? self : DType::kInt64;
}

Expr without_nan(Expr x) {
  return is_floating(x.dtype()) ? select(unary(Op::kIsNan, x), like(x, 0.0), x) : x;
}

Tensor count_nonzero(Builder& b, const Tensor& self, const std::vector<int>& axes) {
  if (self.complex()) throw Unsupported("complex numbers");
  return cast(b, reduce(b, ReduceOp::kSum, cast(b, self, DType::kBool), axes, false, DType::kInt64),
              DType::kInt64);
}

}  // namespace

Tensor logsumexp(Builder& b, const Tensor& self, const std::vector<int>& axes, bool keep_axes) {
  if (self.complex()) throw Unsupported("complex numbers");
  const DType result = to_floating(self.dtype), compute = compute_type(result);
  const Tensor maximum = reduce(b, ReduceOp::kMax, self, axes, true, compute);
  // An infinite maximum would make NaN of its own exponential.
  const auto shift_of = [&](const Indices& i) {
    const Expr value = b.load_broadcast(maximum, i);
    return select(unary(Op::kAbs, value) == kInfinity, like(value, 0.0), value);
  };
  const Tensor shifted = b.map(self.shape, [&](const Indices& i) {
    return unary(Op::kExp, cast(compute, b.load(self, i)) - shift_of(i));
  });
  const Tensor total = reduce(b, ReduceOp::kSum, shifted, axes, true, compute);
  const Tensor logarithm = b.map(total.shape, [&](const Indices& i) {
    return cast(result, unary(Op::kLog, b.load(total, i)) + shift_of(i));
  });
  return keep_axes ? logarithm : squeeze(b, logarithm, axes);
}

OPERATOR(var, "var(Tensor self, bool unbiased=True) -> Tensor",
         "var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
         "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
         "keepdim=False) -> Tensor") {
  return statistics(b, arguments, false, "var").variance;
}
OPERATOR(std_deviation, "std(Tensor self, bool unbiased=True) -> Tensor",
         "std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
         "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
         "keepdim=False) -> Tensor") {
  return statistics(b, arguments, true, "std").variance;
}
OPERATOR(var_mean, "var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
         "var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
         "(Tensor, Tensor)",
         "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
         "keepdim=False) -> (Tensor, Tensor)") {
  const Statistics result = statistics(b, arguments, false, "var_mean");
  return {result.variance, result.mean};
}
OPERATOR(std_mean, "std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
         "std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
         "(Tensor, Tensor)",
         "std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
         "keepdim=False) -> (Tensor, Tensor)") {
  const Statistics result = statistics(b, arguments, true, "std_mean");
  return {result.variance, result.mean};
}
OPERATOR(logsumexp, "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
         "special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor") {
  return logsumexp(b, arguments.tensor("self"), axes_of(arguments), arguments.boolean("keepdim"));
}
OPERATOR(nansum,
         "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> "
         "Tensor") {
  const DType result = sum_type(arguments);
  // The input is converted before NaN is looked for.
  return cast(
      b,
      reduce(b, ReduceOp::kSum, cast(b, arguments.tensor("self"), result), axes_of(arguments),
             arguments.boolean("keepdim"), compute_type(result), without_nan),
      result);
}
OPERATOR(nanmean,
         "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> "
         "Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (!is_floating(self.dtype)) {
    throw InvalidProgram(
        "nanmean(): expected input to have floating point or complex dtype but "
        "got " +
        std::string(dtype_name(self.dtype)));
  }
  const std::vector<int> axes = axes_of(arguments);
  const bool keep = arguments.boolean("keepdim");
  const DType result = arguments.dtype("dtype").value_or(self.dtype);
  const DType compute = compute_type(result);
  const Tensor total = reduce(b, ReduceOp::kSum, self, axes, keep, compute, without_nan);
  const Tensor count = reduce(b, ReduceOp::kSum, self, axes, keep, compute_type(self.dtype),
                              [&](Expr x) { return cast(DType::kInt64, !unary(Op::kIsNan, x)); });
  return b.map(total.shape, [&](const Indices& i) {
    return cast(result, b.load(total, i) / cast(compute, b.load(count, i)));
  });
}
OPERATOR(count_nonzero, "count_nonzero(Tensor self, int? dim=None) -> Tensor",
         "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor") {
  return count_nonzero(b, arguments.tensor("self"), axes_of(arguments));
}
OPERATOR(trace, "trace(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (self.rank() != 2) throw InvalidProgram("trace: expected a matrix");
  if (self.complex()) throw Unsupported("complex numbers");
  const DType result = is_floating(self.dtype) ? self.dtype : DType::kInt64;
  const Tensor total =
      b.reduce(ReduceOp::kSum, {}, {ir::min(self.shape[0], self.shape[1])}, [&](const Indices& i) {
        return cast(compute_type(result), b.load(self, {i[0], i[0]}));
      });
  return cast(b, total, result);
}
OPERATOR(is_all_true, "_is_all_true(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return reduce(b, ReduceOp::kAll, self, wrap_axes(std::nullopt, self.rank()), false, DType::kBool);
}
OPERATOR(is_any_true, "_is_any_true(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return reduce(b, ReduceOp::kAny, self, wrap_axes(std::nullopt, self.rank()), false, DType::kBool);
}

}  // namespace tendon::aten
