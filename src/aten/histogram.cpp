// Counting by value: histograms, bin counts.
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

struct Range {
  Tensor low, high;  // 0-d
};

/// The given range, or that of the data if it is empty; widened by `margin` on both sides if it is
/// empty still.
Range range_of(Builder& b, const Tensor& x, double low, double high, double margin) {
  const DType type = x.dtype;
  if (low != high) return {full(b, {}, Scalar(low), type), full(b, {}, Scalar(high), type)};
  Tensor smallest = full(b, {}, Scalar(low), type), largest = smallest;
  if (ir::element_count(x.shape) != Size(0)) {
    const std::vector<int> axes = wrap_axes(std::nullopt, x.rank());
    smallest = cast(b, reduce(b, ReduceOp::kMin, x, axes, false, compute_type(type)), type);
    largest = cast(b, reduce(b, ReduceOp::kMax, x, axes, false, compute_type(type)), type);
  }
  const auto widened = [&](const Tensor& t, double by) {
    return b.map({}, [&](const Indices&) {
      const DType compute = compute_type(type);
      const auto number = [&](const Tensor& x) { return cast(compute, b.load(x, {})); };
      const Expr value = number(t);
      return cast(type, select(number(smallest) == number(largest), value + by, value));
    });
  };
  return {widened(smallest, -margin), widened(largest, margin)};
}

/// Adds each element's weight (1 without weights) to the bin at `position`, where it is inside.
Tensor accumulate(Builder& b, const Tensor& x, const std::optional<Tensor>& weight,
                  const Size& bins, const Range& range, const std::function<Expr(Expr)>& position) {
  const Tensor zeros = full(b, {bins}, Scalar(0.0), x.dtype);
  return b.scatter(ir::ScatterOp::kAdd, zeros, x.shape, [&](const Indices& i) {
    const DType compute = compute_type(x.dtype);
    const Expr value = b.load(x, i), number = cast(compute, value);
    const Expr inside = number >= cast(compute, b.load(range.low, {})) &&
                        number <= cast(compute, b.load(range.high, {}));
    const Expr bin = select(inside, position(value), b.constant(DType::kInt64, 0));
    const Expr clamped = minimum(maximum(bin, b.constant(DType::kInt64, 0)), b.size(bins - 1));
    return Builder::ScatterPoint{{b.check_index(clamped, bins)},
                                 weight ? cast(x.dtype, b.load(*weight, i)) : like(value, 1.0),
                                 inside};
  });
}

Expr linear_position(Builder& b, Expr value, const Range& range, std::int64_t bins) {
  // Half types are rounded at every step.
  const DType type = value.dtype(), compute = compute_type(type);
  const auto wide = [&](Expr x) { return cast(compute, cast(type, x)); };
  const Expr low = wide(b.load(range.low, {})), high = wide(b.load(range.high, {}));
  const Expr scaled = wide(wide(wide(value) - low) * static_cast<double>(bins));
  return cast(DType::kInt64, wide(scaled / wide(high - low)));
}

/// bins + 1 edges from low to high, counted from both ends as linspace does.
Tensor edges_of(Builder& b, const Range& range, std::int64_t bins, DType type) {
  return b.map({Size(bins + 1)}, [&](const Indices& i) {
    const Expr low = b.load(range.low, {}), high = b.load(range.high, {});
    const Expr step = (high - low) / like(low, static_cast<double>(bins));
    const Expr forward = low + step * cast(type, i[0]);
    const Expr backward = high - step * cast(type, i[0] * std::int64_t{-1} + bins);
    return select(i[0] < (bins + 1) / 2, forward, backward);
  });
}

/// Counts as a density: they integrate to 1.
Tensor density_of(Builder& b, const Tensor& counts, const Tensor& edges) {
  const Tensor total = reduce(b, ReduceOp::kSum, counts, {0}, false, counts.dtype);
  return b.map(counts.shape, [&](const Indices& i) {
    const Expr width = b.load(edges, {i[0] + 1}) - b.load(edges, {i[0]});
    return b.load(counts, i) / b.load(total, {}) / width;
  });
}

void check_floating(const Tensor& x, std::string_view name) {
  if (!is_floating(x.dtype) || is_half(x.dtype)) {
    throw Unsupported(std::string(name) + " of " + std::string(dtype_name(x.dtype)));
  }
}

}  // namespace

OPERATOR(histc, "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (!is_floating(self.dtype)) throw InvalidProgram("histc is not implemented for integers");
  const std::int64_t bins = arguments.integer("bins");
  const Range range = range_of(b, self, arguments.real("min"), arguments.real("max"), 1.0);
  return accumulate(b, self, std::nullopt, bins, range,
                    [&](Expr x) { return linear_position(b, x, range, bins); });
}
OPERATOR(histogram,
         "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, "
         "bool density=False) -> (Tensor hist, Tensor bin_edges)") {
  const Tensor& self = arguments.tensor("self");
  check_floating(self, "histogram");
  const std::int64_t bins = arguments.integer("bins");
  const std::vector<double> given =
      arguments.optional_reals("range").value_or(std::vector<double>{0.0, 0.0});
  if (given.size() != 2) throw InvalidProgram("torch.histogram(): expected a range of two numbers");
  const Range range = range_of(b, self, given[0], given[1], 0.5);
  const Tensor edges = edges_of(b, range, bins, self.dtype);
  const Tensor counts =
      accumulate(b, self, arguments.optional_tensor("weight"), bins, range, [&](Expr x) {
        // The linear guess may be one off the edges as they are rounded: look at its neighbours.
        const Expr guess = linear_position(b, x, range, bins);
        const auto edge = [&](std::int64_t offset) {
          const Expr at = minimum(maximum(guess + offset, b.constant(DType::kInt64, 0)),
                                  b.constant(DType::kInt64, bins));
          return b.load(edges, {b.check_index(at, bins + 1)});
        };
        const Expr up = guess < bins && x >= edge(1);
        const Expr down = guess > 0 && x < edge(0);
        const Expr one = b.constant(DType::kInt64, 1), zero = b.constant(DType::kInt64, 0);
        return guess + select(up, one, zero) - select(down, one, zero);
      });
  return {arguments.boolean("density") ? density_of(b, counts, edges) : counts, edges};
}
OPERATOR(histogram_bins,
         "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool "
         "density=False) -> (Tensor hist, Tensor bin_edges)") {
  const Tensor &self = arguments.tensor("self"), &edges = arguments.tensor("bins");
  check_floating(self, "histogram");
  const Size count = edges.size(0);
  const Range range = {select(b, edges, 0, 0), select(b, edges, 0, count - 1)};
  // The bin is the number of edges up to the element, less one.
  Shape shape = self.shape;
  const Tensor flat = reshape(b, self, {ir::element_count(shape)});
  const Tensor positions = b.reduce(ReduceOp::kSum, flat.shape, {count}, [&](const Indices& i) {
    return cast(DType::kInt64, b.load(edges, {i[1]}) <= b.load(flat, {i[0]}));
  });
  const auto weight = arguments.optional_tensor("weight");
  const Tensor zeros = full(b, {count - 1}, Scalar(0.0), self.dtype);
  const Tensor counts = b.scatter(ir::ScatterOp::kAdd, zeros, flat.shape, [&](const Indices& i) {
    const Expr value = b.load(flat, i);
    const Expr inside = value >= b.load(range.low, {}) && value <= b.load(range.high, {});
    const Expr bin =
        minimum(maximum(b.load(positions, i) - 1, b.constant(DType::kInt64, 0)), b.size(count - 2));
    const Expr amount =
        weight
            ? cast(self.dtype, b.load(reshape(b, *weight, {ir::element_count(weight->shape)}), i))
            : like(value, 1.0);
    return Builder::ScatterPoint{{b.check_index(bin, count - 1)}, amount, inside};
  });
  return {arguments.boolean("density") ? density_of(b, counts, edges) : counts, edges};
}
OPERATOR(bincount, "bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const auto weights = arguments.optional_tensor("weights");
  if (self.rank() != 1 || !is_integer(self.dtype)) {
    throw InvalidProgram("bincount only supports 1-d non-negative integral inputs.");
  }
  const DType result = !weights                            ? DType::kInt64
                       : weights->dtype == DType::kFloat32 ? DType::kFloat32
                                                           : DType::kFloat64;
  const Size least = arguments.size("minlength");
  if (self.size(0) == Size(0)) {
    Outputs zeros = full(b, {least}, Scalar(std::int64_t{0}), result);
    zeros.unlike_export = true;
    return zeros;
  }
  const Tensor largest = reduce(b, ReduceOp::kMax, self, {0}, false, DType::kInt64);
  const Tensor smallest = reduce(b, ReduceOp::kMin, self, {0}, false, DType::kInt64);
  b.assert_tensor(b.map({}, [&](const Indices&) { return b.load(smallest, {}) >= 0; }),
                  "bincount only supports 1-d non-negative integral inputs.");
  const Tensor length =
      b.map({}, [&](const Indices&) { return maximum(b.load(largest, {}) + 1, b.size(least)); });
  const auto& expected = arguments.expected_shapes();
  std::optional<Size> name;
  if (!expected.empty() && expected[0] && expected[0]->size() == 1) name = (*expected[0])[0];
  const Size bins = b.item(length, name);
  const Tensor zeros = full(b, {bins}, Scalar(std::int64_t{0}), result);
  // Export records the input's type for counts; they are int64.
  Outputs outputs = b.scatter(ir::ScatterOp::kAdd, zeros, self.shape, [&](const Indices& i) {
    return Builder::ScatterPoint{
        {b.check_index(cast(DType::kInt64, b.load(self, i)), bins)},
        weights ? cast(result, b.load(*weights, i)) : b.constant(result, std::int64_t{1}),
        std::nullopt};
  });
  outputs.unlike_export = true;
  return outputs;
}

}  // namespace tendon::aten
