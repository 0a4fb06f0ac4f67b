// The operators of torch.fft.
#include <algorithm>

#include "aten/fourier.h"
#include "aten/index_tools.h"

namespace tendon::aten {

namespace {

/// How a transform is scaled: 1 / count to this power.
double exponent_of(const Arguments& arguments, Direction direction) {
  const std::string norm = arguments.optional_text("norm").value_or("backward");
  if (norm == "ortho") return 0.5;
  if (norm != "forward" && norm != "backward") {
    throw InvalidProgram("Invalid normalization mode: \"" + norm + "\"");
  }
  return (norm == "forward") == (direction == Direction::kForward) ? 1 : 0;
}

/// The axes of a transform, and the sizes that they are brought to.
struct Extent {
  std::vector<int> axes;
  Shape sizes;
  Size count() const { return ir::element_count(sizes); }
};

void check_length(Builder& b, const Size& size) {
  require(b, ir::less_equal(Size(1), size),
          "Invalid number of data points (" + size.to_string() + ") specified");
}

/// Of one axis (n, dim) or several (s, dim). `to_real`: the last axis holds half of the
/// frequencies, and the size is that of the signal.
Extent extent_of(Builder& b, const Arguments& arguments, const Tensor& x, bool several,
                 bool to_real) {
  Extent extent;
  std::optional<Shape> sizes;
  if (several) {
    sizes = arguments.optional_sizes("s");
    const auto axes = arguments.optional_integers("dim");
    if (axes) {
      for (const std::int64_t axis : *axes) extent.axes.push_back(wrap_axis(axis, x.rank()));
    } else {
      const int count = sizes ? static_cast<int>(sizes->size()) : x.rank();
      for (int axis = x.rank() - count; axis < x.rank(); ++axis) {
        extent.axes.push_back(wrap_axis(axis, x.rank()));
      }
    }
    if (sizes && sizes->size() != extent.axes.size()) {
      throw InvalidProgram("When given, dim and shape arguments must have the same length");
    }
  } else {
    extent.axes = {wrap_axis(arguments.integer("dim"), x.rank())};
    if (const auto n = arguments.optional_size("n")) sizes = Shape{*n};
  }
  for (std::size_t i = 0; i < extent.axes.size(); ++i) {
    const bool given = sizes && (*sizes)[i] != Size(-1);
    const bool half = to_real && i + 1 == extent.axes.size();
    const Size& own = x.size(extent.axes[i]);
    extent.sizes.push_back(given ? (*sizes)[i] : half ? (own - 1) * 2 : own);
    check_length(b, extent.sizes.back());
  }
  return extent;
}

/// Cut off or filled up with zeros.
Tensor resized(Builder& b, const Tensor& x, int axis, const Size& size) {
  if (x.size(axis) == size) return x;
  Shape before(x.shape.size(), Size(0)), after = before;
  after[static_cast<std::size_t>(axis)] = size - x.size(axis);
  return pad(b, x, before, after, Scalar(0.0));
}
ComplexParts resized(Builder& b, const ComplexParts& x, int axis, const Size& size) {
  ComplexParts result{resized(b, x.real, axis, size), std::nullopt};
  if (x.imaginary) result.imaginary = resized(b, *x.imaginary, axis, size);
  return result;
}

Size half_of(const Size& length) { return ir::floor_div(length, 2) + 1; }

Outputs complex_to_complex(Builder& b, const Arguments& arguments, Direction direction,
                           bool several) {
  const Tensor& self = arguments.tensor("self");
  const Extent extent = extent_of(b, arguments, self, several, false);
  ComplexParts x = parts_of(b, self);
  for (std::size_t i = 0; i < extent.axes.size(); ++i) {
    x = transform(b, resized(b, x, extent.axes[i], extent.sizes[i]), extent.axes[i], direction,
                  extent.sizes[i]);
  }
  return joined(b, scaled_down(b, x, extent.count(), exponent_of(arguments, direction)));
}

/// The last axis first, since its signal is real: rfft, and ihfft the other way round.
Outputs real_to_complex(Builder& b, const Arguments& arguments, Direction direction, bool several) {
  const Tensor& self = arguments.tensor("self");
  if (self.complex()) {
    throw InvalidProgram("expects a real input tensor, but got " +
                         std::string(dtype_name(self.dtype)));
  }
  const Extent extent = extent_of(b, arguments, self, several, false);
  if (extent.axes.empty()) throw InvalidProgram("must transform at least one axis");
  ComplexParts x = parts_of(b, self);
  for (std::size_t i = extent.axes.size(); i-- > 0;) {
    const bool last = i + 1 == extent.axes.size();
    x = transform(b, resized(b, x, extent.axes[i], extent.sizes[i]), extent.axes[i], direction,
                  last ? half_of(extent.sizes[i]) : extent.sizes[i]);
  }
  return joined(b, scaled_down(b, x, extent.count(), exponent_of(arguments, direction)));
}

/// The last axis last, since its signal is real: irfft, and hfft the other way round.
Outputs complex_to_real(Builder& b, const Arguments& arguments, Direction direction, bool several) {
  const Tensor& self = arguments.tensor("self");
  const Extent extent = extent_of(b, arguments, self, several, true);
  if (extent.axes.empty()) throw InvalidProgram("must transform at least one axis");
  ComplexParts x = parts_of(b, self);
  for (std::size_t i = 0; i + 1 < extent.axes.size(); ++i) {
    x = transform(b, resized(b, x, extent.axes[i], extent.sizes[i]), extent.axes[i], direction,
                  extent.sizes[i]);
  }
  const int last = extent.axes.back();
  x = resized(b, x, last, half_of(extent.sizes.back()));
  const Tensor real = transform_to_real(b, x, last, direction, extent.sizes.back());
  return scaled_down(b, {real, std::nullopt}, extent.count(), exponent_of(arguments, direction))
      .real;
}

/// By half of every axis.
Outputs shifted(Builder& b, const Arguments& arguments, bool back) {
  const Tensor& self = arguments.tensor("self");
  const std::vector<int> axes = wrap_axes(arguments.optional_integers("dim"), self.rank());
  return rearrange(b, self, self.shape, [&](const Indices& index) {
    Indices at = index;
    for (const int axis : axes) {
      const Size& size = self.size(axis);
      const Size half = ir::floor_div(back ? size : size + 1, 2);
      Expr& position = at[static_cast<std::size_t>(axis)];
      position = remainder(position + b.size(half), b.size(size));
    }
    return at;
  });
}

/// As the operators below the ones that users call have it: 0 nothing, 1 by the root, 2 by the
/// count.
ComplexParts normalized(Builder& b, const ComplexParts& x, const Arguments& arguments,
                        const Size& count) {
  return scaled_down(b, x, count, static_cast<double>(arguments.integer("normalization")) / 2);
}

std::vector<int> inner_axes(const Arguments& arguments, const Tensor& x) {
  std::vector<int> axes;
  for (const std::int64_t axis : arguments.integers("dim")) {
    axes.push_back(wrap_axis(axis, x.rank()));
  }
  return axes;
}

}  // namespace

OPERATOR(fft_one, "fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor") {
  return complex_to_complex(b, arguments, Direction::kForward, false);
}
OPERATOR(fft_several,
         "fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
         "fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor") {
  return complex_to_complex(b, arguments, Direction::kForward, true);
}
OPERATOR(fft_back_one,
         "fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor") {
  return complex_to_complex(b, arguments, Direction::kBackward, false);
}
OPERATOR(fft_back_several,
         "fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
         "fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor") {
  return complex_to_complex(b, arguments, Direction::kBackward, true);
}
OPERATOR(fft_real_one,
         "fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor") {
  return real_to_complex(b, arguments, Direction::kForward, false);
}
OPERATOR(fft_real_several,
         "fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
         "fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor") {
  return real_to_complex(b, arguments, Direction::kForward, true);
}
OPERATOR(fft_hermitian_back_one,
         "fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor") {
  return real_to_complex(b, arguments, Direction::kBackward, false);
}
OPERATOR(
    fft_hermitian_back_several,
    "fft_ihfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
    "fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor") {
  return real_to_complex(b, arguments, Direction::kBackward, true);
}
OPERATOR(fft_to_real_one,
         "fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor") {
  return complex_to_real(b, arguments, Direction::kBackward, false);
}
OPERATOR(
    fft_to_real_several,
    "fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
    "fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor") {
  return complex_to_real(b, arguments, Direction::kBackward, true);
}
OPERATOR(fft_hermitian_one,
         "fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor") {
  return complex_to_real(b, arguments, Direction::kForward, false);
}
OPERATOR(fft_hermitian_several,
         "fft_hfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
         "fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor") {
  return complex_to_real(b, arguments, Direction::kForward, true);
}
OPERATOR(fft_shift, "fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor") {
  return shifted(b, arguments, false);
}
OPERATOR(fft_shift_back, "fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor") {
  return shifted(b, arguments, true);
}

OPERATOR(fft_inner_complex,
         "_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Direction direction =
      arguments.boolean("forward") ? Direction::kForward : Direction::kBackward;
  ComplexParts x = parts_of(b, self);
  Size count = 1;
  for (const int axis : inner_axes(arguments, self)) {
    x = transform(b, x, axis, direction, self.size(axis));
    count = count * self.size(axis);
  }
  return joined(b, normalized(b, x, arguments, count));
}
OPERATOR(fft_inner_from_real,
         "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const std::vector<int> axes = inner_axes(arguments, self);
  const bool half = arguments.boolean("onesided");
  ComplexParts x = parts_of(b, self);
  Size count = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const Size& size = self.size(axes[i]);
    const bool last = i + 1 == axes.size();
    x = transform(b, x, axes[i], Direction::kForward, last && half ? half_of(size) : size);
    count = count * size;
  }
  return joined(b, normalized(b, x, arguments, count));
}
OPERATOR(fft_inner_to_real,
         "_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const std::vector<int> axes = inner_axes(arguments, self);
  const Size length = arguments.size("last_dim_size");
  ComplexParts x = parts_of(b, self);
  Size count = length;
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
    x = transform(b, x, axes[i], Direction::kBackward, self.size(axes[i]));
    count = count * self.size(axes[i]);
  }
  x = resized(b, x, axes.back(), half_of(length));
  const Tensor real = transform_to_real(b, x, axes.back(), Direction::kBackward, length);
  return normalized(b, {real, std::nullopt}, arguments, count).real;
}

}  // namespace tendon::aten
