// Elements in another order or several times: flips, rolls, repeats, triangles, diagonals, pixels.
#include <algorithm>

#include "aten/index_tools.h"
#include "aten/operator.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

Tensor flipped(Builder& b, const Tensor& x, const std::vector<std::int64_t>& dims) {
  std::vector<bool> flips(x.shape.size());
  for (const std::int64_t dim : dims) {
    const int axis = wrap_axis(dim, x.rank());
    if (x.rank() == 0) continue;
    if (flips[static_cast<std::size_t>(axis)]) {
      throw InvalidProgram("dim " + std::to_string(axis) +
                           " appears multiple times in the list of dims");
    }
    flips[static_cast<std::size_t>(axis)] = true;
  }
  return rearrange(b, x, x.shape, [&](const Indices& index) {
    Indices positions = index;
    for (std::size_t k = 0; k < flips.size(); ++k) {
      if (flips[k]) positions[k] = b.size(x.shape[k] - Size(1)) - index[k];
    }
    return positions;
  });
}

/// out[..., i, ...] = x[..., (i - shift) mod size, ...].
Tensor rolled(Builder& b, const Tensor& x, int axis, const Size& shift) {
  const auto a = static_cast<std::size_t>(axis);
  const Size& size = x.shape[a];
  if (size == Size(0)) return x;
  const Size start = ir::mod(size - ir::mod(shift, size), size);
  return rearrange(b, x, x.shape, [&](const Indices& index) {
    Indices positions = index;
    positions[a] = remainder(index[a] + b.size(start), b.size(size));
    return positions;
  });
}

Tensor repeated(Builder& b, const Tensor& x, const Shape& repeats) {
  if (repeats.size() < x.shape.size()) {
    throw InvalidProgram(
        "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
        "tensor");
  }
  const std::size_t added = repeats.size() - x.shape.size();
  Shape shape = repeats;
  for (std::size_t k = 0; k < x.shape.size(); ++k) {
    shape[added + k] = repeats[added + k] * x.shape[k];
  }
  return rearrange(b, x, shape, [&](const Indices& index) {
    Indices positions;
    for (std::size_t k = 0; k < x.shape.size(); ++k) {
      positions.push_back(repeats[added + k] == Size(1)
                              ? index[added + k]
                              : remainder(index[added + k], b.size(x.shape[k])));
    }
    return positions;
  });
}

/// Keeps the elements on one side of a diagonal.
Tensor triangle(Builder& b, const Tensor& x, const Size& diagonal, bool lower) {
  if (x.rank() < 2) {
    throw InvalidProgram(std::string(lower ? "tril" : "triu") +
                         ": input tensor must have at least 2 dimensions");
  }
  return masked_rearrange(b, x, x.shape, [&](const Indices& index) {
    const Expr row = index[index.size() - 2], column = index[index.size() - 1];
    const Expr edge = row + b.size(diagonal);
    return MaskedPosition{lower ? column <= edge : column >= edge, index};
  });
}

/// x's last axis on the diagonal of two new axes.
Tensor diagonal_matrix(Builder& b, const Tensor& x, std::int64_t offset, std::int64_t dim1,
                       std::int64_t dim2) {
  const int rank = x.rank() + 1;
  const auto axis1 = static_cast<std::size_t>(wrap_axis(dim1, rank));
  const auto axis2 = static_cast<std::size_t>(wrap_axis(dim2, rank));
  if (axis1 == axis2) {
    throw InvalidProgram("diagonal dimensions cannot be identical " + std::to_string(dim1) + ", " +
                         std::to_string(dim2));
  }
  const Size side = x.size(-1) + Size(offset < 0 ? -offset : offset);
  Shape shape;
  for (std::size_t k = 0, next = 0; k < static_cast<std::size_t>(rank); ++k) {
    shape.push_back(k == axis1 || k == axis2 ? side : x.shape[next++]);
  }
  const std::int64_t first = offset < 0 ? -offset : 0;
  return masked_rearrange(b, x, shape, [&](const Indices& index) {
    Indices positions;
    for (std::size_t k = 0; k < index.size(); ++k) {
      if (k != axis1 && k != axis2) positions.push_back(index[k]);
    }
    const Expr position = index[axis1] - first;
    positions.push_back(position);
    Condition inside;
    inside.add(index[axis2] - index[axis1] == offset);
    inside.add_in_range(position, x.size(-1));
    return MaskedPosition{inside.expr(b), positions};
  });
}

Tensor diagonal_of(Builder& b, const Tensor& x, std::int64_t offset) {
  const std::int64_t first = offset < 0 ? -offset : 0, second = offset > 0 ? offset : 0;
  const Size length = ir::max(ir::min(x.size(0) - Size(first), x.size(1) - Size(second)), Size(0));
  return rearrange(b, x, {length}, [&](const Indices& index) {
    return Indices{index[0] + first, index[0] + second};
  });
}

/// Splits `axis` in (groups, rest), puts `rest` before `groups` and merges them again.
Tensor shuffled(Builder& b, const Tensor& x, const Size& groups) {
  if (x.rank() < 3) {
    throw InvalidProgram("channel_shuffle expects input with > 2 dims, but got input with sizes " +
                         shape_text(x.shape));
  }
  const std::optional<Size> each = ir::divide_exactly(x.size(1), groups);
  if (!each) {
    throw InvalidProgram("Number of channels must be divisible by groups. Got " +
                         x.size(1).to_string() + " channels and " + groups.to_string() +
                         " groups.");
  }
  Shape shape = x.shape;
  shape[1] = groups;
  shape.insert(shape.begin() + 2, *each);
  return reshape(b, transpose(b, reshape(b, x, shape), 1, 2), x.shape);
}

}  // namespace

OPERATOR(flip, "flip(Tensor self, int[] dims) -> Tensor") {
  return flipped(b, arguments.tensor("self"), arguments.integers("dims"));
}
OPERATOR(fliplr, "fliplr(Tensor self) -> Tensor") {
  if (arguments.tensor("self").rank() < 2) throw InvalidProgram("Input must be >= 2-d.");
  return flipped(b, arguments.tensor("self"), {1});
}
OPERATOR(flipud, "flipud(Tensor self) -> Tensor") {
  if (arguments.tensor("self").rank() < 1) throw InvalidProgram("Input must be >= 1-d.");
  return flipped(b, arguments.tensor("self"), {0});
}
OPERATOR(roll, "roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Shape shifts = arguments.sizes("shifts");
  const std::vector<std::int64_t> dims = arguments.integers("dims");
  if (shifts.empty()) throw InvalidProgram("`shifts` required");
  if (dims.empty()) {
    if (shifts.size() != 1) {
      throw InvalidProgram("shifts and dimensions must align. shifts: " +
                           std::to_string(shifts.size()) + ", dims:0");
    }
    return reshape(b, rolled(b, flatten(b, self), 0, shifts[0]), self.shape);
  }
  if (dims.size() != shifts.size()) {
    throw InvalidProgram("shifts and dimensions must align. shifts: " +
                         std::to_string(shifts.size()) + ", dims:" + std::to_string(dims.size()));
  }
  Tensor result = self;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    const int axis = wrap_axis(dims[k], self.rank());
    if (self.rank() > 0) result = rolled(b, result, axis, shifts[k]);
  }
  return result;
}
OPERATOR(rot90, "rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const std::vector<std::int64_t> dims = arguments.integers("dims");
  if (dims.size() != 2) {
    throw InvalidProgram("expected total rotation dims == 2, but got dims = " +
                         std::to_string(dims.size()));
  }
  if (self.rank() < 2) {
    throw InvalidProgram("expected total dims >= 2, but got total dims = " +
                         std::to_string(self.rank()));
  }
  const int first = wrap_axis(dims[0], self.rank()), second = wrap_axis(dims[1], self.rank());
  if (first == second) throw InvalidProgram("expected rotation dims to be different");
  switch (((arguments.integer("k") % 4) + 4) % 4) {
    case 1:
      return transpose(b, flipped(b, self, {second}), first, second);
    case 2:
      return flipped(b, self, {first, second});
    case 3:
      return transpose(b, flipped(b, self, {first}), first, second);
    default:
      return self;
  }
}

OPERATOR(repeat, "repeat(Tensor self, SymInt[] repeats) -> Tensor") {
  return repeated(b, arguments.tensor("self"), arguments.sizes("repeats"));
}
OPERATOR(tile, "tile(Tensor self, SymInt[] dims) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  Shape dims = arguments.sizes("dims");
  if (dims.size() < self.shape.size()) {
    dims.insert(dims.begin(), self.shape.size() - dims.size(), Size(1));
  }
  return repeated(b, self, dims);
}

OPERATOR(tril, "tril(Tensor self, SymInt diagonal=0) -> Tensor") {
  return triangle(b, arguments.tensor("self"), arguments.size("diagonal"), true);
}
OPERATOR(triu, "triu(Tensor self, SymInt diagonal=0) -> Tensor") {
  return triangle(b, arguments.tensor("self"), arguments.size("diagonal"), false);
}
OPERATOR(diag, "diag(Tensor self, int diagonal=0) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (self.rank() == 1) return diagonal_matrix(b, self, arguments.integer("diagonal"), 0, 1);
  if (self.rank() == 2) return diagonal_of(b, self, arguments.integer("diagonal"));
  throw InvalidProgram("diag(): Supports 1D or 2D tensors. Got " + std::to_string(self.rank()) +
                       "D");
}
OPERATOR(diag_embed, "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor") {
  return diagonal_matrix(b, arguments.tensor("self"), arguments.integer("offset"),
                         arguments.integer("dim1"), arguments.integer("dim2"));
}
OPERATOR(diagflat, "diagflat(Tensor self, int offset=0) -> Tensor") {
  return diagonal_matrix(b, flatten(b, arguments.tensor("self")), arguments.integer("offset"), 0,
                         1);
}

OPERATOR(channel_shuffle, "channel_shuffle(Tensor self, SymInt groups) -> Tensor",
         "native_channel_shuffle(Tensor self, SymInt groups) -> Tensor") {
  return shuffled(b, arguments.tensor("self"), arguments.size("groups"));
}
OPERATOR(pixel_shuffle, "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const std::int64_t r = arguments.integer("upscale_factor");
  if (self.rank() < 3) {
    throw InvalidProgram(
        "pixel_shuffle expects input to have at least 3 dimensions, but got input with " +
        std::to_string(self.rank()) + " dimension(s)");
  }
  if (r <= 0) {
    throw InvalidProgram("pixel_shuffle expects a positive upscale_factor, but got " +
                         std::to_string(r));
  }
  const int c = self.rank() - 3;
  const std::optional<Size> channels = ir::divide_exactly(self.size(c), Size(r * r));
  if (!channels) {
    throw InvalidProgram(
        "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
        "upscale_factor, but input.size(-3)=" +
        self.size(c).to_string() + " is not divisible by " + std::to_string(r * r));
  }
  Shape shape(self.shape.begin(), self.shape.begin() + c);
  shape.push_back(*channels);
  shape.push_back(self.size(-2) * Size(r));
  shape.push_back(self.size(-1) * Size(r));
  return rearrange(b, self, shape, [&](const Indices& index) {
    Indices positions(index.begin(), index.end() - 3);
    const Expr factor = b.constant(DType::kInt64, r);
    const Expr channel = index[index.size() - 3], row = index[index.size() - 2];
    const Expr column = index.back();
    positions.push_back((channel * r + remainder(row, factor)) * r + remainder(column, factor));
    positions.push_back(floor_divide(row, factor));
    positions.push_back(floor_divide(column, factor));
    return positions;
  });
}
OPERATOR(pixel_unshuffle, "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const std::int64_t r = arguments.integer("downscale_factor");
  if (self.rank() < 3) {
    throw InvalidProgram(
        "pixel_unshuffle expects input to have at least 3 dimensions, but got input with " +
        std::to_string(self.rank()) + " dimension(s)");
  }
  if (r <= 0) {
    throw InvalidProgram("pixel_unshuffle expects a positive downscale_factor, but got " +
                         std::to_string(r));
  }
  const std::optional<Size> rows = ir::divide_exactly(self.size(-2), Size(r));
  const std::optional<Size> columns = ir::divide_exactly(self.size(-1), Size(r));
  if (!rows || !columns) {
    throw InvalidProgram("pixel_unshuffle expects height and width to be divisible by " +
                         std::to_string(r));
  }
  Shape shape(self.shape.begin(), self.shape.end() - 3);
  shape.push_back(self.size(-3) * Size(r * r));
  shape.push_back(*rows);
  shape.push_back(*columns);
  return rearrange(b, self, shape, [&](const Indices& index) {
    Indices positions(index.begin(), index.end() - 3);
    const Expr channel = index[index.size() - 3];
    const Expr factor = b.constant(DType::kInt64, r);
    positions.push_back(floor_divide(channel, b.constant(DType::kInt64, r * r)));
    positions.push_back(index[index.size() - 2] * r +
                        remainder(floor_divide(channel, factor), factor));
    positions.push_back(index.back() * r + remainder(channel, factor));
    return positions;
  });
}

}  // namespace tendon::aten
