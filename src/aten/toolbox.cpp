// Axes and shapes.
#include "aten/toolbox.h"

#include <algorithm>
#include <numeric>

namespace tendon::aten {

int wrap_axis(std::int64_t axis, int rank) {
  const int range = std::max(rank, 1);
  if (axis < -range || axis >= range) {
    throw InvalidProgram("Dimension out of range (expected to be in range of [" +
                         std::to_string(-range) + ", " + std::to_string(range - 1) + "], but got " +
                         std::to_string(axis) + ")");
  }
  return static_cast<int>(axis < 0 ? axis + range : axis);
}

std::vector<int> wrap_axes(const std::optional<std::vector<std::int64_t>>& axes, int rank) {
  std::vector<int> result;
  if (!axes || axes->empty()) {
    result.resize(static_cast<std::size_t>(rank));
    std::iota(result.begin(), result.end(), 0);
    return result;
  }
  for (std::int64_t axis : *axes) result.push_back(wrap_axis(axis, rank));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    throw InvalidProgram("an axis appears twice in the list of axes");
  }
  if (rank == 0) result.clear();
  return result;
}

Shape broadcast_shapes(Builder& b, std::span<const Shape> shapes) {
  std::size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.size());
  Shape result(rank, Size(1));
  for (const Shape& shape : shapes) {
    const std::size_t skipped = rank - shape.size();
    for (std::size_t i = 0; i < shape.size(); ++i) {
      Size& current = result[skipped + i];
      const Size& size = shape[i];
      if (size == Size(1) || size == current) continue;
      if (current == Size(1)) {
        current = size;
        continue;
      }
      const auto same = ir::provably_equal(current, size);
      if (same.has_value() && !*same) {
        throw InvalidProgram("The size of tensor a (" + current.to_string() +
                             ") must match the size of tensor b (" + size.to_string() +
                             ") at non-singleton dimension " + std::to_string(skipped + i));
      }
      if (!same) {
        b.assert_size(ir::equal(current, size),
                      "The size of tensor a (" + current.to_string() +
                          ") must match the size of tensor b (" + size.to_string() +
                          ") at non-singleton dimension " + std::to_string(skipped + i));
        if (size.is_constant()) current = size;
      }
    }
  }
  return result;
}

Shape infer_size(const Shape& shape, const Size& count) {
  Shape result = shape;
  int inferred = -1;
  Size known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == Size(-1)) {
      if (inferred >= 0) throw InvalidProgram("only one dimension can be inferred");
      inferred = static_cast<int>(i);
    } else {
      known = known * shape[i];
    }
  }
  if (inferred >= 0) {
    const auto exact = ir::divide_exactly(count, known);
    result[static_cast<std::size_t>(inferred)] = exact ? *exact : ir::floor_div(count, known);
  } else if (const auto same = ir::provably_equal(known, count); same.has_value() && !*same) {
    throw InvalidProgram("shape '" + ir::to_string(shape) + "' is invalid for input of size " +
                         count.to_string());
  }
  return result;
}

}  // namespace tendon::aten
