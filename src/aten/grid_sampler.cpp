// Samples of images at the points of a grid, and affine grids.
#include "aten/index_tools.h"
#include "aten/interpolation.h"
#include "aten/operator.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

enum class Interpolation { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum class PaddingMode { kZeros = 0, kBorder = 1, kReflection = 2 };

struct Sampler {
  Builder& b;
  Tensor input;
  Interpolation interpolation;
  PaddingMode padding;
  bool align_corners;
  DType compute;

  /// From [-1, 1] to positions of the axis.
  Expr unnormalize(Expr coordinate, const Size& size) const {
    const Expr extent = cast(compute, b.size(size));
    if (align_corners) return (coordinate + 1.0) / 2.0 * (extent - 1.0);
    return ((coordinate + 1.0) * extent - 1.0) / 2.0;
  }

  Expr clip(Expr coordinate, const Size& size) const {
    return minimum(cast(compute, b.size(size - Size(1))),
                   maximum(coordinate, b.constant(compute, 0.0)));
  }

  /// Mirrors at the outer elements' centres (aligned corners) or edges.
  Expr reflect(Expr coordinate, const Size& size) const {
    const double low = align_corners ? 0.0 : -0.5;
    const Expr span = cast(compute, b.size(align_corners ? size - Size(1) : size));
    const Expr distance = unary(Op::kAbs, coordinate - low);
    const Expr flips = unary(Op::kFloor, distance / span);
    const Expr extra = binary(Op::kFmod, distance, span);
    const Expr even = binary(Op::kFmod, flips, like(flips, 2.0)) == 0.0;
    const Expr reflected = select(even, extra + low, span - extra + low);
    return select(span == 0.0, like(span, 0.0), reflected);
  }

  Expr padded(Expr coordinate, const Size& size) const {
    switch (padding) {
      case PaddingMode::kZeros:
        return coordinate;
      case PaddingMode::kBorder:
        return clip(coordinate, size);
      case PaddingMode::kReflection:
        return clip(reflect(coordinate, size), size);
    }
    return coordinate;
  }

  /// Coordinate `axis` (outermost first) of the grid point; grids hold them innermost first.
  Taps taps(Expr coordinate, const Size& size) const {
    const Expr position = unnormalize(coordinate, size);
    if (interpolation == Interpolation::kBicubic) {
      const Expr floor = unary(Op::kFloor, position);
      const std::vector<Expr> weights = cubic_weights(position - floor, -0.75);
      Taps result;
      for (int k = 0; k < 4; ++k) {
        const Expr at = padded(floor + static_cast<double>(k - 1), size);
        result.push_back({cast(DType::kInt64, at), weights[static_cast<std::size_t>(k)]});
      }
      return result;
    }
    const Expr inside = padded(position, size);
    if (interpolation == Interpolation::kNearest) {
      const Expr rounded = unary(Op::kRound, inside);
      return {{cast(DType::kInt64, rounded), rounded}};
    }
    const Expr floor = unary(Op::kFloor, inside);
    const Expr fraction = inside - floor;
    const Expr first = cast(DType::kInt64, floor);
    return {{first, 1.0 - fraction}, {first + 1, fraction}};
  }

  /// 0 outside of the input.
  Expr element(const Indices& i, const Indices& spatial) const {
    Condition inside;
    Indices at = {i[0], i[1]};
    for (std::size_t k = 0; k < spatial.size(); ++k) {
      inside.add_in_range(spatial[k], input.shape[k + 2]);
      at.push_back(spatial[k]);
    }
    return cast(compute, b.masked_load(input, inside.expr(b), at));
  }
};

Tensor sample(Builder& b, const Arguments& arguments) {
  const Tensor& input = arguments.tensor("input");
  const Tensor& grid = arguments.tensor("grid");
  const int axes = input.rank() - 2;
  if ((axes != 2 && axes != 3) || grid.rank() != input.rank()) {
    throw InvalidProgram(
        "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got "
        "input with sizes " +
        shape_text(input.shape) + " and grid with sizes " + shape_text(grid.shape));
  }
  require(b, ir::equal(grid.size(-1), Size(axes)),
          "grid_sampler(): expected grid to have size " + std::to_string(axes) +
              " in last dimension, but got grid with sizes " + shape_text(grid.shape));
  require(b, ir::equal(grid.size(0), input.size(0)),
          "grid_sampler(): expected grid and input to have same batch size, but got input with "
          "sizes " +
              shape_text(input.shape) + " and grid with sizes " + shape_text(grid.shape));
  const Sampler sampler{b,
                        input,
                        static_cast<Interpolation>(arguments.integer("interpolation_mode")),
                        static_cast<PaddingMode>(arguments.integer("padding_mode")),
                        arguments.boolean("align_corners"),
                        compute_type(input.dtype)};
  if (axes == 3 && sampler.interpolation == Interpolation::kBicubic) {
    throw InvalidProgram("grid_sampler(): bicubic interpolation only supports 4D input");
  }
  Shape shape = {input.size(0), input.size(1)};
  shape.insert(shape.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
  return b.map(shape, [&](const Indices& i) {
    std::vector<Taps> taps;
    for (int k = 0; k < axes; ++k) {
      Indices point = {i[0]};
      point.insert(point.end(), i.begin() + 2, i.end());
      point.push_back(b.constant(DType::kInt64, axes - 1 - k));
      taps.push_back(sampler.taps(cast(sampler.compute, b.load(grid, point)), input.size(k + 2)));
    }
    return cast(input.dtype, interpolate(taps, [&](const Indices& spatial) {
                  return sampler.element(i, spatial);
                }));
  });
}

}  // namespace

OPERATOR(
    grid_sampler,
    "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
    "align_corners) -> Tensor",
    "grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
    "align_corners) -> Tensor",
    "grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
    "align_corners) -> Tensor",
    "_grid_sampler_2d_cpu_fallback(Tensor input, Tensor grid, int interpolation_mode, int "
    "padding_mode, bool align_corners) -> Tensor") {
  return sample(b, arguments);
}

OPERATOR(affine_grid_generator,
         "affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor") {
  const Tensor& theta = arguments.tensor("theta");
  const Shape size = arguments.sizes("size");
  const bool align_corners = arguments.boolean("align_corners");
  if (size.size() != 4 && size.size() != 5) {
    throw InvalidProgram("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
  }
  const std::size_t axes = size.size() - 2;
  const DType compute = compute_type(theta.dtype);
  Shape shape = {size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.emplace_back(static_cast<std::int64_t>(axes));
  return b.map(shape, [&](const Indices& i) {
    Expr sum = b.constant(compute, 0.0);
    for (std::size_t k = 0; k < axes; ++k) {  // innermost axis first
      const std::size_t axis = axes - k;
      const Expr count = b.size(shape[axis]);
      const Expr gaps = maximum(count - 1, b.constant(DType::kInt64, 1));
      // Evenly from -1 to 1, and from the middle on counted from the end.
      const Expr step = b.constant(compute, 2.0) / cast(compute, gaps);
      const Expr low = step * cast(compute, i[axis]) - 1.0;
      const Expr high = 1.0 - step * cast(compute, count - 1 - i[axis]);
      const Expr half = floor_divide(count, b.constant(DType::kInt64, 2));
      Expr point = select(count <= 1, b.constant(compute, 0.0), select(i[axis] < half, low, high));
      if (!align_corners) point = point * (cast(compute, count - 1) / cast(compute, count));
      const Expr factor =
          b.load(theta, {i[0], i.back(), b.constant(DType::kInt64, static_cast<std::int64_t>(k))});
      sum = sum + point * cast(compute, factor);
    }
    const Expr shift =
        b.load(theta, {i[0], i.back(), b.constant(DType::kInt64, static_cast<std::int64_t>(axes))});
    return cast(theta.dtype, sum + cast(compute, shift));
  });
}

}  // namespace tendon::aten
