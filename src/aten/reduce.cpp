// Reduction helpers.
#include <algorithm>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

struct Axes {
  Shape kept, reduced;
  std::vector<int> kept_axes;
};

/// A 0-d tensor has no axes to reduce, though PyTorch lets axis 0 be named.
std::vector<int> existing(const std::vector<int>& axes, const Tensor& x) {
  return x.rank() == 0 ? std::vector<int>{} : axes;
}

Axes split_axes(const Shape& shape, const std::vector<int>& axes) {
  Axes result;
  for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
    const Size& size = shape[static_cast<std::size_t>(axis)];
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) {
      result.reduced.push_back(size);
    } else {
      result.kept.push_back(size);
      result.kept_axes.push_back(axis);
    }
  }
  return result;
}

/// Positions in the tensor for the indices (kept..., reduced...).
Indices joined_positions(const Axes& split, const std::vector<int>& axes, const Indices& index) {
  Indices positions(split.kept.size() + split.reduced.size());
  for (std::size_t i = 0; i < split.kept_axes.size(); ++i) {
    positions[static_cast<std::size_t>(split.kept_axes[i])] = index[i];
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    positions[static_cast<std::size_t>(axes[i])] = index[split.kept.size() + i];
  }
  return positions;
}

Tensor with_axes(Builder& b, const Tensor& x, const std::vector<int>& axes, bool keep_axes) {
  Tensor result = x;
  if (keep_axes) {
    for (int axis : axes) result = unsqueeze(b, result, axis);
  }
  return result;
}

Expr number(Builder& b, const Size& size, DType dtype) { return cast(dtype, b.size(size)); }

}  // namespace

Tensor reduce(Builder& b, ReduceOp op, const Tensor& x, const std::vector<int>& given,
              bool keep_axes, DType compute, const std::function<Expr(Expr)>& body) {
  if (x.complex()) throw Unsupported("a reduction of complex numbers");
  const std::vector<int> axes = existing(given, x);
  const Axes split = split_axes(x.shape, axes);
  const Tensor result = b.reduce(op, split.kept, split.reduced, [&](const Indices& index) {
    const Expr element = cast(compute, b.load(x, joined_positions(split, axes, index)));
    return body ? body(element) : element;
  });
  return with_axes(b, result, axes, keep_axes);
}

Tensor sum(Builder& b, const Tensor& x, const std::vector<int>& axes, bool keep_axes,
           DType result) {
  if (x.complex()) {
    return make_complex(b, sum(b, real_part(b, x), axes, keep_axes, x.component()),
                        sum(b, imaginary_part(b, x), axes, keep_axes, x.component()));
  }
  return cast(b, reduce(b, ReduceOp::kSum, x, axes, keep_axes, compute_type(result)), result);
}

Tensor mean(Builder& b, const Tensor& x, const std::vector<int>& axes, bool keep_axes,
            DType result) {
  const DType compute = compute_type(result);
  const Size count = ir::element_count(split_axes(x.shape, existing(axes, x)).reduced);
  const Tensor total = reduce(b, ReduceOp::kSum, x, axes, keep_axes, compute);
  return b.map(total.shape, [&](const Indices& i) {
    return cast(result, b.load(total, i) / number(b, count, compute));
  });
}

std::pair<Tensor, Tensor> mean_and_variance(Builder& b, const Tensor& x,
                                            const std::vector<int>& given, bool keep_axes) {
  const std::vector<int> axes = existing(given, x);
  const DType compute = compute_type(to_floating(x.dtype));
  const Axes split = split_axes(x.shape, axes);
  const Size count = ir::element_count(split.reduced);
  const auto [average, deviations] = b.moments(split.kept, split.reduced, [&](const Indices& i) {
    return cast(compute, b.load(x, joined_positions(split, axes, i)));
  });
  const Tensor variance = b.map(split.kept, [&, d = deviations](const Indices& i) {
    return b.load(d, i) / number(b, count, compute);
  });
  return {with_axes(b, average, axes, keep_axes), with_axes(b, variance, axes, keep_axes)};
}

namespace {

struct Exponentials {
  Tensor maximum, exponentials, total;
};

/// exp(x - max) along the axis, and its sum.
Exponentials exponentials_along(Builder& b, const Tensor& x, int axis, DType compute) {
  Exponentials result;
  result.maximum = reduce(b, ReduceOp::kMax, x, {axis}, true, compute);
  result.exponentials = b.map(x.shape, [&](const Indices& i) {
    return unary(Op::kExp, cast(compute, b.load(x, i)) - b.load_broadcast(result.maximum, i));
  });
  result.total = reduce(b, ReduceOp::kSum, result.exponentials, {axis}, true, compute);
  return result;
}

}  // namespace

Tensor softmax(Builder& b, const Tensor& x, int axis, DType dtype) {
  if (x.rank() == 0) {
    return reshape(b, softmax(b, unsqueeze(b, x, 0), 0, dtype), {});
  }
  const Exponentials parts = exponentials_along(b, x, axis, compute_type(dtype));
  return b.map(x.shape, [&](const Indices& i) {
    return cast(dtype, b.load(parts.exponentials, i) / b.load_broadcast(parts.total, i));
  });
}

Tensor log_softmax(Builder& b, const Tensor& x, int axis, DType dtype) {
  if (x.rank() == 0) {
    return reshape(b, log_softmax(b, unsqueeze(b, x, 0), 0, dtype), {});
  }
  const DType compute = compute_type(dtype);
  const Exponentials parts = exponentials_along(b, x, axis, compute);
  return b.map(x.shape, [&](const Indices& i) {
    return cast(dtype, cast(compute, b.load(x, i)) - b.load_broadcast(parts.maximum, i) -
                           unary(Op::kLog, b.load_broadcast(parts.total, i)));
  });
}

}  // namespace tendon::aten
