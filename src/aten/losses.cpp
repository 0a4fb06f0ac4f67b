// Losses. `reduction`: 0 none, 1 mean, 2 sum.
#include <cmath>
#include <limits>
#include <numbers>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// The mean or sum over everything, or the tensor itself.
Tensor reduced(Builder& b, const Tensor& x, std::int64_t reduction) {
  const std::vector<int> axes = wrap_axes(std::nullopt, x.rank());
  if (reduction == 1) return mean(b, x, axes, false, x.dtype);
  if (reduction == 2) return sum(b, x, axes, false, x.dtype);
  return x;
}

Outputs pointwise(Builder& b, const Arguments& arguments,
                  const std::function<Expr(Expr, Expr)>& body) {
  const Tensor &self = arguments.tensor("self"), &target = arguments.tensor("target");
  const DType type = result_type({self, target});
  if (!is_floating(type)) throw InvalidProgram("a loss takes floating point tensors");
  return reduced(b,
                 elementwise(b, {self, target}, compute_type(type), type,
                             [&](const std::vector<Expr>& e) { return body(e[0], e[1]); }),
                 arguments.integer("reduction"));
}

Expr absolute(Expr x) { return unary(Op::kAbs, x); }

/// log(1 + exp(-|x|))
Expr log1p_exp_minus_abs(Expr x) { return unary(Op::kLog1p, unary(Op::kExp, -absolute(x))); }

// ---- Classes: negative log likelihood.

struct Likelihood {
  Tensor losses;   // per target; 0 where ignored
  Tensor weights;  // per target, in the compute type; 0 where ignored
};

/// x [n, c, rest...] (or [c]) of log-probabilities, target [n, rest...] (or []) of classes.
Likelihood likelihood(Builder& b, const Tensor& x, const Tensor& target,
                      const std::optional<Tensor>& weight, std::int64_t ignored) {
  const int axis = x.rank() == 1 ? 0 : 1;
  const Size classes = x.size(axis);
  const DType compute = compute_type(x.dtype);
  const auto weight_of = [&](Expr label, Expr kept) {
    const Expr one = b.constant(compute, 1.0);
    const Expr value = weight ? cast(compute, b.load(*weight, {label})) : one;
    return select(kept, value, b.constant(compute, 0.0));
  };
  const auto class_of = [&](const Indices& i) {
    const Expr label = cast(DType::kInt64, b.load(target, i));
    const Expr kept = label != ignored;
    const Expr inside = b.check_index(select(kept, label, b.constant(DType::kInt64, 0)), classes,
                                      {false, "Target {index} is out of bounds."});
    return std::pair(inside, kept);
  };
  Likelihood result;
  result.losses = b.map(target.shape, [&](const Indices& i) {
    const auto [label, kept] = class_of(i);
    Indices position = i;
    position.insert(position.begin() + axis, label);
    const Expr value = cast(compute, b.load(x, position)) * weight_of(label, kept);
    return cast(x.dtype, select(kept, -value, like(value, 0.0)));
  });
  result.weights = b.map(target.shape, [&](const Indices& i) {
    const auto [label, kept] = class_of(i);
    return weight_of(label, kept);
  });
  return result;
}

struct Loss {
  Tensor output, total_weight;
};

Loss nll_loss(Builder& b, const Tensor& x, const Tensor& target,
              const std::optional<Tensor>& weight, std::int64_t reduction, std::int64_t ignored) {
  const Likelihood parts = likelihood(b, x, target, weight, ignored);
  const std::vector<int> axes = wrap_axes(std::nullopt, target.rank());
  const DType compute = compute_type(x.dtype);
  const Tensor weights = reduce(b, ReduceOp::kSum, parts.weights, axes, false, compute);
  if (reduction == 0) return {parts.losses, full(b, {}, Scalar(0.0), x.dtype)};
  const Tensor total = reduce(b, ReduceOp::kSum, parts.losses, axes, false, compute);
  const Tensor output = b.map({}, [&](const Indices&) {
    const Expr value = b.load(total, {});
    return cast(x.dtype, reduction == 1 ? value / b.load(weights, {}) : value);
  });
  return {output, cast(b, weights, x.dtype)};
}

Loss nll_loss(Builder& b, const Arguments& arguments) {
  return nll_loss(b, arguments.tensor("self"), arguments.tensor("target"),
                  arguments.optional_tensor("weight"), arguments.integer("reduction"),
                  arguments.integer("ignore_index"));
}

/// Targets as probabilities.
Tensor cross_entropy_of_probabilities(Builder& b, const Tensor& logarithms, const Tensor& target,
                                      const std::optional<Tensor>& weight, int axis,
                                      std::int64_t reduction, double smoothing) {
  const DType type = logarithms.dtype, compute = compute_type(type);
  const Size classes = logarithms.size(axis);
  const Tensor products = b.map(logarithms.shape, [&](const Indices& i) {
    Expr share = cast(compute, b.load(target, i));
    if (smoothing > 0) {
      share =
          share * (1 - smoothing) + b.constant(compute, smoothing) / cast(compute, b.size(classes));
    }
    Expr value = cast(compute, b.load(logarithms, i)) * share;
    if (weight) {
      value = value * cast(compute, b.load(*weight, {i[static_cast<std::size_t>(axis)]}));
    }
    return -value;
  });
  if (reduction == 0) return sum(b, products, {axis}, false, type);
  const Tensor total =
      reduce(b, ReduceOp::kSum, products, wrap_axes(std::nullopt, products.rank()), false, compute);
  if (reduction == 2) return cast(b, total, type);
  const Size count = ir::element_count(logarithms.shape);
  return b.map({}, [&](const Indices&) {
    const Expr samples = cast(compute, b.size(count)) / cast(compute, b.size(classes));
    return cast(type, b.load(total, {}) / samples);
  });
}

Tensor cross_entropy(Builder& b, const Arguments& arguments) {
  const Tensor &self = arguments.tensor("self"), &target = arguments.tensor("target");
  const auto weight = arguments.optional_tensor("weight");
  const std::int64_t reduction = arguments.integer("reduction");
  const std::int64_t ignored = arguments.integer("ignore_index");
  const double smoothing = arguments.real("label_smoothing");
  const int axis = self.rank() == 1 ? 0 : 1;
  const Tensor logarithms = log_softmax(b, self, axis, self.dtype);
  if (target.rank() == self.rank() && is_floating(target.dtype)) {
    return cross_entropy_of_probabilities(b, logarithms, target, weight, axis, reduction,
                                          smoothing);
  }
  const Loss plain = nll_loss(b, logarithms, target, weight, reduction, ignored);
  if (smoothing == 0) return plain.output;
  // The smoothed part spreads over all classes.
  const DType type = self.dtype, compute = compute_type(type);
  const Tensor weighted = b.map(self.shape, [&](const Indices& i) {
    const Expr value = -cast(compute, b.load(logarithms, i));
    if (!weight) return value;
    return value * cast(compute, b.load(*weight, {i[static_cast<std::size_t>(axis)]}));
  });
  const Tensor per_target = reduce(b, ReduceOp::kSum, weighted, {axis}, false, compute);
  const Tensor kept = b.map(target.shape, [&](const Indices& i) {
    const Expr value = b.load(per_target, i);
    return select(cast(DType::kInt64, b.load(target, i)) == ignored, like(value, 0.0), value);
  });
  const Likelihood parts = likelihood(b, logarithms, target, weight, ignored);
  const std::vector<int> axes = wrap_axes(std::nullopt, target.rank());
  const Size classes = self.size(axis);
  const auto combined = [&](Expr likely, Expr smooth) {
    return likely * (1 - smoothing) + smooth * smoothing / cast(compute, b.size(classes));
  };
  if (reduction == 0) {
    return b.map(target.shape, [&](const Indices& i) {
      return cast(type, combined(cast(compute, b.load(plain.output, i)), b.load(kept, i)));
    });
  }
  const Tensor spread = reduce(b, ReduceOp::kSum, kept, axes, false, compute);
  const Tensor weights = reduce(b, ReduceOp::kSum, parts.weights, axes, false, compute);
  return b.map({}, [&](const Indices&) {
    Expr smooth = b.load(spread, {});
    if (reduction == 1) smooth = smooth / b.load(weights, {});
    return cast(type, combined(cast(compute, b.load(plain.output, {})), smooth));
  });
}

/// max(0, margin + ...) of a loss of three operands.
Expr positive(Expr x) { return maximum(x, like(x, 0)); }

}  // namespace

OPERATOR(mse_loss, "mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor") {
  return pointwise(b, arguments, [](Expr x, Expr y) { return (x - y) * (x - y); });
}
OPERATOR(l1_loss, "l1_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor") {
  return pointwise(b, arguments, [](Expr x, Expr y) { return absolute(x - y); });
}
OPERATOR(smooth_l1_loss,
         "smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float beta=1.0) -> "
         "Tensor") {
  const double beta = arguments.real("beta");
  return pointwise(b, arguments, [&](Expr x, Expr y) {
    const Expr z = absolute(x - y);
    if (beta == 0) return z;
    return select(z < beta, z * 0.5 * z / like(z, beta), z - 0.5 * beta);
  });
}
OPERATOR(huber_loss,
         "huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor") {
  const double delta = arguments.real("delta");
  return pointwise(b, arguments, [&](Expr x, Expr y) {
    const Expr z = absolute(x - y);
    return select(z <= delta, z * 0.5 * z, (z - 0.5 * delta) * delta);
  });
}
OPERATOR(soft_margin_loss,
         "soft_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor") {
  // PyTorch makes it of operators on tensors: each rounds, and a half exponential overflows.
  const DType type = result_type({arguments.tensor("self"), arguments.tensor("target")});
  const auto rounded = [&](Expr e) { return cast(e.dtype(), cast(type, e)); };
  return pointwise(b, arguments, [&](Expr x, Expr y) {
    return unary(Op::kLog1p, rounded(unary(Op::kExp, rounded(-y * x))));
  });
}
OPERATOR(kl_div,
         "kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False) -> "
         "Tensor") {
  const bool logarithmic = arguments.boolean("log_target");
  return pointwise(b, arguments, [&](Expr x, Expr y) {
    if (logarithmic) return unary(Op::kExp, y) * (y - x);
    const Expr entropy = select(y == 0, like(y, 0.0), y * unary(Op::kLog, y));
    return select(unary(Op::kIsNan, y), y, entropy) - y * x;
  });
}
OPERATOR(poisson_nll_loss,
         "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int "
         "reduction) -> Tensor") {
  const Tensor &input = arguments.tensor("input"), &target = arguments.tensor("target");
  const bool logarithmic = arguments.boolean("log_input"), full = arguments.boolean("full");
  const double eps = arguments.real("eps");
  const DType type = to_floating(result_type({input, target}));
  const Tensor losses =
      elementwise(b, {input, target}, compute_type(type), type, [&](const std::vector<Expr>& e) {
        // Each step is an operator of its own in PyTorch.
        const auto rounded = [&](Expr x) { return cast(compute_type(type), cast(type, x)); };
        const auto logarithm = [&](Expr x) { return rounded(unary(Op::kLog, rounded(x))); };
        Expr loss = logarithmic ? rounded(unary(Op::kExp, e[0])) - rounded(e[1] * e[0])
                                : e[0] - rounded(e[1] * logarithm(e[0] + eps));
        if (full) {
          const Expr stirling = rounded(rounded(e[1] * logarithm(e[1])) - e[1]) +
                                rounded(logarithm(e[1] * (2 * std::numbers::pi)) * 0.5);
          loss = rounded(loss) + select(e[1] <= 1, like(loss, 0.0), rounded(stirling));
        }
        return loss;
      });
  return reduced(b, losses, arguments.integer("reduction"));
}
OPERATOR(binary_cross_entropy,
         "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int "
         "reduction=Mean) -> Tensor") {
  const Tensor &self = arguments.tensor("self"), &target = arguments.tensor("target");
  std::vector<Tensor> tensors = {self, target};
  if (const auto weight = arguments.optional_tensor("weight")) tensors.push_back(*weight);
  const Tensor losses =
      elementwise(b, tensors, compute_type(self.dtype), self.dtype, [](const std::vector<Expr>& e) {
        // Logarithms no less than -100 keep the loss finite.
        const auto bounded = [](Expr x) { return maximum(x, like(x, -100.0)); };
        const Expr loss = (e[1] - 1.0) * bounded(unary(Op::kLog1p, -e[0])) -
                          e[1] * bounded(unary(Op::kLog, e[0]));
        return e.size() > 2 ? loss * e[2] : loss;
      });
  return reduced(b, losses, arguments.integer("reduction"));
}
OPERATOR(binary_cross_entropy_with_logits,
         "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, "
         "Tensor? pos_weight=None, int reduction=Mean) -> Tensor") {
  const Tensor &self = arguments.tensor("self"), &target = arguments.tensor("target");
  const auto weight = arguments.optional_tensor("weight");
  const auto positive_weight = arguments.optional_tensor("pos_weight");
  std::vector<Tensor> tensors = {self, target};
  if (weight) tensors.push_back(*weight);
  if (positive_weight) tensors.push_back(*positive_weight);
  const DType type = result_type({self, target});
  const Tensor losses =
      elementwise(b, tensors, compute_type(type), type, [&](const std::vector<Expr>& e) {
        const Expr x = e[0], y = e[1];
        const Expr soft = minimum(x, like(x, 0)) - log1p_exp_minus_abs(x);  // log sigmoid
        Expr loss = (1.0 - y) * x;
        if (positive_weight) {
          loss = loss - ((e.back() - 1.0) * y + 1.0) * soft;
        } else {
          loss = loss - soft;
        }
        return weight ? loss * e[2] : loss;
      });
  return reduced(b, losses, arguments.integer("reduction"));
}
OPERATOR(nll_loss,
         "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt "
         "ignore_index=-100) -> Tensor",
         "nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt "
         "ignore_index=-100) -> Tensor",
         "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt "
         "ignore_index=-100) -> Tensor") {
  return nll_loss(b, arguments).output;
}
OPERATOR(nll_loss_forward,
         "nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
         "ignore_index) -> (Tensor output, Tensor total_weight)",
         "nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
         "ignore_index) -> (Tensor output, Tensor total_weight)") {
  const Loss loss = nll_loss(b, arguments);
  return {loss.output, loss.total_weight};
}
OPERATOR(cross_entropy_loss,
         "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, "
         "SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor") {
  return cross_entropy(b, arguments);
}
OPERATOR(margin_ranking_loss,
         "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int "
         "reduction=Mean) -> Tensor") {
  const Tensor &first = arguments.tensor("input1"), &second = arguments.tensor("input2"),
               &target = arguments.tensor("target");
  const double margin = arguments.real("margin");
  const DType common = result_type({first, second, target}), type = to_floating(common);
  return reduced(b,
                 elementwise(b, {first, second, target}, compute_type(common), type,
                             [&](const std::vector<Expr>& e) {
                               const Expr z = -e[2] * (e[0] - e[1]);
                               return positive(cast(compute_type(type), z) + margin);
                             }),
                 arguments.integer("reduction"));
}
OPERATOR(hinge_embedding_loss,
         "hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=Mean) "
         "-> Tensor") {
  const double margin = arguments.real("margin");
  // PyTorch makes it of operators on tensors: each rounds.
  const DType type = result_type({arguments.tensor("self"), arguments.tensor("target")});
  const auto rounded = [&](Expr e) { return cast(e.dtype(), cast(type, e)); };
  return pointwise(b, arguments, [&](Expr x, Expr y) {
    const Expr zero = like(x, 0);
    const Expr distance = rounded(rounded(like(x, margin)) - x);
    return select(y != 1, positive(distance), zero) + select(y != -1, x, zero);
  });
}

}  // namespace tendon::aten
