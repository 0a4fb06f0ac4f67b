// Evenly spaced numbers, windows, positions in triangles.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

DType dtype_of(const Arguments& arguments) {
  return arguments.dtype("dtype").value_or(DType::kFloat32);
}

/// A number, or the number in a 0-d tensor.
Expr bound(Builder& b, const Arguments& arguments, std::string_view name, DType dtype) {
  if (const auto* tensor = std::get_if<Tensor>(&arguments.value(name))) {
    if (tensor->rank() != 0) {
      throw InvalidProgram("linspace only supports 0-dimensional start and end tensors");
    }
    return cast(dtype, b.load(*tensor, {}));
  }
  return b.scalar(arguments.scalar(name), dtype);
}

/// Element i of `steps` points from start to end. PyTorch counts from both ends, so that each is
/// met exactly; the ends are of the result's type first, and half types round at every step.
Tensor spaced(Builder& b, const Arguments& arguments, DType result,
              const std::function<Expr(Expr)>& finish) {
  const std::int64_t steps = arguments.integer("steps");
  if (steps < 0) throw InvalidProgram("number of steps must be non-negative");
  const DType compute = is_floating(result) ? compute_type(result) : DType::kFloat64;
  return b.map({Size(steps)}, [&](const Indices& i) {
    const auto rounded = [&](Expr x) { return cast(compute, cast(result, x)); };
    const auto stepped = [&](Expr x) { return is_floating(result) ? rounded(x) : x; };
    const Expr start = rounded(bound(b, arguments, "start", compute));
    const Expr end = rounded(bound(b, arguments, "end", compute));
    if (steps == 1) return cast(result, finish(start));
    const Expr step = stepped((end - start) / like(start, static_cast<double>(steps - 1)));
    const Expr forward = start + stepped(step * cast(compute, i[0]));
    const Expr backward =
        end - stepped(step * cast(compute, i[0] * std::int64_t{-1} + (steps - 1)));
    return cast(result, finish(select(i[0] < steps / 2, forward, backward)));
  });
}

/// Position along a window that is symmetric, or periodic: one longer, its last point left out.
Tensor window(Builder& b, const Arguments& arguments, bool periodic,
              const std::function<Expr(Expr position, double last)>& body) {
  const DType result = dtype_of(arguments), compute = compute_type(result);
  const std::int64_t length = arguments.integer("window_length");
  if (length < 0) throw InvalidProgram("window_length must be non-negative");
  return b.map({Size(length)}, [&](const Indices& i) {
    if (length == 1) return b.constant(result, 1.0);
    const auto last = static_cast<double>(periodic ? length : length - 1);
    return cast(result, body(cast(compute, i[0]), last));
  });
}

bool periodic(const Arguments& arguments) {
  for (const Arguments::Parameter& parameter : arguments.parameters) {
    if (parameter.name == "periodic") return arguments.boolean("periodic");
  }
  return true;
}

double number_or(const Arguments& arguments, std::string_view name, double otherwise) {
  for (const Arguments::Parameter& parameter : arguments.parameters) {
    if (parameter.name == name) return arguments.real(name);
  }
  return otherwise;
}

Expr cosine(Expr position, double last, double turns) {
  return unary(Op::kCos, position * (2 * std::numbers::pi * turns / last));
}

/// Rows and columns of a triangle's elements, row after row.
Tensor triangle(Builder& b, const Arguments& arguments, bool upper) {
  const std::int64_t rows = arguments.integer("row"), columns = arguments.integer("col");
  const std::int64_t offset = arguments.integer("offset");
  const DType result = arguments.dtype("dtype").value_or(DType::kInt64);
  const auto below = [&](std::int64_t row) {  // elements of the row under the diagonal's
    const std::int64_t count = row + offset + (upper ? 0 : 1);
    return std::min(std::max<std::int64_t>(count, 0), columns);
  };
  std::int64_t total = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    total += upper ? columns - below(row) : below(row);
  }
  const auto below_of = [&](Expr row) {
    const Expr count = row + (offset + (upper ? 0 : 1));
    return minimum(maximum(count, b.constant(DType::kInt64, 0)),
                   b.constant(DType::kInt64, columns));
  };
  if (total == 0) return full(b, {2, 0}, Scalar(std::int64_t{0}), result);
  const auto ends = b.scan(ir::ScanOp::kSum, 0, {Size(rows)}, [&](const Indices& i) {
    const Expr count = below_of(i[0]);
    return upper ? b.constant(DType::kInt64, columns) - count : count;
  })[0];
  // The row of an element is the number of rows that end at or before it.
  const Tensor row_of =
      b.reduce(ReduceOp::kSum, {Size(total)}, {Size(rows)},
               [&](const Indices& i) { return cast(DType::kInt64, b.load(ends, {i[1]}) <= i[0]); });
  return b.map({2, Size(total)}, [&](const Indices& i) {
    const Expr row = b.load(row_of, {i[1]});
    const Expr count = below_of(row);
    const Expr width = upper ? b.constant(DType::kInt64, columns) - count : count;
    const Expr begin = b.load(ends, {b.check_index(row, rows)}) - width;
    const Expr column = i[1] - begin;
    return cast(result, select(i[0] == 0, row, upper ? column + count : column));
  });
}

}  // namespace

#define TENDON_TENSOR_OPTIONS                                                                    \
  "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> " \
  "Tensor"

OPERATOR(linspace, "linspace(Scalar start, Scalar end, int steps, *, " TENDON_TENSOR_OPTIONS,
         "linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, " TENDON_TENSOR_OPTIONS,
         "linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, " TENDON_TENSOR_OPTIONS,
         "linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, " TENDON_TENSOR_OPTIONS) {
  return spaced(b, arguments, dtype_of(arguments), [](Expr x) { return x; });
}
OPERATOR(logspace,
         "logspace(Scalar start, Scalar end, int steps, float base=10.0, *, " TENDON_TENSOR_OPTIONS,
         "logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10.0, "
         "*, " TENDON_TENSOR_OPTIONS,
         "logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10.0, "
         "*, " TENDON_TENSOR_OPTIONS,
         "logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10.0, "
         "*, " TENDON_TENSOR_OPTIONS) {
  const DType result = dtype_of(arguments);
  const double given = arguments.real("base");
  const double base = is_floating(result) ? given : std::trunc(given);
  return spaced(b, arguments, result, [&](Expr x) {
    const Expr rounded = cast(x.dtype(), cast(is_floating(result) ? result : x.dtype(), x));
    return binary(Op::kPow, like(x, base), rounded);
  });
}
OPERATOR(range, "range.step(Scalar start, Scalar end, Scalar step=1, *, " TENDON_TENSOR_OPTIONS,
         "range(Scalar start, Scalar end, *, " TENDON_TENSOR_OPTIONS) {
  const double start = arguments.real("start"), end = arguments.real("end");
  const double step = number_or(arguments, "step", 1);
  if (step == 0) throw InvalidProgram("step must be nonzero");
  const DType result = dtype_of(arguments);
  const auto count = static_cast<std::int64_t>((end - start) / step + 1);
  return b.map({Size(std::max<std::int64_t>(count, 0))}, [&](const Indices& i) {
    return cast(result, cast(DType::kFloat64, i[0]) * step + start);
  });
}
OPERATOR(hann_window, "hann_window(int window_length, *, " TENDON_TENSOR_OPTIONS,
         "hann_window.periodic(int window_length, bool periodic, *, " TENDON_TENSOR_OPTIONS) {
  return window(b, arguments, periodic(arguments),
                [](Expr position, double last) { return 0.5 - cosine(position, last, 1) * 0.5; });
}
OPERATOR(hamming_window, "hamming_window(int window_length, *, " TENDON_TENSOR_OPTIONS,
         "hamming_window.periodic(int window_length, bool periodic, *, " TENDON_TENSOR_OPTIONS,
         "hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, "
         "*, " TENDON_TENSOR_OPTIONS,
         "hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float "
         "beta, *, " TENDON_TENSOR_OPTIONS) {
  const double alpha = number_or(arguments, "alpha", 0.54);
  const double beta = number_or(arguments, "beta", 0.46);
  return window(b, arguments, periodic(arguments), [&](Expr position, double last) {
    return alpha - cosine(position, last, 1) * beta;
  });
}
OPERATOR(blackman_window, "blackman_window(int window_length, *, " TENDON_TENSOR_OPTIONS,
         "blackman_window.periodic(int window_length, bool periodic, *, " TENDON_TENSOR_OPTIONS) {
  return window(b, arguments, periodic(arguments), [](Expr position, double last) {
    return cosine(position, last, 2) * 0.08 - cosine(position, last, 1) * 0.5 + 0.42;
  });
}
OPERATOR(bartlett_window, "bartlett_window(int window_length, *, " TENDON_TENSOR_OPTIONS,
         "bartlett_window.periodic(int window_length, bool periodic, *, " TENDON_TENSOR_OPTIONS) {
  return window(b, arguments, periodic(arguments), [](Expr position, double last) {
    const Expr rising = position * (2 / last);
    return minimum(rising, 2.0 - rising);
  });
}
OPERATOR(kaiser_window, "kaiser_window(int window_length, *, " TENDON_TENSOR_OPTIONS,
         "kaiser_window.periodic(int window_length, bool periodic, *, " TENDON_TENSOR_OPTIONS,
         "kaiser_window.beta(int window_length, bool periodic, float beta, "
         "*, " TENDON_TENSOR_OPTIONS) {
  const double beta = number_or(arguments, "beta", 12.0);
  return window(b, arguments, periodic(arguments), [&](Expr position, double last) {
    const Expr offset = position * (2 / last) - 1.0;
    const Expr inside = unary(Op::kSqrt, maximum(1.0 - offset * offset, like(offset, 0.0)));
    return unary(Op::kBesselI0, inside * beta) / unary(Op::kBesselI0, like(inside, beta));
  });
}
OPERATOR(tril_indices,
         "tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? "
         "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor") {
  return triangle(b, arguments, false);
}
OPERATOR(triu_indices,
         "triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? "
         "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor") {
  return triangle(b, arguments, true);
}

#undef TENDON_TENSOR_OPTIONS

}  // namespace tendon::aten
