// Images in another size: upsample_nearest, linear, bilinear, trilinear, bicubic.
#include "aten/resize.h"

#include <cmath>

#include "aten/index_tools.h"
#include "aten/interpolation.h"
#include "aten/operator.h"
#include "aten/toolbox.h"

namespace tendon::aten {

Resize resize_of(Builder& b, const Arguments& arguments, std::size_t axes) {
  Resize resize;
  const bool list = arguments.has("input");
  resize.x = arguments.tensor(list ? "input" : "self");
  if (resize.x.shape.size() != axes + 2) {
    throw InvalidProgram("It is expected input_size equals to " + std::to_string(axes + 2) +
                         ", but got size " + std::to_string(resize.x.rank()));
  }
  resize.align_corners = arguments.has("align_corners") && arguments.boolean("align_corners");
  resize.scales.assign(axes, std::nullopt);
  std::optional<Shape> sizes = arguments.optional_sizes("output_size");
  if (list) {
    const auto factors = arguments.optional_reals("scale_factors");
    if (sizes.has_value() == factors.has_value()) {
      throw InvalidProgram("Must specify exactly one of output_size and scale_factors");
    }
    if (factors) {
      if (factors->size() != axes) throw InvalidProgram("one scale factor per axis is expected");
      sizes.emplace();
      for (std::size_t k = 0; k < axes; ++k) {
        resize.scales[k] = (*factors)[k];
        sizes->push_back(scaled_size(resize.x.shape[k + 2], (*factors)[k]));
      }
    }
  } else {
    static constexpr const char* kNames[] = {"scales_d", "scales_h", "scales_w"};
    for (std::size_t k = 0; k < axes; ++k) {
      resize.scales[k] = arguments.optional_real(axes == 1 ? "scales" : kNames[3 - axes + k]);
    }
  }
  if (sizes->size() == 1) sizes->resize(axes, sizes->front());
  if (sizes->size() != axes) {
    throw InvalidProgram("It is expected output_size equals to " + std::to_string(axes) +
                         ", but got size " + std::to_string(sizes->size()));
  }
  resize.shape = {resize.x.size(0), resize.x.size(1)};
  for (std::size_t k = 0; k < axes; ++k) {
    require(
        b,
        ir::logical_and(ir::less(Size(0), resize.x.shape[k + 2]), ir::less(Size(0), (*sizes)[k])),
        "Input and output sizes should be greater than 0, but got input " +
            shape_text(resize.x.shape) + " and output " + shape_text(*sizes));
    resize.shape.push_back((*sizes)[k]);
  }
  resize.compute = is_floating(resize.x.dtype) ? compute_type(resize.x.dtype) : DType::kFloat32;
  return resize;
}

Size scaled_size(const Size& size, double factor) {
  if (const auto known = size.as_constant()) {
    return static_cast<std::int64_t>(static_cast<double>(*known) * factor);
  }
  if (factor == std::floor(factor)) return size * Size(static_cast<std::int64_t>(factor));
  if (1.0 / factor == std::floor(1.0 / factor)) {
    return ir::floor_div(size, Size(static_cast<std::int64_t>(1.0 / factor)));
  }
  // A small rational number, as 1.5 is.
  for (std::int64_t denominator = 2; denominator <= 64; ++denominator) {
    const double numerator = factor * static_cast<double>(denominator);
    if (numerator == std::floor(numerator)) {
      return ir::floor_div(size * Size(static_cast<std::int64_t>(numerator)), Size(denominator));
    }
  }
  throw Unsupported("scaling a symbolic size by " + std::to_string(factor));
}

Expr input_step(Builder& b, const Resize& resize, std::size_t axis) {
  const Size& in = resize.x.shape[axis + 2];
  const Size& out = resize.shape[axis + 2];
  const auto real = [&](const Size& size) { return cast(resize.compute, b.size(size)); };
  if (resize.align_corners) {
    const Expr more = b.size(out) > 1;
    const Expr gaps = select(more, real(out - Size(1)), b.constant(resize.compute, 1.0));
    return select(more, real(in - Size(1)) / gaps, b.constant(resize.compute, 0.0));
  }
  const std::optional<double> scale = resize.scales[axis];
  if (scale && *scale > 0) return b.constant(resize.compute, 1.0 / *scale);
  return real(in) / real(out);
}

namespace {

Expr rounded_result(const Resize& resize, Expr value) {
  if (is_floating(resize.x.dtype)) return cast(resize.x.dtype, value);
  return cast(resize.x.dtype, unary(Op::kRound, value));
}

using AxisTaps = std::function<Taps(std::size_t axis, Expr index)>;

Tensor resized(Builder& b, const Resize& resize, const AxisTaps& taps) {
  return b.map(resize.shape, [&](const Indices& i) {
    std::vector<Taps> axes;
    for (std::size_t k = 2; k < i.size(); ++k) axes.push_back(taps(k - 2, i[k]));
    const Expr value = interpolate(axes, [&](const Indices& spatial) {
      Indices at = {i[0], i[1]};
      at.insert(at.end(), spatial.begin(), spatial.end());
      return cast(resize.compute, b.load(resize.x, at));
    });
    return rounded_result(resize, value);
  });
}

/// scale * (index + 0.5) - 0.5, or scale * index with aligned corners.
Expr source_coordinate(Builder& b, const Resize& resize, std::size_t axis, Expr index,
                       bool may_be_negative) {
  const Expr step = input_step(b, resize, axis);
  const Expr at = cast(resize.compute, index);
  if (resize.align_corners) return step * at;
  const Expr coordinate = step * (at + 0.5) - 0.5;
  return may_be_negative ? coordinate : maximum(coordinate, b.constant(resize.compute, 0.0));
}

Expr last_position(Builder& b, const Resize& resize, std::size_t axis) {
  return b.size(resize.x.shape[axis + 2] - Size(1));
}

/// The element below a coordinate (not beyond the last one), and how far the coordinate is above
/// it.
struct Below {
  Expr position, fraction;
};
Below below(Builder& b, const Resize& resize, std::size_t axis, Expr coordinate) {
  const Expr position =
      minimum(cast(DType::kInt64, unary(Op::kFloor, coordinate)), last_position(b, resize, axis));
  const Expr zero = b.constant(resize.compute, 0.0), one = b.constant(resize.compute, 1.0);
  return {position, clamp(coordinate - cast(resize.compute, position), zero, one)};
}

/// PyTorch's CPU takes another path for images of at most this height + width: weights are not
/// rounded there, and positions of the nearest elements come from float32 scales.
bool takes_small_path(const Resize& resize) {
  constexpr std::int64_t kMost = 128;
  if (resize.scales.size() != 2) return false;
  return ir::provably_less_equal(resize.shape[2] + resize.shape[3], Size(kMost)).value_or(true);
}

/// On the other paths weights are kept in the image's type.
Expr weight(const Resize& resize, Expr value, bool keep = false) {
  if (keep || !is_half(resize.x.dtype)) return value;
  return cast(resize.compute, cast(resize.x.dtype, value));
}

Outputs linear(Builder& b, const Arguments& arguments, std::size_t axes) {
  const Resize resize = resize_of(b, arguments, axes);
  const bool keep = takes_small_path(resize);
  return resized(b, resize, [&](std::size_t axis, Expr index) -> Taps {
    if (resize.x.shape[axis + 2] == resize.shape[axis + 2]) return {{index, index}};
    const Below at = below(b, resize, axis, source_coordinate(b, resize, axis, index, false));
    const Expr next = minimum(at.position + 1, last_position(b, resize, axis));
    const Expr fraction = weight(resize, at.fraction, keep);
    return {{at.position, weight(resize, 1.0 - fraction, keep)}, {next, fraction}};
  });
}

Outputs cubic(Builder& b, const Arguments& arguments) {
  const Resize resize = resize_of(b, arguments, 2);
  return resized(b, resize, [&](std::size_t axis, Expr index) -> Taps {
    const Below at = below(b, resize, axis, source_coordinate(b, resize, axis, index, true));
    const std::vector<Expr> weights = cubic_weights(at.fraction, -0.75);
    Taps taps;
    for (std::int64_t k = 0; k < 4; ++k) {
      taps.push_back({clamp(at.position + (k - 1), b.constant(DType::kInt64, 0),
                            last_position(b, resize, axis)),
                      weight(resize, weights[static_cast<std::size_t>(k)])});
    }
    return taps;
  });
}

/// The rule for the nearest element, in floating point as PyTorch computes it. `exact`: the element
/// whose centre is nearest; else the older rule, that of the left edges.
struct NearestRule {
  bool exact = false;
  bool small = false;  // see takes_small_path
  DType type = DType::kFloat32;

  template <typename Real>
  static std::int64_t position(const NearestRule& rule, Real scale, std::int64_t index) {
    if (rule.exact && rule.small) {
      return static_cast<std::int64_t>(std::floor(
          static_cast<float>((static_cast<double>(index) + 0.5) * static_cast<double>(scale))));
    }
    if (rule.exact) {
      const Real source = scale * (static_cast<Real>(index) + Real(0.5)) - Real(0.5);
      const Real inside = source < 0 ? Real(0) : source;
      return static_cast<std::int64_t>(
          std::floor(static_cast<float>(static_cast<double>(inside) + 0.5)));
    }
    return static_cast<std::int64_t>(
        std::floor(static_cast<float>(static_cast<Real>(index) * scale)));
  }

  Expr position(Builder& b, Expr scale, Expr index) const {
    const auto floor = [](Expr x) {
      return cast(DType::kInt64, unary(Op::kFloor, cast(DType::kFloat32, x)));
    };
    if (exact && small) {
      return floor((cast(DType::kFloat64, index) + 0.5) * cast(DType::kFloat64, scale));
    }
    if (exact) {
      const Expr source = scale * (cast(type, index) + 0.5) - 0.5;
      return floor(cast(DType::kFloat64, maximum(source, b.constant(type, 0.0))) + 0.5);
    }
    return floor(cast(type, index) * scale);
  }
};

/// Does integer arithmetic on the ratio of the sizes give the same positions for the whole axis?
bool ratio_agrees(const NearestRule& rule, std::int64_t in, std::int64_t out,
                  const std::optional<double>& scale) {
  const auto agrees = [&](auto step) {
    for (std::int64_t i = 0; i < out; ++i) {
      const std::int64_t ratio = rule.exact ? (2 * i + 1) * in / (2 * out) : i * in / out;
      if (std::min(NearestRule::position(rule, step, i), in - 1) != ratio) return false;
    }
    return true;
  };
  const bool given = scale && *scale > 0;
  if (rule.type == DType::kFloat64) {
    return agrees(given ? 1.0 / *scale : static_cast<double>(in) / static_cast<double>(out));
  }
  return agrees(given ? static_cast<float>(1.0 / *scale)
                      : static_cast<float>(in) / static_cast<float>(out));
}

Outputs nearest(Builder& b, const Arguments& arguments, std::size_t axes, bool exact) {
  Resize resize = resize_of(b, arguments, axes);
  NearestRule rule{exact, takes_small_path(resize), DType::kFloat32};
  if (resize.x.dtype == DType::kFloat64 && !rule.small) rule.type = DType::kFloat64;
  resize.compute = rule.type;
  return rearrange(b, resize.x, resize.shape, [&](const Indices& i) {
    Indices at = {i[0], i[1]};
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const Expr index = i[axis + 2];
      const Size& in = resize.x.shape[axis + 2];
      const Size& out = resize.shape[axis + 2];
      const std::optional<Size> whole = ir::divide_exactly(out, in);
      const bool doubled =
          !exact && rule.small && whole && (*whole == Size(1) || *whole == Size(2));
      if (doubled) {
        at.push_back(floor_divide(index, b.size(*whole)));
      } else if (in.is_constant() && out.is_constant() &&
                 ratio_agrees(rule, in.constant(), out.constant(), resize.scales[axis])) {
        at.push_back(exact ? floor_divide((index * 2 + 1) * b.size(in), b.size(out) * 2)
                           : floor_divide(index * b.size(in), b.size(out)));
      } else {
        at.push_back(clamp(rule.position(b, input_step(b, resize, axis), index),
                           b.constant(DType::kInt64, 0), last_position(b, resize, axis)));
      }
    }
    return at;
  });
}

}  // namespace

OPERATOR(upsample_nearest1d,
         "upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor",
         "upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> "
         "Tensor") {
  return nearest(b, arguments, 1, false);
}
OPERATOR(upsample_nearest2d,
         "upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? "
         "scales_w=None) -> Tensor",
         "upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> "
         "Tensor") {
  return nearest(b, arguments, 2, false);
}
OPERATOR(upsample_nearest3d,
         "upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? "
         "scales_h=None, float? scales_w=None) -> Tensor",
         "upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> "
         "Tensor") {
  return nearest(b, arguments, 3, false);
}
OPERATOR(upsample_nearest_exact1d,
         "_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> "
         "Tensor",
         "_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? "
         "scale_factors) -> Tensor") {
  return nearest(b, arguments, 1, true);
}
OPERATOR(upsample_nearest_exact2d,
         "_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, "
         "float? scales_w=None) -> Tensor",
         "_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? "
         "scale_factors) -> Tensor") {
  return nearest(b, arguments, 2, true);
}
OPERATOR(upsample_nearest_exact3d,
         "_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, "
         "float? scales_h=None, float? scales_w=None) -> Tensor",
         "_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? "
         "scale_factors) -> Tensor") {
  return nearest(b, arguments, 3, true);
}
OPERATOR(upsample_linear1d,
         "upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? "
         "scales=None) -> Tensor",
         "upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
         "scale_factors) -> Tensor") {
  return linear(b, arguments, 1);
}
OPERATOR(
    upsample_bilinear2d,
    "upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? "
    "scales_h=None, float? scales_w=None) -> Tensor",
    "upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
    "scale_factors) -> Tensor") {
  return linear(b, arguments, 2);
}
OPERATOR(upsample_trilinear3d,
         "upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? "
         "scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
         "upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
         "float[]? scale_factors) -> Tensor") {
  return linear(b, arguments, 3);
}
OPERATOR(upsample_bicubic2d,
         "upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? "
         "scales_h=None, float? scales_w=None) -> Tensor",
         "upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
         "scale_factors) -> Tensor") {
  return cubic(b, arguments);
}

}  // namespace tendon::aten
