// Products of tensors of any rank.
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

Tensor flattened_batch(Builder& b, const Tensor& x) {
  const Shape batch(x.shape.begin(), x.shape.end() - 2);
  return reshape(b, x, {ir::element_count(batch), x.size(-2), x.size(-1)});
}

/// One product; `wide` leaves that of half types in float32, as it was accumulated.
Tensor product(Builder& b, const Tensor& x, const Tensor& y, bool wide) {
  if (!wide || !is_half(x.dtype)) return b.matmul(x, y);
  ir::Matmul matmul;
  matmul.epilogue = b.pool().accumulator(DType::kFloat32);
  Shape shape = x.shape;
  shape.back() = y.shape.back();
  return b.add(matmul, {x, y}, {{DType::kFloat32, shape}})[0];
}

/// Both of rank >= 2, real.
Tensor matrix_product(Builder& b, const Tensor& x, const Tensor& y, bool wide) {
  if (x.rank() == 2 && y.rank() == 2) return product(b, x, y, wide);
  const std::vector<Shape> batches = {Shape(x.shape.begin(), x.shape.end() - 2),
                                      Shape(y.shape.begin(), y.shape.end() - 2)};
  const Shape batch = broadcast_shapes(b, batches);
  Shape shape = batch;
  shape.push_back(x.size(-2));
  shape.push_back(y.size(-1));
  if (y.rank() == 2) {
    // One matrix for the whole batch: its rows follow one another.
    const Shape rows(x.shape.begin(), x.shape.end() - 1);
    const Tensor flat = reshape(b, x, {ir::element_count(rows), x.size(-1)});
    return reshape(b, product(b, flat, y, wide), shape);
  }
  const auto expanded = [&](const Tensor& t) {
    Shape full = batch;
    full.push_back(t.size(-2));
    full.push_back(t.size(-1));
    return expand(b, t, full);
  };
  const Tensor left = flattened_batch(b, expanded(x));
  const Tensor right = flattened_batch(b, expanded(y));
  return reshape(b, product(b, left, right, wide), shape);
}

void check_inner(const Tensor& x, const Tensor& y, int y_axis) {
  const auto same = ir::provably_equal(x.size(-1), y.size(y_axis));
  if (same.has_value() && !*same) {
    throw InvalidProgram("mat1 and mat2 shapes cannot be multiplied (" + ir::to_string(x.shape) +
                         " and " + ir::to_string(y.shape) + ")");
  }
}

Tensor any_product(Builder& b, const Tensor& x, const Tensor& y, bool wide);

Tensor complex_product(Builder& b, const Tensor& x, const Tensor& y) {
  const Tensor xr = real_part(b, x), xi = imaginary_part(b, x);
  const Tensor yr = real_part(b, y), yi = imaginary_part(b, y);
  const DType component = xr.dtype;
  const auto combine = [&](const Tensor& p, const Tensor& q, bool minus) {
    return elementwise(
        b, {p, q}, compute_type(component), component,
        [&](const std::vector<Expr>& e) { return minus ? e[0] - e[1] : e[0] + e[1]; });
  };
  const auto part = [&](const Tensor& p, const Tensor& q) { return any_product(b, p, q, true); };
  return make_complex(b, combine(part(xr, yr), part(xi, yi), true),
                      combine(part(xr, yi), part(xi, yr), false));
}

Tensor any_product(Builder& b, const Tensor& x, const Tensor& y, bool wide) {
  if (x.rank() == 0 || y.rank() == 0) {
    throw InvalidProgram("both arguments to matmul need to be at least 1D");
  }
  if (x.dtype != y.dtype) {
    throw InvalidProgram(
        "expected m1 and m2 to have the same dtype, but got: " + std::string(dtype_name(x.dtype)) +
        " != " + std::string(dtype_name(y.dtype)));
  }
  if (x.complex()) return complex_product(b, x, y);
  if (x.rank() == 1) {
    const Tensor result = any_product(b, unsqueeze(b, x, 0), y, wide);
    return squeeze(b, result, {y.rank() == 1 ? 0 : result.rank() - 2});
  }
  if (y.rank() == 1) {
    check_inner(x, y, 0);
    const Tensor result = matrix_product(b, x, unsqueeze(b, y, 1), wide);
    return squeeze(b, result, {result.rank() - 1});
  }
  check_inner(x, y, -2);
  return matrix_product(b, x, y, wide);
}

}  // namespace

Tensor matmul(Builder& b, const Tensor& x, const Tensor& y) { return any_product(b, x, y, false); }

Tensor wide_matmul(Builder& b, const Tensor& x, const Tensor& y) {
  return any_product(b, x, y, true);
}

Tensor linear(Builder& b, const Tensor& x, const Tensor& weight,
              const std::optional<Tensor>& bias) {
  if (x.complex()) throw Unsupported("complex numbers");
  const Shape rows(x.shape.begin(), x.shape.end() - 1);
  Shape shape = rows;
  Tensor matrix = weight.rank() == 1 ? unsqueeze(b, weight, 0) : weight;
  check_inner(x, matrix, -1);
  const Tensor flat = reshape(b, x, {ir::element_count(rows), x.size(-1)});
  // The bias meets the product before it is rounded.
  Tensor result = product(b, flat, transpose(b, matrix, 0, 1), bias.has_value());
  if (bias) {
    result = elementwise(b, {result, *bias}, compute_type(x.dtype), x.dtype,
                         [](const std::vector<Expr>& e) { return e[0] + e[1]; });
  }
  if (weight.rank() > 1) shape.push_back(weight.size(0));
  return reshape(b, result, shape);
}

}  // namespace tendon::aten
