// What the operators that resize images have in common.
#pragma once

#include <optional>
#include <vector>

#include "aten/operator.h"

namespace tendon::aten {

struct Resize {
  Tensor x;     // [n, c, spatial...]
  Shape shape;  // of the result
  bool align_corners = false;
  std::vector<std::optional<double>> scales;  // per spatial axis, where the program gives one
  DType compute = DType::kFloat32;
};

/// Reads either form of the operators' arguments: sizes with scales beside them, or (vec) one of
/// both.
Resize resize_of(Builder& b, const Arguments& arguments, std::size_t axes);

/// The size of an axis scaled by a factor, rounded down.
Size scaled_size(const Size& size, double factor);

/// How far one step of the result goes in the input along a spatial axis.
Expr input_step(Builder& b, const Resize& resize, std::size_t axis);

}  // namespace tendon::aten
