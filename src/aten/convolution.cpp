// Convolutions.
#include "aten/index_tools.h"
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

struct Window {
  std::vector<std::int64_t> stride, padding, dilation, output_padding;
  std::vector<std::int64_t> padding_after;  // as padding, unless 'same' is uneven
  std::int64_t groups = 1;
  bool transposed = false;
};

/// One number stands for all spatial axes.
std::vector<std::int64_t> spread(std::vector<std::int64_t> values, std::size_t axes,
                                 std::int64_t fallback) {
  if (values.empty()) values.push_back(fallback);
  if (values.size() == 1) values.resize(axes, values[0]);
  if (values.size() != axes) throw InvalidProgram("expected one number per spatial axis");
  return values;
}

Tensor with_bias(Builder& b, const Tensor& x, const std::optional<Tensor>& bias) {
  if (!bias) return x;
  Tensor channels = *bias;
  for (int axis = 2; axis < x.rank(); ++axis) channels = unsqueeze(b, channels, channels.rank());
  return elementwise(b, {x, channels}, compute_type(x.dtype), x.dtype,
                     [](const std::vector<Expr>& e) { return e[0] + e[1]; });
}

Tensor convolve(Builder& b, const Tensor& input, const Tensor& weight,
                const std::optional<Tensor>& bias, Window window);

/// (a + bi) * (c + di) by convolutions of the parts.
Tensor convolve_complex(Builder& b, const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, const Window& window) {
  const Tensor xr = real_part(b, input), xi = imaginary_part(b, input);
  const Tensor wr = real_part(b, weight), wi = imaginary_part(b, weight);
  std::optional<Tensor> real_bias, imaginary_bias;
  if (bias) {
    real_bias = real_part(b, *bias);
    imaginary_bias = imaginary_part(b, *bias);
  }
  const auto combine = [&](const Tensor& p, const Tensor& q, bool subtract) {
    return elementwise(b, {p, q}, compute_type(p.dtype), p.dtype, [&](const std::vector<Expr>& e) {
      return subtract ? e[0] - e[1] : e[0] + e[1];
    });
  };
  return make_complex(b,
                      combine(convolve(b, xr, wr, real_bias, window),
                              convolve(b, xi, wi, std::nullopt, window), true),
                      combine(convolve(b, xr, wi, imaginary_bias, window),
                              convolve(b, xi, wr, std::nullopt, window), false));
}

Tensor convolve(Builder& b, const Tensor& input, const Tensor& weight,
                const std::optional<Tensor>& bias, Window window) {
  const std::size_t axes = static_cast<std::size_t>(weight.rank()) - 2;
  if (input.complex()) return convolve_complex(b, input, weight, bias, window);
  const bool unbatched = input.rank() == weight.rank() - 1;
  const Tensor x = unbatched ? unsqueeze(b, input, 0) : input;
  if (x.rank() != weight.rank()) throw InvalidProgram("the input's rank does not fit the weight's");
  window.stride = spread(window.stride, axes, 1);
  window.padding = spread(window.padding, axes, 0);
  window.padding_after = window.padding_after.empty() ? window.padding : window.padding_after;
  window.dilation = spread(window.dilation, axes, 1);
  window.output_padding = spread(window.output_padding, axes, 0);
  ir::Conv attributes;
  attributes.stride = window.stride;
  attributes.dilation = window.dilation;
  attributes.groups = window.groups;
  attributes.transposed = window.transposed;
  Shape shape = {x.size(0), window.transposed ? weight.size(1) * window.groups : weight.size(0)};
  for (std::size_t i = 0; i < axes; ++i) {
    const Size& size = x.shape[i + 2];
    const Size span = (weight.shape[i + 2] - 1) * window.dilation[i] + 1;
    const Size before = window.padding[i];
    Size after = window.padding_after[i];
    if (window.transposed) {
      after = after - window.output_padding[i];
      shape.push_back((size - 1) * window.stride[i] + span - before - after);
    } else {
      shape.push_back(ir::floor_div(size + before + after - span, window.stride[i]) + 1);
    }
    attributes.padding_before.push_back(before);
    attributes.padding_after.push_back(after);
  }
  const Tensor result = with_bias(b, b.conv(x, weight, std::move(attributes), shape), bias);
  return unbatched ? squeeze(b, result, {0}) : result;
}

Outputs plain(Builder& b, const Arguments& arguments) {
  Window window;
  window.stride = arguments.integers("stride");
  window.padding = arguments.integers("padding");
  window.dilation = arguments.integers("dilation");
  window.groups = arguments.integer("groups");
  return convolve(b, arguments.tensor("input"), arguments.tensor("weight"),
                  arguments.optional_tensor("bias"), window);
}

/// padding='same' or 'valid'.
Outputs named_padding(Builder& b, const Arguments& arguments) {
  Window window;
  const Tensor& weight = arguments.tensor("weight");
  const std::size_t axes = static_cast<std::size_t>(weight.rank()) - 2;
  window.stride = arguments.integers("stride");
  window.dilation = spread(arguments.integers("dilation"), axes, 1);
  window.groups = arguments.integer("groups");
  const std::string padding = arguments.text("padding");
  for (std::size_t i = 0; i < axes; ++i) {
    std::int64_t total = 0;
    if (padding == "same")
      total = window.dilation[i] * (require_constant(weight.shape[i + 2], "the window") - 1);
    window.padding.push_back(total / 2);
    window.padding_after.push_back(total - total / 2);
  }
  return convolve(b, arguments.tensor("input"), weight, arguments.optional_tensor("bias"), window);
}

Outputs transposed(Builder& b, const Arguments& arguments) {
  Window window;
  window.transposed = true;
  window.stride = arguments.integers("stride");
  window.padding = arguments.integers("padding");
  window.output_padding = arguments.integers("output_padding");
  window.dilation = arguments.integers("dilation");
  window.groups = arguments.integer("groups");
  return convolve(b, arguments.tensor("input"), arguments.tensor("weight"),
                  arguments.optional_tensor("bias"), window);
}

}  // namespace

OPERATOR(conv,
         "conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] "
         "padding=0, SymInt[1] dilation=1, SymInt groups=1) -> Tensor",
         "conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] "
         "padding=0, SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
         "conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] "
         "padding=0, SymInt[3] dilation=1, SymInt groups=1) -> Tensor") {
  return plain(b, arguments);
}
OPERATOR(conv_padding,
         "conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, str "
         "padding='valid', SymInt[1] dilation=1, SymInt groups=1) -> Tensor",
         "conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, str "
         "padding='valid', SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
         "conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, str "
         "padding='valid', SymInt[3] dilation=1, SymInt groups=1) -> Tensor") {
  return named_padding(b, arguments);
}
OPERATOR(
    conv_transpose,
    "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, "
    "SymInt[1] "
    "padding=0, SymInt[1] output_padding=0, SymInt groups=1, SymInt[1] dilation=1) -> Tensor",
    "conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, "
    "SymInt[2] padding=0, SymInt[2] output_padding=0, SymInt groups=1, SymInt[2] dilation=1) -> "
    "Tensor",
    "conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, "
    "SymInt[3] padding=0, SymInt[3] output_padding=0, SymInt groups=1, SymInt[3] dilation=1) -> "
    "Tensor") {
  return transposed(b, arguments);
}
OPERATOR(
    convolution,
    "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
    "_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, "
    "bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor") {
  if (arguments.boolean("transposed")) return transposed(b, arguments);
  return plain(b, arguments);
}

}  // namespace tendon::aten
