// Samples of images at the points of a grid, and affine grids.
#include <array>

#include "aten/index_tools.h"
#include "aten/interpolation.h"
#include "aten/operator.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

enum class Interpolation { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum class PaddingMode { kZeros = 0, kBorder = 1, kReflection = 2 };

/// The steps of PyTorch's own arithmetic: half types are rounded after every one of them.
class Sampler {
 public:
  Sampler(Builder& b, const Arguments& arguments)
      : b(b),
        input_(arguments.tensor("input")),
        interpolation_(static_cast<Interpolation>(arguments.integer("interpolation_mode"))),
        padding_(static_cast<PaddingMode>(arguments.integer("padding_mode"))),
        align_corners_(arguments.boolean("align_corners")),
        compute_(compute_type(input_.dtype)) {}

  Expr sample(const Indices& i, const std::vector<Expr>& coordinates) const {
    std::vector<Expr> positions;
    for (std::size_t k = 0; k < coordinates.size(); ++k) {
      positions.push_back(unnormalize(cast(compute_, coordinates[k]), k));
    }
    if (interpolation_ == Interpolation::kBicubic) return bicubic(i, positions);
    for (std::size_t k = 0; k < positions.size(); ++k) positions[k] = padded(positions[k], k);
    if (interpolation_ == Interpolation::kNearest) {
      Indices nearest;
      for (const Expr position : positions) {
        nearest.push_back(cast(DType::kInt64, unary(Op::kRound, position)));
      }
      return element(i, nearest);
    }
    return linear(i, positions);
  }

 private:
  Expr rounded(Expr x) const {
    return is_half(input_.dtype) ? cast(compute_, cast(input_.dtype, x)) : x;
  }
  Expr number(const Size& size) const { return rounded(cast(compute_, b.size(size))); }
  Expr number(double value) const { return rounded(b.constant(compute_, value)); }
  Expr add(Expr x, Expr y) const { return rounded(x + y); }
  Expr subtract(Expr x, Expr y) const { return rounded(x - y); }
  Expr multiply(Expr x, Expr y) const { return rounded(x * y); }
  const Size& extent(std::size_t axis) const { return input_.shape[axis + 2]; }

  /// From [-1, 1] to positions of the axis.
  Expr unnormalize(Expr coordinate, std::size_t axis) const {
    const Size size = align_corners_ ? extent(axis) - Size(1) : extent(axis);
    const Expr scaled = multiply(add(coordinate, number(1.0)), rounded(number(size) / number(2.0)));
    return align_corners_ ? scaled : subtract(scaled, number(0.5));
  }

  /// NaN becomes 0.
  Expr clip(Expr position, std::size_t axis) const {
    const Expr zero = number(0.0), last = number(extent(axis) - Size(1));
    return select(position > 0.0, select(position < last, position, last), zero);
  }

  /// Mirrors at the outer elements' centres (aligned corners) or edges.
  Expr reflect(Expr position, std::size_t axis) const {
    const double low = align_corners_ ? 0.0 : -0.5;
    const Size size = align_corners_ ? extent(axis) - Size(1) : extent(axis);
    const Expr span = number(size * Size(2));
    const Expr distance = unary(Op::kAbs, subtract(position, number(low)));
    const Expr flips = unary(Op::kTrunc, rounded(distance / span));
    const Expr extra = subtract(distance, multiply(flips, span));
    const Expr nearer = minimum(extra, subtract(span, extra));
    return select(span == 0.0, number(0.0), add(nearer, number(low)));
  }

  Expr padded(Expr position, std::size_t axis) const {
    if (padding_ == PaddingMode::kZeros) return position;
    return clip(padding_ == PaddingMode::kBorder ? position : reflect(position, axis), axis);
  }

  /// 0 outside of the input.
  Expr element(const Indices& i, const Indices& spatial) const {
    Condition inside;
    Indices at = {i[0], i[1]};
    for (std::size_t k = 0; k < spatial.size(); ++k) {
      inside.add_in_range(spatial[k], extent(k));
      at.push_back(spatial[k]);
    }
    return cast(compute_, b.masked_load(input_, inside.expr(b), at));
  }

  Expr linear(const Indices& i, const std::vector<Expr>& positions) const {
    const std::size_t axes = positions.size();
    std::vector<std::array<Tap, 2>> taps;
    for (const Expr position : positions) {
      const Expr floor = unary(Op::kFloor, position);
      const Expr first = cast(DType::kInt64, floor);
      const Expr above = subtract(position, floor);
      const Expr below =
          axes == 2 ? subtract(number(1.0), above) : subtract(rounded(floor + 1.0), position);
      taps.push_back({Tap{first, below}, Tap{first + 1, above}});
    }
    // The last axis varies fastest; two axes multiply from the first, three from the last.
    std::optional<Expr> sum;
    for (std::size_t corner = 0; corner < (std::size_t{1} << axes); ++corner) {
      Indices spatial;
      std::vector<Expr> weights;
      for (std::size_t k = 0; k < axes; ++k) {
        const Tap& tap = taps[k][(corner >> (axes - 1 - k)) & 1];
        spatial.push_back(tap.position);
        weights.push_back(tap.weight);
      }
      const Expr weight = axes == 2 ? multiply(weights[0], weights[1])
                                    : multiply(multiply(weights[2], weights[1]), weights[0]);
      const Expr term = multiply(element(i, spatial), weight);
      sum = sum ? add(*sum, term) : term;
    }
    return *sum;
  }

  std::vector<Expr> cubic_weights(Expr t) const {
    constexpr double kA = -0.75;
    const auto near = [&](Expr x) {
      const Expr inner = subtract(multiply(number(kA + 2), x), number(kA + 3));
      return add(multiply(multiply(inner, x), x), number(1.0));
    };
    const auto far = [&](Expr x) {
      const Expr inner = subtract(multiply(number(kA), x), number(5 * kA));
      return subtract(multiply(add(multiply(inner, x), number(8 * kA)), x), number(4 * kA));
    };
    return {far(add(t, number(1.0))), near(t), near(subtract(number(1.0), t)),
            far(subtract(number(2.0), t))};
  }

  Expr bicubic(const Indices& i, const std::vector<Expr>& positions) const {
    std::vector<std::vector<Tap>> taps(2);
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const Expr floor = unary(Op::kFloor, positions[axis]);
      const std::vector<Expr> weights = cubic_weights(subtract(positions[axis], floor));
      for (int k = 0; k < 4; ++k) {
        const Expr at = padded(add(floor, number(k - 1.0)), axis);
        taps[axis].push_back({cast(DType::kInt64, at), weights[static_cast<std::size_t>(k)]});
      }
    }
    std::optional<Expr> sum;
    for (const Tap& row : taps[0]) {
      std::optional<Expr> along;
      for (const Tap& column : taps[1]) {
        const Expr term = multiply(element(i, {row.position, column.position}), column.weight);
        along = along ? add(*along, term) : term;
      }
      const Expr term = multiply(*along, row.weight);
      sum = sum ? add(*sum, term) : term;
    }
    return *sum;
  }

  Builder& b;
  Tensor input_;
  Interpolation interpolation_;
  PaddingMode padding_;
  bool align_corners_;
  DType compute_;
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
  if (axes == 3 && arguments.integer("interpolation_mode") == 2) {
    throw InvalidProgram("grid_sampler(): bicubic interpolation only supports 4D input");
  }
  const Sampler sampler(b, arguments);
  Shape shape = {input.size(0), input.size(1)};
  shape.insert(shape.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
  return b.map(shape, [&](const Indices& i) {
    std::vector<Expr> coordinates;  // grids hold them last axis first
    for (int k = 0; k < axes; ++k) {
      Indices point = {i[0]};
      point.insert(point.end(), i.begin() + 2, i.end());
      point.push_back(b.constant(DType::kInt64, axes - 1 - k));
      coordinates.push_back(b.load(grid, point));
    }
    return cast(input.dtype, sampler.sample(i, coordinates));
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
