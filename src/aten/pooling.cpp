// Pooling: reductions over windows.
#include "aten/index_tools.h"
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

struct Window {
  std::vector<std::int64_t> kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

std::vector<std::int64_t> spread(std::vector<std::int64_t> values, std::size_t axes,
                                 std::int64_t fallback) {
  if (values.empty()) values.push_back(fallback);
  if (values.size() == 1) values.resize(axes, values[0]);
  return values;
}

Window window_of(const Arguments& arguments, std::size_t axes, bool dilated) {
  Window window;
  window.kernel = spread(arguments.integers("kernel_size"), axes, 1);
  window.stride = arguments.integers("stride");
  window.stride = window.stride.empty() ? window.kernel : spread(window.stride, axes, 1);
  window.padding = spread(arguments.integers("padding"), axes, 0);
  window.dilation =
      spread(dilated ? arguments.integers("dilation") : std::vector<std::int64_t>{1}, axes, 1);
  window.ceil_mode = arguments.boolean("ceil_mode");
  return window;
}

/// PyTorch's pooling_output_shape: with ceil_mode the last window must start inside the padded
/// input.
Size output_size(const Size& size, const Window& w, std::size_t i) {
  const Size reach = size + 2 * w.padding[i] - w.dilation[i] * (w.kernel[i] - 1) - 1;
  if (!w.ceil_mode) return ir::floor_div(reach, w.stride[i]) + 1;
  const Size rounded = ir::floor_div(reach + w.stride[i] - 1, w.stride[i]) + 1;
  // One less where the last window would start in the padding behind.
  return rounded - ir::less_equal(size + w.padding[i], (rounded - 1) * w.stride[i]);
}

struct Pooled {
  Tensor x;          // [lead..., spatial...], lead = all but the spatial axes
  std::size_t lead;  // number of leading axes
  Shape out, kernel;
};

Pooled prepare(const Tensor& x, const Window& w) {
  Pooled pooled{x, x.shape.size() - w.kernel.size(), {}, {}};
  pooled.out.assign(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(pooled.lead));
  for (std::size_t i = 0; i < w.kernel.size(); ++i) {
    pooled.out.push_back(output_size(x.shape[pooled.lead + i], w, i));
    pooled.kernel.emplace_back(w.kernel[i]);
  }
  return pooled;
}

/// Positions in the input for (output index, window index), and whether they are inside it.
struct WindowPosition {
  Condition inside;
  Indices positions;
};
WindowPosition position_of(const Pooled& p, const Window& w, const Indices& i) {
  WindowPosition result;
  result.positions.assign(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(p.lead));
  const std::size_t rank = p.out.size();
  for (std::size_t k = 0; k < w.kernel.size(); ++k) {
    const Expr at = i[p.lead + k] * w.stride[k] + i[rank + k] * w.dilation[k] - w.padding[k];
    const bool may_leave = w.padding[k] != 0 || w.ceil_mode;
    if (may_leave) result.inside.add_in_range(at, p.x.shape[p.lead + k]);
    result.positions.push_back(at);
  }
  return result;
}

Expr window_element(Builder& b, const Pooled& p, const WindowPosition& at, DType compute,
                    Expr outside) {
  if (at.inside.empty()) return cast(compute, b.load(p.x, at.positions));
  const Expr mask = at.inside.expr(b);
  return select(mask, cast(compute, b.masked_load(p.x, mask, at.positions)), outside);
}

Tensor max_pool(Builder& b, const Tensor& x, const Window& w) {
  const Pooled p = prepare(x, w);
  const DType compute = compute_type(x.dtype);
  return cast(b,
              b.reduce(ReduceOp::kMax, p.out, p.kernel,
                       [&](const Indices& i) {
                         return window_element(b, p, position_of(p, w, i), compute,
                                               lowest(b, compute));
                       }),
              x.dtype);
}

/// Flat position in the spatial axes of the largest element of each window.
Tensor max_pool_positions(Builder& b, const Tensor& x, const Window& w) {
  const Pooled p = prepare(x, w);
  const DType compute = compute_type(x.dtype);
  const Tensor best = b.reduce(ReduceOp::kArgMax, p.out, p.kernel, [&](const Indices& i) {
    return window_element(b, p, position_of(p, w, i), compute, lowest(b, compute));
  });
  return b.map(p.out, [&](const Indices& i) {
    const Indices window = unflatten_index(b, b.load(best, i), p.kernel);
    Indices spatial;
    Shape sizes;
    for (std::size_t k = 0; k < w.kernel.size(); ++k) {
      const Expr start = i[p.lead + k] * w.stride[k] - w.padding[k];
      Expr offset = window[k] * w.dilation[k];
      if (w.padding[k] > 0) {
        // Where nothing is larger than the padding, PyTorch takes the first element inside.
        const Expr dilation = b.constant(DType::kInt64, w.dilation[k]);
        const Expr skipped = maximum(-floor_divide(start, dilation), b.constant(DType::kInt64, 0));
        offset = maximum(offset, skipped * w.dilation[k]);
      }
      spatial.push_back(start + offset);
      sizes.push_back(x.shape[p.lead + k]);
    }
    return flatten_index(b, spatial, sizes);
  });
}

Outputs max_pool_operator(Builder& b, const Arguments& arguments, std::size_t axes,
                          bool positions) {
  const Tensor& x = arguments.tensor("self");
  const Window w = window_of(arguments, axes, true);
  if (!positions) return max_pool(b, x, w);
  return {max_pool(b, x, w), max_pool_positions(b, x, w)};
}

Outputs average_pool(Builder& b, const Arguments& arguments, std::size_t axes) {
  const Tensor& x = arguments.tensor("self");
  const Window w = window_of(arguments, axes, false);
  const bool count_padding = arguments.boolean("count_include_pad");
  const Pooled p = prepare(x, w);
  const DType compute = compute_type(x.dtype);
  const Tensor total = b.reduce(ReduceOp::kSum, p.out, p.kernel, [&](const Indices& i) {
    return window_element(b, p, position_of(p, w, i), compute, b.constant(compute, 0.0));
  });
  std::optional<std::int64_t> divisor;
  if (axes > 1) divisor = arguments.optional_integer("divisor_override");
  return b.map(p.out, [&](const Indices& i) {
    Expr count = b.constant(DType::kInt64, 1);
    for (std::size_t k = 0; k < w.kernel.size(); ++k) {
      const Expr size = b.size(x.shape[p.lead + k]);
      const Expr start = i[p.lead + k] * w.stride[k] - w.padding[k];
      // With padding counted, windows still end where the padded input does.
      const Expr end = minimum(start + w.kernel[k], size + w.padding[k]);
      const Expr length = count_padding
                              ? end - start
                              : minimum(end, size) - maximum(start, b.constant(DType::kInt64, 0));
      count = count * length;
    }
    if (divisor) count = b.constant(DType::kInt64, *divisor);
    // Integers are divided as C does.
    const Op divide = is_integer(compute) ? Op::kTruncDivide : Op::kDivide;
    return cast(x.dtype, binary(divide, b.load(total, i), cast(compute, count)));
  });
}

/// Window k of an adaptive pool runs from floor(k * in / out) to ceil((k + 1) * in / out).
struct Adaptive {
  Shape out, kernel;
  std::size_t lead;
};
Adaptive adaptive_of(const Tensor& x, Shape sizes) {
  Adaptive a;
  a.lead = x.shape.size() - sizes.size();
  a.out.assign(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(a.lead));
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const Size& in = x.shape[a.lead + k];
    a.out.push_back(sizes[k]);
    // The longest window of all.
    const auto exact = ir::divide_exactly(in, sizes[k]);
    a.kernel.push_back(exact ? *exact : ir::floor_div(in + sizes[k] - 1, sizes[k]) + 1);
  }
  return a;
}
struct AdaptiveWindow {
  Indices start, length;
};
AdaptiveWindow adaptive_window(Builder& b, const Tensor& x, const Adaptive& a, const Indices& i) {
  AdaptiveWindow w;
  for (std::size_t k = 0; k < a.kernel.size(); ++k) {
    const Expr in = b.size(x.shape[a.lead + k]), out = b.size(a.out[a.lead + k]);
    const Expr start = floor_divide(i[a.lead + k] * in, out);
    const Expr end = floor_divide((i[a.lead + k] + 1) * in + out - 1, out);
    w.start.push_back(start);
    w.length.push_back(end - start);
  }
  return w;
}
Expr adaptive_element(Builder& b, const Tensor& x, const Adaptive& a, const Indices& i,
                      DType compute, Expr outside) {
  const AdaptiveWindow w = adaptive_window(b, x, a, i);
  Indices positions(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(a.lead));
  Condition inside;
  for (std::size_t k = 0; k < a.kernel.size(); ++k) {
    const Expr offset = i[a.out.size() + k];
    if (!ir::divide_exactly(x.shape[a.lead + k], a.out[a.lead + k]))
      inside.add(offset < w.length[k]);
    positions.push_back(w.start[k] + offset);
  }
  if (inside.empty()) return cast(compute, b.load(x, positions));
  const Expr mask = inside.expr(b);
  return select(mask, cast(compute, b.masked_load(x, mask, positions)), outside);
}

/// PyTorch averages half types over three axes in the half type itself, one element after another;
/// but not over all of a volume. How many elements a window has at most, if that is what happens.
std::optional<std::int64_t> rounded_elements(const Tensor& x, const Adaptive& a) {
  constexpr std::int64_t kLongestBody = 128;  // beyond, the expression would be too long
  if (!is_half(x.dtype) || a.kernel.size() != 3) return std::nullopt;
  const Shape sizes(a.out.end() - 3, a.out.end());
  if (ir::element_count(sizes) == Size(1)) return std::nullopt;
  const std::optional<std::int64_t> count = ir::element_count(a.kernel).as_constant();
  return count && *count <= kLongestBody ? count : std::nullopt;
}

Tensor rounded_average(Builder& b, const Tensor& x, const Adaptive& a, std::int64_t count) {
  const DType compute = compute_type(x.dtype);
  const auto rounded = [&](Expr e) { return cast(compute, cast(x.dtype, e)); };
  return b.map(a.out, [&](const Indices& i) {
    Expr total = b.constant(compute, 0.0);
    for (std::int64_t k = 0; k < count; ++k) {
      Indices at = i;
      for (Expr offset : unflatten_index(b, b.constant(DType::kInt64, k), a.kernel)) {
        at.push_back(offset);
      }
      total = rounded(total + adaptive_element(b, x, a, at, compute, b.constant(compute, 0.0)));
    }
    for (Expr length : adaptive_window(b, x, a, i).length) {
      total = rounded(total / cast(compute, length));
    }
    return cast(x.dtype, total);
  });
}

Outputs adaptive_average(Builder& b, const Arguments& arguments) {
  const Tensor& x = arguments.tensor("self");
  const Adaptive a = adaptive_of(x, arguments.sizes("output_size"));
  if (const auto count = rounded_elements(x, a)) return rounded_average(b, x, a, *count);
  const DType compute = compute_type(x.dtype);
  const Tensor total = b.reduce(ReduceOp::kSum, a.out, a.kernel, [&](const Indices& i) {
    return adaptive_element(b, x, a, i, compute, b.constant(compute, 0.0));
  });
  return b.map(a.out, [&](const Indices& i) {
    Expr count = b.constant(DType::kInt64, 1);
    for (Expr length : adaptive_window(b, x, a, i).length) count = count * length;
    return cast(x.dtype, b.load(total, i) / cast(compute, count));
  });
}

Outputs adaptive_max(Builder& b, const Arguments& arguments) {
  const Tensor& x = arguments.tensor("self");
  const Adaptive a = adaptive_of(x, arguments.sizes("output_size"));
  const DType compute = compute_type(x.dtype);
  const auto element = [&](const Indices& i) {
    return adaptive_element(b, x, a, i, compute, lowest(b, compute));
  };
  const Tensor values = cast(b, b.reduce(ReduceOp::kMax, a.out, a.kernel, element), x.dtype);
  const Tensor best = b.reduce(ReduceOp::kArgMax, a.out, a.kernel, element);
  const Tensor positions = b.map(a.out, [&](const Indices& i) {
    const Indices window = unflatten_index(b, b.load(best, i), a.kernel);
    const AdaptiveWindow w = adaptive_window(b, x, a, i);
    Indices spatial;
    Shape sizes;
    for (std::size_t k = 0; k < a.kernel.size(); ++k) {
      spatial.push_back(w.start[k] + window[k]);
      sizes.push_back(x.shape[a.lead + k]);
    }
    return flatten_index(b, spatial, sizes);
  });
  return {values, positions};
}

}  // namespace

OPERATOR(max_pool1d,
         "max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] "
         "dilation=1, bool ceil_mode=False) -> Tensor") {
  return max_pool_operator(b, arguments, 1, false);
}
OPERATOR(max_pool2d,
         "max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
         "dilation=1, bool ceil_mode=False) -> Tensor") {
  return max_pool_operator(b, arguments, 2, false);
}
OPERATOR(max_pool3d,
         "max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] "
         "dilation=1, bool ceil_mode=False) -> Tensor") {
  return max_pool_operator(b, arguments, 3, false);
}
OPERATOR(max_pool1d_with_indices,
         "max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
         "padding=0, int[1] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)") {
  return max_pool_operator(b, arguments, 1, true);
}
OPERATOR(max_pool2d_with_indices,
         "max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
         "padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)") {
  return max_pool_operator(b, arguments, 2, true);
}
OPERATOR(max_pool3d_with_indices,
         "max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
         "padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)") {
  return max_pool_operator(b, arguments, 3, true);
}
OPERATOR(avg_pool1d,
         "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool "
         "ceil_mode=False, bool count_include_pad=True) -> Tensor") {
  return average_pool(b, arguments, 1);
}
OPERATOR(avg_pool2d,
         "avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool "
         "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor") {
  return average_pool(b, arguments, 2);
}
OPERATOR(avg_pool3d,
         "avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool "
         "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor") {
  return average_pool(b, arguments, 3);
}
OPERATOR(adaptive_avg_pool, "adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
         "adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
         "adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
         "_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
         "_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor") {
  return adaptive_average(b, arguments);
}
OPERATOR(adaptive_max_pool,
         "adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
         "adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
         "adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)") {
  return adaptive_max(b, arguments);
}

}  // namespace tendon::aten
