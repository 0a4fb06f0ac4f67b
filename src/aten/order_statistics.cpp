// Medians, modes, k-th values: by sorting.
#include <limits>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

Expr is_nan(Expr x) {
  return is_floating(x.dtype()) ? unary(Op::kIsNan, x) : x.builder->truth(false);
}

/// `index` (over the other axes) with a position along `axis`.
Indices along(const Indices& index, int axis, Expr position) {
  Indices result = index;
  result.insert(result.begin() + axis, position);
  return result;
}

Shape without(const Shape& shape, int axis) {
  Shape result = shape;
  result.erase(result.begin() + axis);
  return result;
}

struct Chosen {
  Tensor values, indices;
};

/// Element `position(i)` along the axis of the sorted tensor, and where it was.
Chosen choose(Builder& b, const Tensor& self, int axis, const Builder::Body& position) {
  const auto [sorted, order] = b.sort(self, axis, false);
  const Shape shape = without(self.shape, axis);
  const auto pick = [&](const Tensor& from) {
    return b.map(shape,
                 [&](const Indices& i) { return b.load(from, along(i, axis, position(i))); });
  };
  return {pick(sorted), pick(order)};
}

void check_not_empty(const Tensor& x, int axis, std::string_view name) {
  if (x.size(axis) == Size(0)) {
    throw InvalidProgram(std::string(name) + "(): Expected reduction dim " + std::to_string(axis) +
                         " to have non-zero size.");
  }
}

/// The lower median. With NaN about: the first NaN, or (`ignore`) the median of the others.
Chosen median(Builder& b, const Tensor& self, int axis, bool ignore) {
  check_not_empty(self, axis, ignore ? "nanmedian" : "median");
  const Size size = self.size(axis);
  const Size middle = ir::floor_div(size - 1, 2);
  if (!is_floating(self.dtype)) {
    return choose(b, self, axis, [&](const Indices&) { return b.size(middle); });
  }
  const Shape shape = without(self.shape, axis);
  // NaN sorts last.
  const Tensor numbers = b.reduce(ReduceOp::kSum, shape, {size}, [&](const Indices& i) {
    const Indices kept(i.begin(), i.end() - 1);
    const Expr x = b.load(self, along(kept, axis, i.back()));
    return cast(DType::kInt64, !is_nan(cast(compute_type(self.dtype), x)));
  });
  return choose(b, self, axis, [&](const Indices& i) {
    const Expr count = b.load(numbers, i);
    if (ignore) {
      return maximum(floor_divide(count - 1, b.constant(DType::kInt64, 2)),
                     b.constant(DType::kInt64, 0));
    }
    return select(count == b.size(size), b.size(middle), minimum(count, b.size(size - 1)));
  });
}

Outputs with_axis(Builder& b, const Chosen& chosen, int axis, bool keep) {
  if (!keep) return {chosen.values, chosen.indices};
  return {unsqueeze(b, chosen.values, axis), unsqueeze(b, chosen.indices, axis)};
}

/// A 0-d tensor is its own order statistic, at position 0.
Outputs of_one(Builder& b, const Tensor& self) {
  return {self, full(b, {}, Scalar(std::int64_t{0}), DType::kInt64)};
}

Outputs median(Builder& b, const Arguments& arguments, bool ignore) {
  const Tensor& self = arguments.tensor("self");
  const int axis = wrap_axis(arguments.integer("dim"), self.rank());
  if (self.rank() == 0) return of_one(b, self);
  return with_axis(b, median(b, self, axis, ignore), axis, arguments.boolean("keepdim"));
}

Outputs median_of_all(Builder& b, const Arguments& arguments, bool ignore) {
  const Tensor& self = arguments.tensor("self");
  if (self.rank() == 0) return self;
  const Size count = ir::element_count(self.shape);
  if (count == Size(0)) {
    if (!is_floating(self.dtype)) throw InvalidProgram("median() input tensor cannot be empty");
    return full(b, {}, Scalar(std::numeric_limits<double>::quiet_NaN()), self.dtype);
  }
  return median(b, reshape(b, self, {count}), 0, ignore).values;
}

}  // namespace

OPERATOR(median, "median(Tensor self) -> Tensor") { return median_of_all(b, arguments, false); }
OPERATOR(nanmedian, "nanmedian(Tensor self) -> Tensor") {
  return median_of_all(b, arguments, true);
}
OPERATOR(
    median_dim,
    "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)") {
  return median(b, arguments, false);
}
OPERATOR(
    nanmedian_dim,
    "nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)") {
  return median(b, arguments, true);
}
OPERATOR(kthvalue,
         "kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, "
         "Tensor indices)") {
  const Tensor& self = arguments.tensor("self");
  const int axis = wrap_axis(arguments.integer("dim"), self.rank());
  if (self.rank() == 0) return of_one(b, self);
  const Size k = arguments.size("k");
  b.assert_size(ir::logical_and(ir::less_equal(1, k), ir::less_equal(k, self.size(axis))),
                "kthvalue(): selected number k out of range for dimension " + std::to_string(axis));
  return with_axis(b, choose(b, self, axis, [&](const Indices&) { return b.size(k - 1); }), axis,
                   arguments.boolean("keepdim"));
}
OPERATOR(mode,
         "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)") {
  const Tensor& self = arguments.tensor("self");
  const int axis = wrap_axis(arguments.integer("dim"), self.rank());
  if (self.rank() == 0) return of_one(b, self);
  check_not_empty(self, axis, "mode");
  const auto [sorted, order] = b.sort(self, axis, false);
  const Size size = self.size(axis);
  const DType compute = compute_type(self.dtype);
  // How often the element at each sorted position occurs, counted at the last of its run.
  const Tensor counts =
      b.reduce(ReduceOp::kSum, self.shape, {size}, [&, s = sorted](const Indices& i) {
        const Indices own(i.begin(), i.end() - 1);
        Indices other = own, next = own;
        const auto at = static_cast<std::size_t>(axis);
        other[at] = i.back();
        const Expr last = own[at] == b.size(size - 1);
        next[at] = minimum(own[at] + 1, b.size(size - 1));
        const Expr x = cast(compute, b.load(s, own));
        const Expr ends = last || x != cast(compute, b.load(s, next));
        return cast(DType::kInt64, ends && x == cast(compute, b.load(s, other)));
      });
  const Tensor best = reduce(b, ReduceOp::kArgMax, counts, {axis}, false, DType::kInt64);
  const Shape shape = without(self.shape, axis);
  const auto pick = [&](const Tensor& from) {
    return b.map(shape, [&](const Indices& i) {
      const Expr position = b.check_index(b.load(best, i), size);
      return b.load(from, along(i, axis, position));
    });
  };
  return with_axis(b, {pick(sorted), pick(order)}, axis, arguments.boolean("keepdim"));
}

}  // namespace tendon::aten
