// Elementwise helpers.
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

Shape pair_shape(const Shape& shape) {
  Shape result = shape;
  result.push_back(2);
  return result;
}

/// The graph value of a complex tensor as a real tensor of its own.
Tensor underlying(const Tensor& x) {
  return x.complex() ? Tensor{x.value, x.component(), pair_shape(x.shape)} : x;
}

Tensor part(Builder& b, const Tensor& x, int which) {
  const Tensor pairs = underlying(x);
  return b.map(x.shape, [&](const Indices& i) {
    Indices position = i;
    position.push_back(b.constant(DType::kInt64, which));
    return b.load(pairs, position);
  });
}

}  // namespace

Tensor real_part(Builder& b, const Tensor& x) { return x.complex() ? part(b, x, 0) : x; }

Tensor imaginary_part(Builder& b, const Tensor& x) {
  if (x.complex()) return part(b, x, 1);
  return full(b, x.shape, Scalar(0.0), x.dtype);
}

Tensor make_complex(Builder& b, const Tensor& real, const Tensor& imaginary) {
  const DType component = real.dtype;
  const Tensor pairs = b.map(pair_shape(real.shape), [&](const Indices& i) {
    const Indices position(i.begin(), i.end() - 1);
    return select(i.back() == 0, b.load(real, position), b.load(imaginary, position));
  });
  const DType dtype = component == DType::kFloat64   ? DType::kComplex128
                      : component == DType::kFloat16 ? DType::kComplex32
                                                     : DType::kComplex64;
  return Tensor{pairs.value, dtype, real.shape};
}

Tensor cast(Builder& b, const Tensor& x, DType dtype) {
  if (x.dtype == dtype) return x;
  if (is_complex(dtype)) {
    const DType component = complex_component(dtype);
    return make_complex(b, cast(b, real_part(b, x), component),
                        cast(b, imaginary_part(b, x), component));
  }
  const Tensor real = real_part(b, x);
  return b.map(real.shape, [&](const Indices& i) { return cast(dtype, b.load(real, i)); });
}

Tensor elementwise(Builder& b, std::span<const Tensor> tensors, DType compute, DType result,
                   const ElementBody& body) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) {
    if (tensor.complex()) throw Unsupported("complex tensors");
    shapes.push_back(tensor.shape);
  }
  const Shape shape = broadcast_shapes(b, shapes);
  return b.map(shape, [&](const Indices& i) {
    std::vector<Expr> elements;
    for (const Tensor& tensor : tensors) {
      elements.push_back(cast(compute, b.load_broadcast(tensor, i)));
    }
    return cast(result, body(elements));
  });
}

Tensor elementwise_floating(Builder& b, std::span<const Tensor> tensors, const ElementBody& body) {
  std::vector<Operand> operands(tensors.begin(), tensors.end());
  const DType result = to_floating(result_type(operands));
  return elementwise(b, tensors, compute_type(result), result, body);
}

Tensor full(Builder& b, const Shape& shape, const Scalar& value, DType dtype) {
  if (is_complex(dtype)) {
    const DType component = complex_component(dtype);
    double imaginary = 0;
    Scalar real = value;
    if (const auto* complex = std::get_if<std::complex<double>>(&value)) {
      real = complex->real();
      imaginary = complex->imag();
    }
    return make_complex(b, full(b, shape, real, component),
                        full(b, shape, Scalar(imaginary), component));
  }
  return b.map(shape, [&](const Indices&) { return b.scalar(value, dtype); });
}

Tensor scalar_tensor(Builder& b, const Scalar& scalar, DType dtype) {
  return full(b, {}, scalar, dtype);
}

}  // namespace tendon::aten
