// Padding: constants, and positions reflected, clamped or wrapped into the tensor.
#include <functional>

#include "aten/index_tools.h"
#include "aten/operator.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

/// Before and after per axis of x, from PyTorch's list of (before, after) pairs, last axis first.
struct Padding {
  Shape before, after;
};

Padding padding_of(const Tensor& x, const Shape& widths) {
  if (widths.size() % 2 != 0)
    throw InvalidProgram("Length of pad must be even but instead it equals " +
                         std::to_string(widths.size()));
  if (widths.size() / 2 > x.shape.size()) {
    throw InvalidProgram(
        "Length of pad should be no more than twice the number of dimensions of the input. Pad "
        "length is " +
        std::to_string(widths.size()) + " while the input has " + std::to_string(x.rank()) +
        " dimensions.");
  }
  Padding padding{Shape(x.shape.size(), Size(0)), Shape(x.shape.size(), Size(0))};
  for (std::size_t k = 0; k < widths.size() / 2; ++k) {
    padding.before[x.shape.size() - 1 - k] = widths[2 * k];
    padding.after[x.shape.size() - 1 - k] = widths[2 * k + 1];
  }
  return padding;
}

Tensor pad_constant(Builder& b, const Tensor& x, const Shape& widths, const Scalar& value) {
  const Padding padding = padding_of(x, widths);
  for (std::size_t k = 0; k < x.shape.size(); ++k) {
    require(b, ir::less_equal(Size(0), x.shape[k] + padding.before[k] + padding.after[k]),
            "The input size " + x.shape[k].to_string() + ", plus negative padding " +
                padding.before[k].to_string() + " and " + padding.after[k].to_string() +
                ", resulted in a negative output size, which is invalid. Check dimension " +
                std::to_string(k) + " of your input.");
  }
  return pad(b, x, padding.before, padding.after, value);
}

enum class Mode { kReflect, kReplicate, kCircular };

void check_widths(Builder& b, const Tensor& x, const Padding& padding, Mode mode) {
  for (std::size_t k = 0; k < x.shape.size(); ++k) {
    const Size& before = padding.before[k];
    const Size& after = padding.after[k];
    if (before == Size(0) && after == Size(0)) continue;
    const Size& size = x.shape[k];
    if (mode == Mode::kReflect) {
      require(
          b, ir::logical_and(ir::less(before, size), ir::less(after, size)),
          "Argument #4: Padding size should be less than the corresponding input dimension, but "
          "got: padding (" +
              before.to_string() + ", " + after.to_string() + ") at dimension " +
              std::to_string(k) + " of input " + shape_text(x.shape));
    } else if (mode == Mode::kCircular) {
      require(b, ir::logical_and(ir::less_equal(before, size), ir::less_equal(after, size)),
              "Padding value causes wrapping around more than once.");
    }
    require(b, ir::less_equal(Size(1), size + before + after),
            "the padded size of dimension " + std::to_string(k) + " would be " +
                (size + before + after).to_string());
  }
}

Expr position_inside(Builder& b, Expr position, const Size& size, Mode mode) {
  const Expr zero = b.constant(DType::kInt64, 0), last = b.size(size - Size(1));
  switch (mode) {
    case Mode::kReflect: {
      const Expr from_start = maximum(position, -position);
      const Expr beyond = last - from_start;
      return last - maximum(beyond, -beyond);
    }
    case Mode::kReplicate:
      return clamp(position, zero, last);
    case Mode::kCircular:
      return remainder(position, b.size(size));
  }
  return position;
}

Tensor pad_from_inside(Builder& b, const Tensor& x, const Shape& widths, Mode mode) {
  const Padding padding = padding_of(x, widths);
  check_widths(b, x, padding, mode);
  Shape shape = x.shape;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    shape[k] = shape[k] + padding.before[k] + padding.after[k];
  }
  return rearrange(b, x, shape, [&](const Indices& index) {
    Indices positions = index;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      const Size &before = padding.before[k], &after = padding.after[k];
      if (before == Size(0) && after == Size(0)) continue;
      positions[k] = position_inside(b, index[k] - b.size(before), x.shape[k], mode);
    }
    return positions;
  });
}

Tensor pad_named(Builder& b, const Tensor& x, const Shape& widths, const std::string& mode,
                 const std::optional<double>& value) {
  if (mode == "constant") return pad_constant(b, x, widths, Scalar(value.value_or(0.0)));
  if (value && *value != 0.0) {
    throw InvalidProgram("Padding mode \"" + mode + "\" doesn't take in value argument");
  }
  if (mode == "reflect") return pad_from_inside(b, x, widths, Mode::kReflect);
  if (mode == "replicate") return pad_from_inside(b, x, widths, Mode::kReplicate);
  if (mode == "circular") return pad_from_inside(b, x, widths, Mode::kCircular);
  throw InvalidProgram("Unrecognised padding mode " + mode);
}

}  // namespace

OPERATOR(constant_pad_nd, "constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor") {
  return pad_constant(b, arguments.tensor("self"), arguments.sizes("pad"),
                      arguments.scalar("value"));
}
OPERATOR(pad,
         "pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor") {
  return pad_named(b, arguments.tensor("self"), arguments.sizes("pad"), arguments.text("mode"),
                   arguments.optional_real("value"));
}
OPERATOR(pad_enum, "_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor") {
  static constexpr const char* kModes[] = {"constant", "reflect", "replicate", "circular"};
  const std::int64_t mode = arguments.integer("mode");
  if (mode < 0 || mode > 3)
    throw InvalidProgram("Unrecognised padding mode " + std::to_string(mode));
  return pad_named(b, arguments.tensor("self"), arguments.sizes("pad"), kModes[mode],
                   arguments.optional_real("value"));
}
OPERATOR(pad_circular, "_pad_circular(Tensor self, SymInt[] pad) -> Tensor") {
  return pad_from_inside(b, arguments.tensor("self"), arguments.sizes("pad"), Mode::kCircular);
}
OPERATOR(reflection_pad, "reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
         "reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
         "reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor") {
  return pad_from_inside(b, arguments.tensor("self"), arguments.sizes("padding"), Mode::kReflect);
}
OPERATOR(replication_pad, "replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
         "replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
         "replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor") {
  return pad_from_inside(b, arguments.tensor("self"), arguments.sizes("padding"), Mode::kReplicate);
}

}  // namespace tendon::aten
