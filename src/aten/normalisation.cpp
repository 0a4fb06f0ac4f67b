// Layer, group, batch and root-mean-square norms.
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

struct Normalized {
  Tensor output, mean, inverse_deviation;
};

/// The variance as PyTorch's batch norms use it: bfloat16 rounds the sum of squares and the
/// quotient, float16 neither.
Expr kept_variance(Builder& b, Expr variance, const Size& count, DType kept) {
  if (kept != DType::kBFloat16) return variance;
  const DType compute = variance.dtype();
  const auto rounded = [&](Expr e) { return cast(compute, cast(kept, e)); };
  const Expr n = cast(compute, b.size(count));
  return rounded(rounded(variance * n) / rounded(n));
}

/// (x - mean) / sqrt(variance + eps) over the last `count` axes.
/// `kept` rounds the statistics to that type first, where PyTorch stores them before it uses them.
Normalized normalize_last(Builder& b, const Tensor& x, int count, double eps,
                          std::optional<DType> kept = std::nullopt) {
  const DType compute = compute_type(x.dtype);
  std::vector<int> axes;
  for (int axis = x.rank() - count; axis < x.rank(); ++axis) axes.push_back(axis);
  Normalized result;
  const auto [mean, variance] = mean_and_variance(b, x, axes, true);
  result.mean = mean;
  result.inverse_deviation = b.map(variance.shape, [&, v = variance](const Indices& i) {
    return unary(Op::kRsqrt, b.load(v, i) + eps);
  });
  if (kept) {
    const auto rounded = [&](Expr e) { return cast(compute, cast(*kept, e)); };
    Size elements = 1;
    for (int axis : axes) elements = elements * x.size(axis);
    result.mean = cast(b, cast(b, mean, *kept), compute);
    result.inverse_deviation = b.map(variance.shape, [&, v = variance](const Indices& i) {
      const Expr biased = kept_variance(b, b.load(v, i), elements, *kept);
      return rounded(unary(Op::kRsqrt, biased + eps));
    });
  }
  result.output = b.map(x.shape, [&](const Indices& i) {
    return (cast(compute, b.load(x, i)) - b.load_broadcast(result.mean, i)) *
           b.load_broadcast(result.inverse_deviation, i);
  });
  return result;
}

/// x * weight + bias where they are given, rounded to `dtype` once; they broadcast from the right.
Tensor scaled(Builder& b, const Tensor& x, const std::optional<Tensor>& weight,
              const std::optional<Tensor>& bias, DType dtype) {
  return b.map(x.shape, [&](const Indices& i) {
    Expr value = b.load(x, i);
    if (weight) value = value * cast(value.dtype(), b.load_broadcast(*weight, i));
    if (bias) value = value + cast(value.dtype(), b.load_broadcast(*bias, i));
    return cast(dtype, value);
  });
}

/// The type in which saved statistics are given: the input's, or float32 where a half input meets
/// float32 parameters.
DType statistics_type(const Arguments& arguments) {
  const DType input = arguments.tensor("input").dtype;
  for (const char* name : {"weight", "bias"}) {
    const auto parameter = arguments.optional_tensor(name);
    if (is_half(input) && parameter && parameter->dtype == DType::kFloat32) return DType::kFloat32;
  }
  return input;
}

Outputs layer_norm(Builder& b, const Arguments& arguments) {
  const Tensor& x = arguments.tensor("input");
  const int count = static_cast<int>(arguments.sizes("normalized_shape").size());
  const Normalized normalized = normalize_last(b, x, count, arguments.real("eps"));
  const Tensor output = scaled(b, normalized.output, arguments.optional_tensor("weight"),
                               arguments.optional_tensor("bias"), x.dtype);
  const DType kept = statistics_type(arguments);
  return {output, cast(b, normalized.mean, kept), cast(b, normalized.inverse_deviation, kept)};
}

struct GroupNorm {
  Tensor output, mean, inverse_deviation;  // the statistics [samples, groups]
};

/// Groups of channels together with all spatial axes.
GroupNorm group_normalized(Builder& b, const Tensor& x, const Size& groups,
                           const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                           double eps, std::optional<DType> kept = std::nullopt) {
  const auto per_group = ir::divide_exactly(x.size(1), groups);
  if (!per_group)
    throw InvalidProgram("Expected number of channels in input to be divisible by num_groups");
  Shape grouped = {x.size(0), groups, *per_group};
  grouped.insert(grouped.end(), x.shape.begin() + 2, x.shape.end());
  const Normalized normalized =
      normalize_last(b, reshape(b, x, grouped), static_cast<int>(grouped.size()) - 2, eps, kept);
  // Scale over the grouped axes: the rows of the norm stay together.
  const auto per_channel = [&](const std::optional<Tensor>& values) -> std::optional<Tensor> {
    if (!values) return std::nullopt;
    Tensor result = reshape(b, *values, {groups, *per_group});
    for (std::size_t i = 3; i < grouped.size(); ++i) result = unsqueeze(b, result, result.rank());
    return result;
  };
  const Shape statistics = {x.size(0), groups};
  return {
      reshape(b, scaled(b, normalized.output, per_channel(weight), per_channel(bias), x.dtype),
              x.shape),
      reshape(b, normalized.mean, statistics),
      reshape(b, normalized.inverse_deviation, statistics),
  };
}

/// A value per channel (axis 1) of a tensor of this rank.
Tensor per_channel(Builder& b, const Tensor& values, int rank) {
  Tensor result = values;
  for (int axis = 2; axis < rank; ++axis) result = unsqueeze(b, result, result.rank());
  return result;
}

struct BatchNorm {
  Tensor output, mean, inverse_deviation;
  std::vector<std::pair<std::string, Tensor>> writes;
};

BatchNorm batch_norm(Builder& b, const Arguments& arguments, bool training) {
  const Tensor& x = arguments.tensor("input");
  if (x.rank() < 2) {
    if (ir::element_count(x.shape) != Size(0)) {
      throw InvalidProgram("Expected a batch norm's input to have at least 2 dimensions");
    }
    const Tensor none = full(b, {0}, Scalar(0.0), compute_type(x.dtype));
    return {x, none, none, {}};
  }
  const double eps = arguments.real("eps"), momentum = arguments.real("momentum");
  const auto running = [&](const char* name) {
    for (const Arguments::Parameter& parameter : arguments.parameters) {
      if (parameter.name == name) return arguments.optional_tensor(name);
    }
    return std::optional<Tensor>();
  };
  const auto running_mean = running("running_mean"), running_var = running("running_var");
  const DType compute = compute_type(x.dtype);
  BatchNorm result;
  Tensor variance;
  if (training) {
    std::vector<int> axes = {0};
    Size count = x.size(0);
    for (int axis = 2; axis < x.rank(); ++axis) {
      axes.push_back(axis);
      count = count * x.size(axis);
    }
    std::tie(result.mean, variance) = mean_and_variance(b, x, axes, false);
    // The mean and the sum of squares are stored, and rounded, before they are used.
    const DType kept = statistics_type(arguments);
    const auto rounded = [&](Expr e) { return cast(compute, cast(kept, e)); };
    result.mean = b.map(result.mean.shape,
                        [&, m = result.mean](const Indices& i) { return rounded(b.load(m, i)); });
    variance = b.map(variance.shape, [&, v = variance](const Indices& i) {
      return kept_variance(b, b.load(v, i), count, kept);
    });
    const auto updated = [&](const Tensor& running, const Tensor& batch, bool unbiased) {
      return b.map(running.shape, [&](const Indices& i) {
        Expr value = cast(compute, b.load(batch, i));
        if (unbiased)
          value = value * cast(compute, b.size(count)) / cast(compute, b.size(count - 1));
        return cast(running.dtype,
                    cast(compute, b.load(running, i)) * (1 - momentum) + value * momentum);
      });
    };
    if (running_mean)
      result.writes.emplace_back("running_mean", updated(*running_mean, result.mean, false));
    if (running_var)
      result.writes.emplace_back("running_var", updated(*running_var, variance, true));
  } else {
    if (!running_mean || !running_var)
      throw InvalidProgram("batch_norm in evaluation needs running statistics");
    result.mean = cast(b, *running_mean, compute);
    variance = cast(b, *running_var, compute);
  }
  result.inverse_deviation = b.map(variance.shape, [&](const Indices& i) {
    const Expr inverse = unary(Op::kRsqrt, b.load(variance, i) + eps);
    return training ? cast(compute, cast(statistics_type(arguments), inverse)) : inverse;
  });
  // As x * scale + shift: the scale goes into a convolution before it.
  const auto weight = arguments.optional_tensor("weight"), bias = arguments.optional_tensor("bias");
  const Tensor scale = b.map(variance.shape, [&](const Indices& i) {
    const Expr inverse = b.load(result.inverse_deviation, i);
    return weight ? inverse * cast(compute, b.load(*weight, i)) : inverse;
  });
  const Tensor shift = b.map(variance.shape, [&](const Indices& i) {
    const Expr moved = -(b.load(result.mean, i) * b.load(scale, i));
    return bias ? cast(compute, b.load(*bias, i)) + moved : moved;
  });
  const Tensor product = b.map(x.shape, [&](const Indices& i) {
    return cast(compute, b.load(x, i)) * b.load_broadcast(per_channel(b, scale, x.rank()), i);
  });
  result.output = b.map(x.shape, [&](const Indices& i) {
    return cast(x.dtype, b.load(product, i) + b.load_broadcast(per_channel(b, shift, x.rank()), i));
  });
  return result;
}

/// The batch's statistics are given only where they were taken.
Outputs batch_norm_outputs(Builder& b, const Arguments& arguments, bool training) {
  const BatchNorm norm = batch_norm(b, arguments, training);
  const DType kept = statistics_type(arguments);
  const auto saved = [&](const Tensor& statistic) {
    return training ? cast(b, statistic, kept) : full(b, {0}, Scalar(0.0), kept);
  };
  Outputs outputs = {norm.output, saved(norm.mean), saved(norm.inverse_deviation)};
  outputs.writes = norm.writes;
  return outputs;
}

/// Every sample's channels on their own; running statistics take the mean over the samples.
Outputs instance_norm(Builder& b, const Arguments& arguments) {
  const Tensor& x = arguments.tensor("input");
  Outputs outputs = group_normalized(b, x, x.size(1), arguments.optional_tensor("weight"),
                                     arguments.optional_tensor("bias"), arguments.real("eps"),
                                     statistics_type(arguments))
                        .output;
  const double momentum = arguments.real("momentum");
  const DType compute = compute_type(x.dtype);
  std::vector<int> axes;
  Size count = 1;
  for (int axis = 2; axis < x.rank(); ++axis) {
    axes.push_back(axis);
    count = count * x.size(axis);
  }
  const auto [mean_of_each, variance_of_each] = mean_and_variance(b, x, axes, false);
  const auto update = [&](const char* name, const Tensor& of_each, bool unbiased) {
    const auto running = arguments.optional_tensor(name);
    if (!running) return;
    const Tensor batch = mean(b, of_each, {0}, false, compute);
    outputs.writes.emplace_back(name, b.map(running->shape, [&](const Indices& i) {
      Expr value = b.load(batch, i);
      if (unbiased) {
        value = value * cast(compute, b.size(count)) / cast(compute, b.size(count - 1));
      }
      return cast(running->dtype,
                  cast(compute, b.load(*running, i)) * (1 - momentum) + value * momentum);
    }));
  };
  update("running_mean", mean_of_each, false);
  update("running_var", variance_of_each, true);
  return outputs;
}

}  // namespace

OPERATOR(layer_norm,
         "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? "
         "bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
         "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, "
         "float eps) -> (Tensor, Tensor, Tensor)") {
  return layer_norm(b, arguments);
}
OPERATOR(rms_norm,
         "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) "
         "-> Tensor") {
  const Tensor& x = arguments.tensor("input");
  const DType compute = compute_type(x.dtype);
  const int count = static_cast<int>(arguments.sizes("normalized_shape").size());
  const double smallest = x.dtype == DType::kFloat64   ? 2.220446049250313e-16
                          : x.dtype == DType::kFloat32 ? 1.1920928955078125e-07
                          : x.dtype == DType::kFloat16 ? 0.0009765625
                                                       : 0.0078125;
  const double eps = arguments.optional_real("eps").value_or(smallest);
  std::vector<int> axes;
  Size elements = 1;
  for (int axis = x.rank() - count; axis < x.rank(); ++axis) {
    axes.push_back(axis);
    elements = elements * x.size(axis);
  }
  const Tensor squares =
      reduce(b, ReduceOp::kSum, x, axes, true, compute, [](Expr e) { return e * e; });
  const Tensor normalized = b.map(x.shape, [&](const Indices& i) {
    const Expr mean = b.load_broadcast(squares, i) / cast(compute, b.size(elements));
    return cast(compute, b.load(x, i)) * unary(Op::kRsqrt, mean + eps);
  });
  return scaled(b, normalized, arguments.optional_tensor("weight"), std::nullopt, x.dtype);
}
OPERATOR(group_norm,
         "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
         "eps=1e-05, bool cudnn_enabled=True) -> Tensor") {
  return group_normalized(b, arguments.tensor("input"), arguments.size("num_groups"),
                          arguments.optional_tensor("weight"), arguments.optional_tensor("bias"),
                          arguments.real("eps"))
      .output;
}
OPERATOR(native_group_norm,
         "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt "
         "HxW, int group, float eps) -> (Tensor, Tensor, Tensor)") {
  const GroupNorm result = group_normalized(
      b, arguments.tensor("input"), arguments.size("group"), arguments.optional_tensor("weight"),
      arguments.optional_tensor("bias"), arguments.real("eps"));
  const DType kept = statistics_type(arguments);
  return {result.output, cast(b, result.mean, kept), cast(b, result.inverse_deviation, kept)};
}
OPERATOR(
    batch_norm,
    "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
    "running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
    "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
    "Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)") {
  return batch_norm_outputs(b, arguments, arguments.boolean("training"));
}
OPERATOR(
    batch_norm_no_training,
    "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor "
    "running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)") {
  return batch_norm_outputs(b, arguments, false);
}
OPERATOR(batch_norm_no_stats,
         "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool "
         "training, float momentum, float eps) -> (Tensor, Tensor, Tensor)") {
  return batch_norm_outputs(b, arguments, true);
}
OPERATOR(batch_norm_with_update,
         "_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
         "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)") {
  Outputs outputs = batch_norm_outputs(b, arguments, true);
  outputs.push_back(full(b, {0}, Scalar(std::int64_t{0}), DType::kUInt8));
  return outputs;
}
OPERATOR(batch_norm_no_update,
         "_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
         "Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)") {
  Outputs outputs = batch_norm_outputs(b, arguments, false);
  outputs.push_back(full(b, {0}, Scalar(std::int64_t{0}), DType::kUInt8));
  return outputs;
}
OPERATOR(
    instance_norm,
    "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
    "running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor") {
  if (!arguments.boolean("use_input_stats")) return batch_norm_outputs(b, arguments, false);
  return instance_norm(b, arguments);
}

}  // namespace tendon::aten
