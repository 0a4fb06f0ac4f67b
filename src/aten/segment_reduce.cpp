// Reductions over consecutive segments of an axis.
#include <cmath>

#include "aten/index_tools.h"
#include "aten/operator.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

/// int64 [..., segments]: where each segment begins, and where it ends.
struct Segments {
  Tensor begin, end;
};

Segments from_lengths(Builder& b, const Tensor& lengths, const Size& extent, bool checked) {
  const int axis = lengths.rank() - 1;
  const Tensor widths = cast(b, lengths, DType::kInt64);
  const Tensor end = b.scan(ir::ScanOp::kSum, axis, widths.shape,
                            [&](const Indices& i) { return b.load(widths, i); })[0];
  if (checked) {
    b.assert_tensor(b.reduce(ReduceOp::kAll, {}, widths.shape,
                             [&](const Indices& i) { return b.load(widths, i) >= 0; }),
                    "lengths contains negative value!");
    const Size last = widths.size(-1) - Size(1);
    if (!(widths.size(-1) == Size(0))) {
      const Shape rows(widths.shape.begin(), widths.shape.end() - 1);
      b.assert_tensor(
          b.reduce(ReduceOp::kAll, {}, rows,
                   [&](const Indices& i) {
                     Indices at = i;
                     at.push_back(b.size(last));
                     return b.load(end, at) == b.size(extent);
                   }),
          "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) "
          "when !unsafe.");
    }
  }
  const Tensor begin =
      b.map(widths.shape, [&](const Indices& i) { return b.load(end, i) - b.load(widths, i); });
  return {begin, end};
}

Segments from_offsets(Builder& b, const Tensor& offsets) {
  const Tensor bounds = cast(b, offsets, DType::kInt64);
  const Size count = bounds.size(-1) - Size(1);
  return {slice(b, bounds, -1, 0, count), slice(b, bounds, -1, 1, count)};
}

}  // namespace

OPERATOR(segment_reduce,
         "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, "
         "Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor") {
  const Tensor& data = arguments.tensor("data");
  const std::string name = arguments.text("reduce");
  const int axis = wrap_axis(arguments.integer("axis"), data.rank());
  const std::optional<Tensor> lengths = arguments.optional_tensor("lengths");
  const std::optional<Tensor> offsets = arguments.optional_tensor("offsets");
  if (arguments.has("indices")) {
    throw InvalidProgram("segment_reduce(): indices based reduction is not supported yet.");
  }
  if (!lengths && !offsets) {
    throw InvalidProgram("segment_reduce(): Either lengths or offsets must be defined.");
  }
  const bool mean = name == "mean";
  ReduceOp op = ReduceOp::kSum;
  if (name == "max") {
    op = ReduceOp::kMax;
  } else if (name == "min") {
    op = ReduceOp::kMin;
  } else if (name == "prod") {
    op = ReduceOp::kProduct;
  } else if (name != "sum" && !mean) {
    throw InvalidProgram("segment_reduce(): unknown reduction " + name);
  }
  const Size extent = data.size(axis);
  const Segments segments = offsets
                                ? from_offsets(b, *offsets)
                                : from_lengths(b, *lengths, extent, !arguments.boolean("unsafe"));
  if (segments.begin.rank() - 1 != axis) {
    throw InvalidProgram("segment_reduce(): Expected axis to be the last dimension of " +
                         std::string(offsets ? "offsets" : "lengths") + " but got " +
                         std::to_string(axis) + ".");
  }
  const auto a = static_cast<std::size_t>(axis);
  const DType compute = compute_type(data.dtype);
  Shape shape = data.shape;
  shape[a] = segments.begin.size(-1);
  const auto bounds_at = [&](const Tensor& bounds, const Indices& i) {
    return b.load(bounds, Indices(i.begin(), i.begin() + axis + 1));
  };
  const auto neutral = [&] {
    switch (op) {
      case ReduceOp::kMax:
        return lowest(b, compute);
      case ReduceOp::kMin:
        return highest(b, compute);
      case ReduceOp::kProduct:
        return cast(compute, b.constant(DType::kInt64, 1));
      default:
        return cast(compute, b.constant(DType::kInt64, 0));
    }
  };
  const Tensor total = b.reduce(op, shape, {extent}, [&](const Indices& i) {
    Indices at(i.begin(), i.end() - 1);
    at[a] = i.back();
    const Expr inside =
        bounds_at(segments.begin, i) <= i.back() && i.back() < bounds_at(segments.end, i);
    return select(inside, cast(compute, b.load(data, at)), neutral());
  });
  const std::optional<Scalar> initial = arguments.optional_scalar("initial");
  return b.map(shape, [&](const Indices& i) {
    Expr result = b.load(total, i);
    if (initial) {
      const Expr start = b.scalar(*initial, compute);
      result = op == ReduceOp::kMax       ? maximum(result, start)
               : op == ReduceOp::kMin     ? minimum(result, start)
               : op == ReduceOp::kProduct ? result * start
                                          : result + start;
    }
    if (mean) {
      const Expr length = bounds_at(segments.end, i) - bounds_at(segments.begin, i);
      const Expr empty = initial ? result : b.constant(compute, std::nan(""));
      result = select(length > 0, result / cast(compute, length), empty);
    }
    return cast(data.dtype, result);
  });
}

}  // namespace tendon::aten
