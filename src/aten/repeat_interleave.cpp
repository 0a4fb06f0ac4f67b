// repeat_interleave, one_hot, vander-like: operators whose result is built from counts.
#include "aten/index_tools.h"
#include "aten/operator.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

/// For every element of the result of repeat_interleave, which element it comes from: the number of
/// cumulative sums of `repeats` that do not exceed its position.
Tensor interleaved_positions(Builder& b, const Tensor& repeats, const std::optional<Size>& given,
                             const std::optional<Size>& expected) {
  if (repeats.rank() > 1) {
    throw InvalidProgram("repeat_interleave only accept 1D vector as repeat");
  }
  if (repeats.dtype != DType::kInt64 && repeats.dtype != DType::kInt32) {
    throw InvalidProgram("repeats has to be Long or Int tensor");
  }
  const Tensor counts =
      cast(b, repeats.rank() == 0 ? unsqueeze(b, repeats, 0) : repeats, DType::kInt64);
  const Size n = counts.size(0);
  if (n == Size(0)) return full(b, {Size(0)}, std::int64_t{0}, DType::kInt64);
  b.assert_tensor(b.reduce(ReduceOp::kAll, {}, {n},
                           [&](const Indices& index) { return b.load(counts, index) >= 0; }),
                  "repeats can not be negative");
  const Tensor ends = b.scan(ir::ScanOp::kSum, 0, {n},
                             [&](const Indices& index) { return b.load(counts, index); })[0];
  const Size total = given ? *given : b.item(select(b, ends, 0, n - Size(1)), expected);
  return b.reduce(ReduceOp::kSum, {total}, {n}, [&](const Indices& index) {
    return cast(DType::kInt64, b.load(ends, {index[1]}) <= index[0]);
  });
}

std::optional<Size> expected_size(const Arguments& arguments, int axis) {
  const auto& shapes = arguments.expected_shapes();
  if (shapes.empty() || !shapes[0]) return std::nullopt;
  const Shape& shape = *shapes[0];
  if (axis >= static_cast<int>(shape.size())) return std::nullopt;
  return shape[static_cast<std::size_t>(axis)];
}

/// The tensor and axis that repeat_interleave works on: all elements where no axis is given.
std::pair<Tensor, int> interleaved_axis(Builder& b, const Arguments& arguments) {
  const Tensor& self = arguments.tensor("self");
  const auto dim = arguments.optional_integer("dim");
  if (!dim) return {flatten(b, self), 0};
  if (self.rank() == 0) return {unsqueeze(b, self, 0), wrap_axis(*dim, 1)};
  return {self, wrap_axis(*dim, self.rank())};
}

}  // namespace

OPERATOR(repeat_interleave,
         "repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor") {
  return interleaved_positions(b, arguments.tensor("repeats"),
                               arguments.optional_size("output_size"), expected_size(arguments, 0));
}
OPERATOR(repeat_interleave_self_tensor,
         "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? "
         "output_size=None) -> Tensor") {
  const auto [x, axis] = interleaved_axis(b, arguments);
  const auto a = static_cast<std::size_t>(axis);
  const Tensor& repeats = arguments.tensor("repeats");
  Tensor counts = repeats;
  if (repeats.rank() == 0 || (repeats.rank() == 1 && repeats.size(0) == Size(1))) {
    counts = expand(b, reshape(b, repeats, {Size(1)}), {x.shape[a]});
  } else if (repeats.rank() == 1) {
    require(b, ir::equal(repeats.size(0), x.shape[a]),
            "repeats must have the same size as input along dim, but got repeats.size(0) = " +
                repeats.size(0).to_string() + " and input.size(" + std::to_string(axis) +
                ") = " + x.shape[a].to_string());
  }
  const Tensor positions = interleaved_positions(b, counts, arguments.optional_size("output_size"),
                                                 expected_size(arguments, axis));
  Shape shape = x.shape;
  shape[a] = positions.size(0);
  const Tensor source = x;
  return rearrange(b, source, shape, [&](const Indices& index) {
    Indices at = index;
    at[a] =
        b.check_index(b.load(positions, {index[a]}), source.shape[a],
                      {.wrap = false, .message = "allocated size does not match required size"});
    return at;
  });
}
OPERATOR(repeat_interleave_self_int,
         "repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? "
         "output_size=None) -> Tensor") {
  const auto [x, axis] = interleaved_axis(b, arguments);
  const auto a = static_cast<std::size_t>(axis);
  const Size repeats = arguments.size("repeats");
  require(b, ir::less_equal(Size(0), repeats),
          "Repeats must be non-negative, got " + repeats.to_string());
  Shape shape = x.shape;
  shape[a] = shape[a] * repeats;
  return rearrange(b, x, shape, [&](const Indices& index) {
    Indices at = index;
    at[a] = floor_divide(index[a], b.size(repeats));
    return at;
  });
}

OPERATOR(one_hot, "one_hot(Tensor self, int num_classes=-1) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (self.dtype != DType::kInt64) {
    throw InvalidProgram("one_hot is only applicable to index tensor of type LongTensor.");
  }
  std::int64_t classes = arguments.integer("num_classes");
  Size count = classes;
  if (classes == -1) {
    if (ir::element_count(self.shape) == Size(0)) {
      throw InvalidProgram("Can not infer total number of classes from empty tensor.");
    }
    const Tensor largest = b.reduce(ReduceOp::kMax, {}, self.shape,
                                    [&](const Indices& index) { return b.load(self, index); });
    const Tensor total = b.map({}, [&](const Indices&) { return b.load(largest, {}) + 1; });
    count = b.item(total, expected_size(arguments, self.rank()));
  } else if (classes <= 0) {
    throw InvalidProgram("num_classes should be positive");
  }
  Shape shape = self.shape;
  shape.push_back(count);
  return b.map(shape, [&](const Indices& index) {
    const Indices at(index.begin(), index.end() - 1);
    const Expr position =
        b.check_index(b.load(self, at), count,
                      {.wrap = false, .message = "Class values must be smaller than num_classes."});
    return cast(DType::kInt64, position == index.back());
  });
}

}  // namespace tendon::aten
