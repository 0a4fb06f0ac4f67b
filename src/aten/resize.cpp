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

Outputs linear(Builder& b, const Arguments& arguments, std::size_t axes) {
  const Resize resize = resize_of(b, arguments, axes);
  return resized(b, resize, [&](std::size_t axis, Expr index) -> Taps {
    if (resize.x.shape[axis + 2] == resize.shape[axis + 2]) return {{index, index}};
    const Below at = below(b, resize, axis, source_coordinate(b, resize, axis, index, false));
    const Expr next = minimum(at.position + 1, last_position(b, resize, axis));
    return {{at.position, 1.0 - at.fraction}, {next, at.fraction}};
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
                      weights[static_cast<std::size_t>(k)]});
    }
    return taps;
  });
}

/// `exact`: the element whose centre is nearest; else the older rule, that of the left edges.
Outputs nearest(Builder& b, const Arguments& arguments, std::size_t axes, bool exact) {
  Resize resize = resize_of(b, arguments, axes);
  resize.compute = resize.x.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  return rearrange(b, resize.x, resize.shape, [&](const Indices& i) {
    Indices at = {i[0], i[1]};
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const Expr index = i[axis + 2];
      const Size& in = resize.x.shape[axis + 2];
      const Size& out = resize.shape[axis + 2];
      const std::optional<Size> whole = ir::divide_exactly(out, in);
      if (whole && whole->is_constant() && whole->constant() > 0 &&
          (!resize.scales[axis] ||
           *resize.scales[axis] == static_cast<double>(whole->constant()))) {
        at.push_back(floor_divide(index, b.size(*whole)));
        continue;
      }
      Expr coordinate = exact ? source_coordinate(b, resize, axis, index, false)
                              : input_step(b, resize, axis) * cast(resize.compute, index);
      if (exact) {
        coordinate = cast(DType::kFloat32, cast(DType::kFloat64, coordinate) + 0.5);
      }
      at.push_back(clamp(cast(DType::kInt64, unary(Op::kFloor, coordinate)),
                         b.constant(DType::kInt64, 0), last_position(b, resize, axis)));
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
