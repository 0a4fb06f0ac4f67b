#include "aten/fourier.h"

#include <numbers>

#include "aten/index_tools.h"

namespace tendon::aten {

namespace {

/// [positions, frequencies]: the cosine (sine) of every frequency at every position of a signal of
/// `length`, by `weight`.
using Weight = std::function<Expr(Expr frequency, Expr value)>;
Tensor waves(Builder& b, Op op, const Size& rows, const Size& columns, const Size& length,
             DType dtype, bool frequencies_in_rows, const Weight& weight = nullptr) {
  return b.map({rows, columns}, [&](const Indices& i) {
    // Whole turns are taken off while the numbers are exact.
    const Expr step = remainder(i[0] * i[1], b.size(length));
    const Expr turns = cast(DType::kFloat64, step) / cast(DType::kFloat64, b.size(length));
    const Expr value = unary(op, turns * (2 * std::numbers::pi));
    return cast(dtype, weight ? weight(i[frequencies_in_rows ? 0 : 1], value) : value);
  });
}

Tensor combined(Builder& b, const Tensor& x, const Tensor& y, bool minus) {
  return elementwise(b, {x, y}, x.dtype, x.dtype,
                     [&](const std::vector<Expr>& e) { return minus ? e[0] - e[1] : e[0] + e[1]; });
}

Tensor negated(Builder& b, const Tensor& x) {
  return elementwise(b, {x}, x.dtype, x.dtype, [](const std::vector<Expr>& e) { return -e[0]; });
}

/// x with its axis multiplied by a matrix.
Tensor along(Builder& b, const Tensor& x, int axis, const Tensor& matrix) {
  const int last = x.rank() - 1;
  return transpose(b, matmul(b, transpose(b, x, axis, last), matrix), axis, last);
}

}  // namespace

ComplexParts parts_of(Builder& b, const Tensor& x) {
  if (x.complex()) return {real_part(b, x), imaginary_part(b, x)};
  return {cast(b, x, to_floating(x.dtype)), std::nullopt};
}

Tensor joined(Builder& b, const ComplexParts& parts) {
  return make_complex(b, parts.real,
                      parts.imaginary ? *parts.imaginary
                                      : full(b, parts.real.shape, Scalar(0.0), parts.real.dtype));
}

ComplexParts transform(Builder& b, const ComplexParts& x, int axis, Direction direction,
                       const Size& kept) {
  const Size& length = x.real.size(axis);
  const auto product = [&](const Tensor& part, Op op) {
    return along(b, part, axis, waves(b, op, length, kept, length, part.dtype, false));
  };
  const bool forward = direction == Direction::kForward;
  const Tensor real = product(x.real, Op::kCos), turned = product(x.real, Op::kSin);
  if (!x.imaginary) return {real, forward ? negated(b, turned) : turned};
  return {combined(b, real, product(*x.imaginary, Op::kSin), !forward),
          combined(b, product(*x.imaginary, Op::kCos), turned, forward)};
}

Tensor transform_to_real(Builder& b, const ComplexParts& x, int axis, Direction direction,
                         const Size& length) {
  // A frequency and its mirror image are one, but for 0 and, in the middle of an even number, the
  // highest.
  const Weight both = [&](Expr frequency, Expr value) {
    const Expr alone = frequency == 0 || frequency * 2 == b.size(length);
    return select(alone, value, value * 2.0);
  };
  const auto product = [&](const Tensor& part, Op op) {
    return along(b, part, axis,
                 waves(b, op, part.size(axis), length, length, part.dtype, true, both));
  };
  const Tensor real = product(x.real, Op::kCos);
  if (!x.imaginary) return real;
  return combined(b, real, product(*x.imaginary, Op::kSin), direction == Direction::kBackward);
}

ComplexParts scaled_down(Builder& b, const ComplexParts& x, const Size& count, double exponent) {
  if (exponent == 0) return x;
  const auto scaled = [&](const Tensor& part) {
    return elementwise(b, {part}, part.dtype, part.dtype, [&](const std::vector<Expr>& e) {
      const Expr n = cast(part.dtype, b.size(count));
      return e[0] / (exponent == 1 ? n : unary(Op::kSqrt, n));
    });
  };
  return {scaled(x.real), x.imaginary ? std::optional(scaled(*x.imaginary)) : std::nullopt};
}

}  // namespace tendon::aten
