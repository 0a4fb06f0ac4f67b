// Advanced indexing: index, index_put and what is made of them.
#include <algorithm>

#include "aten/index_tools.h"
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// One indexed axis of self after masks have become positions: an int64 tensor that broadcasts to
/// the common shape of all indices.
struct IndexList {
  std::vector<std::optional<Tensor>> entries;  // one per axis of self
  Shape common;                                // R
  bool adjacent = true;
  int first = 0;  // first indexed axis
  int count = 0;  // indexed axes
};

/// A mask as one position tensor per axis it covers: columns of nonzero.
std::vector<Tensor> expand_mask(Builder& b, const Tensor& self, const Tensor& mask,
                                std::size_t axis, std::size_t list_position,
                                const std::optional<Size>& expected) {
  if (axis + mask.shape.size() > self.shape.size()) {
    throw InvalidProgram("too many indices for tensor of dimension " + std::to_string(self.rank()));
  }
  for (std::size_t j = 0; j < mask.shape.size(); ++j) {
    require(b, ir::equal(mask.shape[j], self.shape[axis + j]),
            "The shape of the mask " + shape_text(mask.shape) + " at index " + std::to_string(j) +
                " does not match the shape of the indexed tensor " + shape_text(self.shape) +
                " at index " + std::to_string(axis + j));
  }
  (void)list_position;
  const Tensor flags = cast(b, mask, DType::kBool);
  const Tensor flat = b.compact(flags, expected);
  std::vector<Tensor> columns;
  const Shape strides = ir::contiguous_strides(mask.shape);
  for (std::size_t j = 0; j < mask.shape.size(); ++j) {
    columns.push_back(b.map(flat.shape, [&](const Indices& i) {
      Expr position = floor_divide(b.load(flat, i), b.size(strides[j]));
      if (j > 0) position = remainder(position, b.size(mask.shape[j]));
      return position;
    }));
  }
  return columns;
}

IndexList prepare(Builder& b, const Tensor& self, const std::vector<std::optional<Tensor>>& indices,
                  const std::optional<Size>& expected) {
  if (indices.size() > self.shape.size()) {
    throw InvalidProgram("too many indices for tensor of dimension " + std::to_string(self.rank()) +
                         " (got " + std::to_string(indices.size()) + ")");
  }
  if (indices.empty()) throw InvalidProgram("at least one index must be provided");
  IndexList list;
  for (std::size_t position = 0; position < indices.size(); ++position) {
    const auto& index = indices[position];
    if (!index) {
      list.entries.emplace_back(std::nullopt);
    } else if (index->dtype == DType::kBool || index->dtype == DType::kUInt8) {
      if (index->rank() == 0) throw InvalidProgram("a 0-d mask indexes nothing");
      for (Tensor& column : expand_mask(b, self, *index, list.entries.size(), position, expected))
        list.entries.emplace_back(column);
    } else if (index->dtype == DType::kInt64 || index->dtype == DType::kInt32) {
      list.entries.emplace_back(cast(b, *index, DType::kInt64));
    } else {
      throw InvalidProgram("tensors used as indices must be long, int, byte or bool tensors");
    }
  }
  if (list.entries.size() > self.shape.size()) {
    throw InvalidProgram("too many indices for tensor of dimension " + std::to_string(self.rank()));
  }
  list.entries.resize(self.shape.size());
  std::vector<Shape> shapes;
  std::string text;
  int last = -1;
  for (std::size_t axis = 0; axis < list.entries.size(); ++axis) {
    if (!list.entries[axis]) continue;
    if (list.count == 0) list.first = static_cast<int>(axis);
    if (last >= 0 && last + 1 != static_cast<int>(axis)) list.adjacent = false;
    last = static_cast<int>(axis);
    ++list.count;
    shapes.push_back(list.entries[axis]->shape);
    text += (text.empty() ? "" : ", ") + shape_text(list.entries[axis]->shape);
  }
  try {
    list.common = broadcast_shapes(b, shapes);
  } catch (const InvalidProgram&) {
    throw InvalidProgram(
        "shape mismatch: indexing tensors could not be broadcast together with shapes " + text);
  }
  return list;
}

/// Sizes of the result, and positions in self for an index of it.
Shape result_shape(const Tensor& self, const IndexList& list) {
  Shape before, after;
  for (std::size_t axis = 0; axis < list.entries.size(); ++axis) {
    if (list.entries[axis]) continue;
    const bool leading = list.adjacent && static_cast<int>(axis) < list.first;
    (leading ? before : after).push_back(self.shape[axis]);
  }
  Shape shape = before;
  shape.insert(shape.end(), list.common.begin(), list.common.end());
  shape.insert(shape.end(), after.begin(), after.end());
  return shape;
}

Indices positions_in_self(Builder& b, const Tensor& self, const IndexList& list,
                          const Indices& index) {
  const std::size_t lead = list.adjacent ? static_cast<std::size_t>(list.first) : 0;
  const Indices common(index.begin() + static_cast<std::ptrdiff_t>(lead),
                       index.begin() + static_cast<std::ptrdiff_t>(lead + list.common.size()));
  Indices positions;
  std::size_t before = 0;
  std::size_t after = lead + list.common.size();
  int ordinal = 0;
  for (std::size_t axis = 0; axis < list.entries.size(); ++axis) {
    if (!list.entries[axis]) {
      const bool leading = list.adjacent && static_cast<int>(axis) < list.first;
      positions.push_back(index[leading ? before++ : after++]);
      continue;
    }
    CheckOptions check;
    check.message = "index {index} is out of bounds for dimension " + std::to_string(ordinal++) +
                    " with size {size}";
    positions.push_back(
        b.check_index(b.load_broadcast(*list.entries[axis], common), self.shape[axis], check));
  }
  return positions;
}

/// Export's symbol for the size that a mask decides, found in the expected shape.
std::optional<Size> data_size(const Arguments& arguments) {
  if (arguments.expected_shapes().empty() || !arguments.expected_shapes()[0]) return std::nullopt;
  for (const Size& size : *arguments.expected_shapes()[0]) {
    if (const auto symbol = size.as_symbol(); symbol != nullptr && symbol->from_data) return size;
  }
  return std::nullopt;
}

Tensor index(Builder& b, const Tensor& self, const std::vector<std::optional<Tensor>>& indices,
             const std::optional<Size>& expected) {
  if (std::none_of(indices.begin(), indices.end(), [](const auto& i) { return i.has_value(); })) {
    if (indices.empty()) throw InvalidProgram("at least one index must be provided");
    return self;
  }
  const IndexList list = prepare(b, self, indices, expected);
  return rearrange(b, self, result_shape(self, list),
                   [&](const Indices& i) { return positions_in_self(b, self, list, i); });
}

bool is_one_mask(const std::vector<std::optional<Tensor>>& indices) {
  int masks = 0;
  for (const auto& index : indices) {
    if (!index) continue;
    if (index->dtype != DType::kBool && index->dtype != DType::kUInt8) return false;
    ++masks;
  }
  return masks == 1;
}

/// One mask and one value: a choice per element, without counting.
Tensor fill_masked(Builder& b, const Tensor& self,
                   const std::vector<std::optional<Tensor>>& indices, const Tensor& value) {
  std::size_t axis = 0;
  while (!indices[axis]) ++axis;
  const Tensor& mask = *indices[axis];
  if (axis + mask.shape.size() > self.shape.size())
    throw InvalidProgram("too many indices for tensor of dimension " + std::to_string(self.rank()));
  for (std::size_t j = 0; j < mask.shape.size(); ++j) {
    require(b, ir::equal(mask.shape[j], self.shape[axis + j]),
            "The shape of the mask " + shape_text(mask.shape) + " at index " + std::to_string(j) +
                " does not match the shape of the indexed tensor " + shape_text(self.shape) +
                " at index " + std::to_string(axis + j));
  }
  const Tensor one = reshape(b, value, {});
  return b.map(self.shape, [&](const Indices& i) {
    const Indices covered(i.begin() + static_cast<std::ptrdiff_t>(axis),
                          i.begin() + static_cast<std::ptrdiff_t>(axis + mask.shape.size()));
    return select(cast(DType::kBool, b.load(mask, covered)), cast(self.dtype, b.load(one, {})),
                  b.load(self, i));
  });
}

Tensor index_put(Builder& b, const Tensor& self, const std::vector<std::optional<Tensor>>& indices,
                 const Tensor& values, bool accumulate) {
  const auto count = ir::element_count(values.shape).as_constant();
  if (!accumulate && count == std::optional<std::int64_t>(1) && is_one_mask(indices) &&
      !self.complex()) {
    return fill_masked(b, self, indices, values);
  }
  if (values.dtype != self.dtype) {
    throw InvalidProgram("Index put requires the source and destination dtypes match, got " +
                         scalar_type_name(self.dtype) + " for the destination and " +
                         scalar_type_name(values.dtype) + " for the source.");
  }
  if (self.complex()) throw Unsupported("complex numbers");
  const IndexList list = prepare(b, self, indices, std::nullopt);
  const Shape shape = result_shape(self, list);
  const std::string mismatch = "shape mismatch: value tensor of shape " + shape_text(values.shape) +
                               " cannot be broadcast to indexing result of shape " +
                               shape_text(shape);
  if (values.shape.size() > shape.size()) throw InvalidProgram(mismatch);
  const std::size_t skipped = shape.size() - values.shape.size();
  for (std::size_t i = 0; i < values.shape.size(); ++i) {
    if (values.shape[i] == Size(1)) continue;
    require(b, ir::equal(values.shape[i], shape[skipped + i]), mismatch);
  }
  const ir::ScatterOp op = accumulate ? ir::ScatterOp::kAdd : ir::ScatterOp::kAssign;
  return b.scatter(op, self, shape, [&](const Indices& i) {
    return Builder::ScatterPoint{positions_in_self(b, self, list, i), b.load_broadcast(values, i),
                                 std::nullopt};
  });
}

}  // namespace

OPERATOR(index, "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
         "_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor") {
  return index(b, arguments.tensor("self"), arguments.optional_tensors("indices"),
               data_size(arguments));
}
OPERATOR(
    index_put,
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
    "Tensor") {
  return index_put(b, arguments.tensor("self"), arguments.optional_tensors("indices"),
                   arguments.tensor("values"), arguments.boolean("accumulate"));
}
OPERATOR(nonzero, "nonzero(Tensor self) -> Tensor", "argwhere(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor flags = self.rank() == 0 ? reshape(b, cast(b, self, DType::kBool), {Size(1)})
                                        : cast(b, self, DType::kBool);
  const Tensor flat = b.compact(flags, data_size(arguments));
  const Shape strides = ir::contiguous_strides(self.shape);
  return b.map({flat.shape[0], Size(self.rank())}, [&](const Indices& i) {
    const Expr position = b.load(flat, {i[0]});
    Expr result = b.constant(DType::kInt64, 0);
    for (std::size_t axis = 0; axis < self.shape.size(); ++axis) {
      Expr along = floor_divide(position, b.size(strides[axis]));
      if (axis > 0) along = remainder(along, b.size(self.shape[axis]));
      result = select(i[1] == static_cast<std::int64_t>(axis), along, result);
    }
    return result;
  });
}
OPERATOR(masked_select, "masked_select(Tensor self, Tensor mask) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor& mask = arguments.tensor("mask");
  if (mask.dtype != DType::kBool)
    throw InvalidProgram("masked_select: expected BoolTensor for mask");
  const std::vector<Shape> shapes = {self.shape, mask.shape};
  Shape shape = broadcast_shapes(b, shapes);
  if (shape.empty()) shape = {Size(1)};
  const std::optional<Size> exported = data_size(arguments);
  const Tensor flat = b.compact(expand(b, mask, shape), exported);
  if (const auto symbol = exported ? exported->as_symbol() : nullptr) {
    // Export asserts that the count is at most self's size, which broadcasting may exceed.
    if (shape != self.shape) b.disbelieve(ir::less_equal(flat.shape[0], symbol->upper));
  }
  const Tensor wide = expand(b, self, shape);
  return rearrange(b, wide, flat.shape,
                   [&](const Indices& i) { return unflatten_index(b, b.load(flat, i), shape); });
}
OPERATOR(embedding,
         "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
         "scale_grad_by_freq=False, bool sparse=False) -> Tensor") {
  const Tensor& weight = arguments.tensor("weight");
  const Tensor& indices = arguments.tensor("indices");
  Shape shape = indices.shape;
  shape.push_back(weight.size(1));
  return b.map(shape, [&](const Indices& i) {
    const Indices at(i.begin(), i.end() - 1);
    CheckOptions check;
    check.wrap = false;
    check.message = "index out of range in self";
    const Expr row = b.check_index(cast(DType::kInt64, b.load(indices, at)), weight.size(0), check);
    return b.load(weight, {row, i.back()});
  });
}
OPERATOR(index_select, "index_select(Tensor self, int dim, Tensor index) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  Tensor index = arguments.tensor("index");
  if (index.rank() > 1) throw InvalidProgram("index_select(): Index is supposed to be a vector");
  if (self.rank() == 0) return self;
  if (index.rank() == 0) index = reshape(b, index, {Size(1)});
  const int axis = wrap_axis(arguments.integer("dim"), self.rank());
  Shape shape = self.shape;
  shape[static_cast<std::size_t>(axis)] = index.size(0);
  return rearrange(b, self, shape, [&](const Indices& i) {
    Indices positions = i;
    CheckOptions check;
    check.wrap = false;
    check.message = "index out of range in self";
    positions[static_cast<std::size_t>(axis)] =
        b.check_index(cast(DType::kInt64, b.load(index, {i[static_cast<std::size_t>(axis)]})),
                      self.size(axis), check);
    return positions;
  });
}
OPERATOR(gather,
         "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor& index = arguments.tensor("index");
  if (self.rank() == 0) return expand(b, self, index.shape);
  const int axis = wrap_axis(arguments.integer("dim"), self.rank());
  if (index.rank() != self.rank())
    throw InvalidProgram("Index tensor must have the same number of dimensions as input tensor");
  return rearrange(b, self, index.shape, [&](const Indices& i) {
    Indices positions = i;
    CheckOptions check;
    check.wrap = false;
    check.message = "index {index} is out of bounds for dimension " + std::to_string(axis) +
                    " with size {size}";
    positions[static_cast<std::size_t>(axis)] =
        b.check_index(cast(DType::kInt64, b.load(index, i)), self.size(axis), check);
    return positions;
  });
}
OPERATOR(bucketize,
         "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool "
         "right=False) -> Tensor") {
  // How many boundaries are below (or, with right, not above) each value.
  const Tensor& self = arguments.tensor("self");
  const Tensor& boundaries = arguments.tensor("boundaries");
  const bool right = arguments.boolean("right");
  const DType type = compute_type(promote(self.dtype, boundaries.dtype));
  const Tensor count =
      b.reduce(ReduceOp::kSum, self.shape, boundaries.shape, [&](const Indices& i) {
        const Expr value = cast(type, b.load(self, Indices(i.begin(), i.end() - 1)));
        const Expr boundary = cast(type, b.load(boundaries, {i.back()}));
        return cast(DType::kInt64, right ? !(value < boundary) : !(value <= boundary));
      });
  return cast(b, count, arguments.boolean("out_int32") ? DType::kInt32 : DType::kInt64);
}

}  // namespace tendon::aten
