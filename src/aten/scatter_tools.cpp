#include "aten/scatter_tools.h"

#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

/// A complex plan over pairs: the last axis of everything is the pair's.
ScatterPlan over_pairs(const ScatterPlan& plan) {
  const auto with_part = [](const Positions& positions) -> Positions {
    return [positions](const Indices& index) {
      Indices result = positions(Indices(index.begin(), index.end() - 1));
      result.push_back(index.back());
      return result;
    };
  };
  ScatterPlan pairs = plan;
  pairs.domain.push_back(Size(2));
  pairs.source = as_pairs(plan.source);
  pairs.target = with_part(plan.target);
  pairs.source_position = with_part(plan.source_position);
  if (plan.mask) {
    pairs.mask = [mask = plan.mask](const Indices& index) {
      return mask(Indices(index.begin(), index.end() - 1));
    };
  }
  return pairs;
}

Tensor constant_like(Builder& b, const Tensor& x, double value) {
  return full(b, x.shape, Scalar(value), x.dtype);
}

/// The element that a reduction starts with.
Tensor neutral(Builder& b, Reduction reduction, DType dtype) {
  return b.map({}, [&](const Indices&) {
    switch (reduction) {
      case Reduction::kProduct:
        return cast(dtype, b.constant(DType::kInt64, 1));
      case Reduction::kMax:
        return lowest(b, dtype);
      case Reduction::kMin:
        return highest(b, dtype);
      default:
        return cast(dtype, b.constant(DType::kInt64, 0));
    }
  });
}

}  // namespace

Tensor scatter_plan(Builder& b, ir::ScatterOp op, const Tensor& target, const ScatterPlan& plan,
                    HalfRounding rounding) {
  if (target.complex()) {
    if (op != ir::ScatterOp::kAssign && op != ir::ScatterOp::kAdd) {
      throw Unsupported("complex numbers multiplied or compared by a scatter");
    }
    return from_pairs(scatter_plan(b, op, as_pairs(target), over_pairs(plan), rounding),
                      target.dtype);
  }
  if (rounding == HalfRounding::kOnce && is_half(target.dtype) && op != ir::ScatterOp::kAssign) {
    ScatterPlan wide = plan;
    wide.source = cast(b, plan.source, DType::kFloat32);
    return cast(b, scatter_plan(b, op, cast(b, target, DType::kFloat32), wide), target.dtype);
  }
  if (target.dtype == DType::kBool) {
    if (op == ir::ScatterOp::kAdd) op = ir::ScatterOp::kMax;
    if (op == ir::ScatterOp::kMultiply) op = ir::ScatterOp::kMin;
  }
  return b.scatter(op, target, plan.domain, [&](const Indices& index) {
    Builder::ScatterPoint point{plan.target(index),
                                b.load(plan.source, plan.source_position(index)), std::nullopt};
    if (plan.mask) point.mask = plan.mask(index);
    return point;
  });
}

Expr checked_element(Builder& b, const Tensor& index, const Indices& at, const Size& size,
                     const std::string& message, bool wrap) {
  return b.check_index(cast(DType::kInt64, b.load(index, at)), size,
                       {.wrap = wrap, .message = message});
}

void require_index_type(const Tensor& index, const std::string& message) {
  if (index.dtype != DType::kInt64 && index.dtype != DType::kInt32) throw InvalidProgram(message);
}

Tensor scatter_reduction(Builder& b, Reduction reduction, const Tensor& target,
                         const ScatterPlan& plan, bool include_self, HalfRounding rounding) {
  if (target.complex() && (reduction == Reduction::kMax || reduction == Reduction::kMin)) {
    throw InvalidProgram("\"scatter_reduce\" not implemented for complex types");
  }
  const auto constant_plan = [&](const Tensor& value) {
    ScatterPlan result = plan;
    result.source = value;
    result.source_position = [](const Indices&) { return Indices(); };
    return result;
  };
  Tensor start = target;
  if (!include_self) {
    const Tensor first =
        target.complex()
            ? scalar_tensor(b, Scalar(reduction == Reduction::kProduct ? 1.0 : 0.0), target.dtype)
            : neutral(b, reduction, target.dtype);
    start = scatter_plan(b, ir::ScatterOp::kAssign, target, constant_plan(first));
  }
  switch (reduction) {
    case Reduction::kSum:
      return scatter_plan(b, ir::ScatterOp::kAdd, start, plan, rounding);
    case Reduction::kProduct:
      return scatter_plan(b, ir::ScatterOp::kMultiply, start, plan, rounding);
    case Reduction::kMax:
      return scatter_plan(b, ir::ScatterOp::kMax, start, plan, rounding);
    case Reduction::kMin:
      return scatter_plan(b, ir::ScatterOp::kMin, start, plan, rounding);
    case Reduction::kMean:
      break;
  }
  if (target.complex()) throw Unsupported("the mean of complex numbers");
  // The count is held in the tensor's own type, as PyTorch does.
  const Tensor total = scatter_plan(b, ir::ScatterOp::kAdd, start, plan, rounding);
  const Tensor one = scalar_tensor(b, Scalar(std::int64_t{1}), target.dtype);
  const Tensor count =
      scatter_plan(b, ir::ScatterOp::kAdd, constant_like(b, target, include_self ? 1.0 : 0.0),
                   constant_plan(one), rounding);
  return elementwise(
      b, {total, count}, compute_type(target.dtype), target.dtype, [](const std::vector<Expr>& e) {
        const Expr divisor = select(e[1] == 0, like(e[1], 1), e[1]);
        return is_floating(e[0].dtype()) ? e[0] / divisor : floor_divide(e[0], divisor);
      });
}

}  // namespace tendon::aten
