// Resizing with antialiasing: every result is a weighted mean over the part of the input that it
// covers.
#include <cmath>

#include "aten/index_tools.h"
#include "aten/resize.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

enum class Filter { kLinear, kCubic };

/// Weight of an element at distance x, in units of the filter.
Expr filter_weight(Builder& b, Filter filter, Expr distance) {
  const Expr x = unary(Op::kAbs, distance);
  const Expr zero = like(x, 0.0);
  if (filter == Filter::kLinear) return select(x < 1.0, 1.0 - x, zero);
  constexpr double kA = -0.5;
  (void)b;
  const Expr near = ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1.0;
  const Expr far = (((x - 5.0) * x + 8.0) * x - 4.0) * kA;
  return select(x < 1.0, near, select(x < 2.0, far, zero));
}

/// Normalised weights of one axis, [out, most], and where in the input each row of them begins.
struct AxisWeights {
  Tensor begin, weights;
  Size most;
};

AxisWeights weights_along(Builder& b, const Resize& resize, std::size_t axis, Filter filter) {
  const Size& in = resize.x.shape[axis + 2];
  const Size& out = resize.shape[axis + 2];
  const DType type = resize.compute;
  const double radius = filter == Filter::kLinear ? 1.0 : 2.0;
  const auto scale_of = [&] { return input_step(b, resize, axis); };
  const auto support_of = [&](Expr scale) {
    return select(scale >= 1.0, scale * radius, like(scale, radius));
  };
  const auto begin_of = [&](Expr index) {
    const Expr scale = scale_of();
    const Expr center = scale * (cast(type, index) + 0.5);
    return maximum(cast(DType::kInt64, center - support_of(scale) + 0.5),
                   b.constant(DType::kInt64, 0));
  };
  // How many input elements the widest row may cover.
  const auto in_size = in.as_constant(), out_size = out.as_constant();
  double step = 0;
  if (resize.scales[axis] && *resize.scales[axis] > 0 && !resize.align_corners) {
    step = 1.0 / *resize.scales[axis];
  } else if (in_size && out_size) {
    step = resize.align_corners
               ? (*out_size > 1
                      ? static_cast<double>(*in_size - 1) / static_cast<double>(*out_size - 1)
                      : 0.0)
               : static_cast<double>(*in_size) / static_cast<double>(*out_size);
  } else {
    throw Unsupported("antialiasing between symbolic sizes");
  }
  AxisWeights result;
  result.most = 2 * static_cast<std::int64_t>(std::ceil(std::max(step, 1.0) * radius)) + 1;
  result.begin = b.map({out}, [&](const Indices& i) { return begin_of(i[0]); });
  const Tensor raw = b.map({out, result.most}, [&](const Indices& i) {
    const Expr scale = scale_of();
    const Expr center = scale * (cast(type, i[0]) + 0.5);
    const Expr begin = begin_of(i[0]);
    const Expr end = minimum(cast(DType::kInt64, center + support_of(scale) + 0.5), b.size(in));
    const Expr inverse = select(scale >= 1.0, 1.0 / scale, like(scale, 1.0));
    const Expr distance = (cast(type, begin + i[1]) - center + 0.5) * inverse;
    return select(begin + i[1] < end, filter_weight(b, filter, distance), b.constant(type, 0.0));
  });
  const Tensor total = b.reduce(ReduceOp::kSum, {out}, {result.most},
                                [&](const Indices& i) { return b.load(raw, i); });
  result.weights = b.map({out, result.most}, [&](const Indices& i) {
    const Expr sum = b.load(total, {i[0]});
    return select(sum != 0.0, b.load(raw, i) / sum, b.load(raw, i));
  });
  return result;
}

Outputs antialiased(Builder& b, const Arguments& arguments, Filter filter) {
  const Resize resize = resize_of(b, arguments, 2);
  Tensor x = resize.x;
  // Columns first, then rows.
  for (std::size_t axis : {std::size_t{3}, std::size_t{2}}) {
    const AxisWeights along = weights_along(b, resize, axis - 2, filter);
    Shape shape = x.shape;
    shape[axis] = resize.shape[axis];
    const Tensor source = x;
    x = b.reduce(ReduceOp::kSum, shape, {along.most}, [&](const Indices& i) {
      Indices at(i.begin(), i.end() - 1);
      const Expr position = b.load(along.begin, {i[axis]}) + i.back();
      const Expr inside = position < b.size(source.shape[axis]);
      at[axis] = position;
      return cast(resize.compute, b.masked_load(source, inside, at)) *
             b.load(along.weights, {i[axis], i.back()});
    });
  }
  return b.map(x.shape, [&](const Indices& i) {
    const Expr value = b.load(x, i);
    if (is_floating(resize.x.dtype)) return cast(resize.x.dtype, value);
    const Expr inside = clamp(value, like(value, 0.0), like(value, 255.0));
    return cast(resize.x.dtype, unary(Op::kRound, inside));
  });
}

}  // namespace

OPERATOR(upsample_bilinear2d_aa,
         "_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? "
         "scales_h=None, float? scales_w=None) -> Tensor",
         "_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
         "float[]? scale_factors) -> Tensor") {
  return antialiased(b, arguments, Filter::kLinear);
}
OPERATOR(upsample_bicubic2d_aa,
         "_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? "
         "scales_h=None, float? scales_w=None) -> Tensor",
         "_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
         "float[]? scale_factors) -> Tensor") {
  return antialiased(b, arguments, Filter::kCubic);
}

}  // namespace tendon::aten
