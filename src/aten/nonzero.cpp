// Positions of elements that are not zero, and selection by masks: sizes that only the data knows.
#include "aten/index_list.h"
#include "aten/operator.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

void require_mask(const Tensor& mask, const std::string& message) {
  if (mask.dtype != DType::kBool) throw InvalidProgram(message);
}

/// Flat positions of the elements that are not zero (NaN is not).
Tensor nonzero_positions(Builder& b, const Tensor& self, const std::optional<Size>& expected) {
  const Tensor x = self.rank() == 0 ? reshape(b, self, {Size(1)}) : self;
  return b.compact(cast(b, x, DType::kBool), expected);
}

/// Row r, column c: position along axis c of the r-th element, given its flat position.
Expr coordinate(Builder& b, Expr flat, Expr column, const Shape& shape) {
  Expr result = b.constant(DType::kInt64, 0);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    result = select(column == static_cast<std::int64_t>(axis), mask_column(b, flat, shape, axis),
                    result);
  }
  return result;
}

Shape broadcast_with_mask(Builder& b, const Tensor& self, const Tensor& mask) {
  const std::vector<Shape> shapes = {self.shape, mask.shape};
  return broadcast_shapes(b, shapes);
}

}  // namespace

OPERATOR(nonzero, "nonzero(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor flat = nonzero_positions(b, self, expected_data_size(arguments));
  return b.map({flat.shape[0], Size(self.rank())}, [&](const Indices& i) {
    return coordinate(b, b.load(flat, {i[0]}), i[1], self.shape);
  });
}
OPERATOR(argwhere, "argwhere(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor flat = nonzero_positions(b, self, expected_data_size(arguments));
  return b.map({flat.shape[0], Size(self.rank())}, [&](const Indices& i) {
    return coordinate(b, b.load(flat, {i[0]}), i[1], self.shape);
  });
}
OPERATOR(nonzero_numpy, "nonzero_numpy(Tensor self) -> Tensor[]",
         "where(Tensor condition) -> Tensor[]") {
  const Tensor& given =
      arguments.has("condition") ? arguments.tensor("condition") : arguments.tensor("self");
  const Tensor self = given.rank() == 0 ? reshape(b, given, {Size(1)}) : given;
  const Tensor flat = nonzero_positions(b, self, expected_data_size(arguments));
  std::vector<Tensor> columns;
  for (std::size_t axis = 0; axis < self.shape.size(); ++axis) {
    columns.push_back(b.map(flat.shape, [&](const Indices& i) {
      return mask_column(b, b.load(flat, i), self.shape, axis);
    }));
  }
  return columns;
}
OPERATOR(nonzero_static,
         "nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Size size = arguments.size("size");
  require(b, ir::less_equal(Size(0), size),
          "nonzero_static: 'size' must be an non-negative integer");
  const std::int64_t fill = arguments.integer("fill_value");
  const Tensor flat = nonzero_positions(b, self, std::nullopt);
  return b.map({size, Size(self.rank())}, [&](const Indices& i) {
    const Expr found = i[0] < b.size(flat.shape[0]);
    const Expr position = b.masked_load(flat, found, {i[0]});
    return select(found, coordinate(b, position, i[1], self.shape),
                  b.constant(DType::kInt64, fill));
  });
}

OPERATOR(masked_select, "masked_select(Tensor self, Tensor mask) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor& mask = arguments.tensor("mask");
  require_mask(mask, "masked_select: expected BoolTensor for mask");
  Shape shape = broadcast_with_mask(b, self, mask);
  if (shape.empty()) shape = {Size(1)};
  const std::optional<Size> exported = expected_data_size(arguments);
  const Tensor flat = b.compact(expand(b, mask, shape), exported);
  if (const auto symbol = exported ? exported->as_symbol() : nullptr) {
    // Export asserts that the count is at most self's size, which broadcasting may exceed.
    if (shape != self.shape) b.disbelieve(ir::less_equal(flat.shape[0], symbol->upper));
  }
  const Tensor wide = expand(b, self, shape);
  return rearrange(b, wide, flat.shape,
                   [&](const Indices& i) { return unflatten_index(b, b.load(flat, i), shape); });
}
OPERATOR(masked_scatter, "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor& mask = arguments.tensor("mask");
  const Tensor source = flatten(b, arguments.tensor("source"));
  require_mask(mask, "masked_scatter_ only supports boolean masks, but got mask with dtype " +
                         scalar_type_name(mask.dtype));
  if (source.dtype != self.dtype) {
    throw InvalidProgram("masked_scatter: expected self and source to have same dtypes but got" +
                         scalar_type_name(self.dtype) + " and " + scalar_type_name(source.dtype));
  }
  const Shape shape = broadcast_with_mask(b, self, mask);
  const Tensor wide = expand(b, self, shape);
  const Tensor flags = flatten(b, expand(b, mask, shape));
  // How many elements up to and with each one the mask takes: the source element to use, plus one.
  const Tensor taken = b.scan(ir::ScanOp::kSum, 0, flags.shape, [&](const Indices& i) {
    return cast(DType::kInt64, b.load(flags, i));
  })[0];
  const Tensor parts = source.complex() ? as_pairs(source) : source;
  const Tensor target = source.complex() ? as_pairs(wide) : wide;
  const Tensor result = b.map(target.shape, [&](const Indices& i) {
    const Indices element(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(shape.size()));
    const Indices flat = {flatten_index(b, element, shape)};
    const Expr use = b.load(flags, flat);
    const Expr number = b.check_index(
        select(use, b.load(taken, flat), b.constant(DType::kInt64, 0)), source.size(0) + Size(1),
        {.wrap = false,
         .message = "masked_scatter: Number of elements of source < number of ones in mask"});
    Indices at = {number - 1};
    if (source.complex()) at.push_back(i.back());
    return select(use, b.masked_load(parts, number > 0, at), b.load(target, i));
  });
  return source.complex() ? from_pairs(result, self.dtype) : result;
}

}  // namespace tendon::aten
