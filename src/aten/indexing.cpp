// Advanced indexing: index, index_put and what is made of them.
#include <algorithm>
#include <limits>

#include "aten/checked_conversion.h"
#include "aten/index_list.h"
#include "aten/operator.h"
#include "aten/scatter_tools.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

using Entries = IndexList::Entries;

bool all_none(const Entries& indices) {
  return std::none_of(indices.begin(), indices.end(), [](const auto& i) { return i.has_value(); });
}

Tensor index(Builder& b, const Arguments& arguments, const Entries& indices) {
  const Tensor& self = arguments.tensor("self");
  if (!indices.empty() && all_none(indices)) return self;
  const IndexList list(b, self, indices, expected_data_size(arguments));
  return rearrange(b, self, list.shape(), [&](const Indices& i) { return list.positions(b, i); });
}

void refuse_masks(const Entries& indices, const char* name) {
  for (const auto& index : indices) {
    if (index && index->dtype != DType::kInt64 && index->dtype != DType::kInt32) {
      throw InvalidProgram(std::string(name) + " found unexpected index type " +
                           scalar_type_name(index->dtype));
    }
  }
}

/// The list's one mask and the axis it begins at, if there is nothing else in the list.
struct OnlyMask {
  const Tensor* mask = nullptr;
  std::size_t axis = 0;
};
std::optional<OnlyMask> only_mask(const Entries& indices) {
  OnlyMask found;
  for (std::size_t k = 0; k < indices.size(); ++k) {
    if (!indices[k]) continue;
    const DType dtype = indices[k]->dtype;
    if (found.mask != nullptr || (dtype != DType::kBool && dtype != DType::kUInt8)) {
      return std::nullopt;
    }
    found = {&*indices[k], k};
  }
  return found.mask == nullptr ? std::nullopt : std::optional(found);
}

/// One mask and one value: a choice per element, with nothing to count. The value converts as in
/// masked_fill.
Tensor fill_masked(Builder& b, const Tensor& self, const OnlyMask& where, const Tensor& value) {
  const Tensor& mask = *where.mask;
  const std::size_t axis = where.axis;
  if (axis + mask.shape.size() > self.shape.size()) {
    throw InvalidProgram("too many indices for tensor of dimension " + std::to_string(self.rank()));
  }
  for (std::size_t j = 0; j < mask.shape.size(); ++j) {
    require(b, ir::equal(mask.shape[j], self.shape[axis + j]),
            "The shape of the mask " + shape_text(mask.shape) + " at index " + std::to_string(j) +
                " does not match the shape of the indexed tensor " + shape_text(self.shape) +
                " at index " + std::to_string(axis + j));
  }
  require_fits(b, value, self.dtype);
  const bool complex = self.complex();
  const Tensor target = complex ? as_pairs(self) : self;
  const Tensor converted = cast(b, reshape(b, value, {}), self.dtype);
  const Tensor one = complex ? as_pairs(converted) : converted;
  return [&](const Tensor& filled) {
    return complex ? from_pairs(filled, self.dtype) : filled;
  }(b.map(target.shape, [&](const Indices& i) {
    const auto begin = i.begin() + static_cast<std::ptrdiff_t>(axis);
    const Indices covered(begin, begin + static_cast<std::ptrdiff_t>(mask.shape.size()));
    Indices at;
    if (complex) at.push_back(i.back());
    return select(cast(DType::kBool, b.load(mask, covered)), b.load(one, at), b.load(target, i));
  }));
}

/// `values` stored or added where the list points. `mask` (of the list's result shape) leaves
/// points out; positions are then clamped, not checked.
Tensor put(Builder& b, const Tensor& self, const IndexList& list, const Tensor& values,
           bool accumulate, const Tensor* mask) {
  const Shape& shape = list.shape();
  const std::string mismatch = "shape mismatch: value tensor of shape " + shape_text(values.shape) +
                               " cannot be broadcast to indexing result of shape " +
                               shape_text(shape);
  if (values.shape.size() > shape.size()) throw InvalidProgram(mismatch);
  const std::size_t skipped = shape.size() - values.shape.size();
  for (std::size_t i = 0; i < values.shape.size(); ++i) {
    if (values.shape[i] == Size(1)) continue;
    require(b, ir::equal(values.shape[i], shape[skipped + i]), mismatch);
  }
  if (values.dtype != self.dtype) {
    throw InvalidProgram("Index put requires the source and destination dtypes match, got " +
                         scalar_type_name(self.dtype) + " for the destination and " +
                         scalar_type_name(values.dtype) + " for the source.");
  }
  ScatterPlan plan;
  plan.domain = shape;
  plan.source = values;
  plan.source_position = [&](const Indices& i) {
    Indices at(i.begin() + static_cast<std::ptrdiff_t>(skipped), i.end());
    for (std::size_t k = 0; k < at.size(); ++k) {
      if (values.shape[k] == Size(1)) at[k] = b.constant(DType::kInt64, 0);
    }
    return at;
  };
  plan.target = [&](const Indices& i) {
    return mask == nullptr ? list.positions(b, i) : list.clamped_positions(b, i);
  };
  if (mask != nullptr) {
    plan.mask = [&](const Indices& i) { return b.load_broadcast(*mask, i); };
  }
  return scatter_plan(b, accumulate ? ir::ScatterOp::kAdd : ir::ScatterOp::kAssign, self, plan);
}

Tensor index_put(Builder& b, const Arguments& arguments) {
  const Tensor& self = arguments.tensor("self");
  const Entries indices = arguments.optional_tensors("indices");
  const Tensor& values = arguments.tensor("values");
  const bool accumulate = arguments.boolean("accumulate");
  if (indices.size() > self.shape.size()) {
    throw InvalidProgram("too many indices for tensor of dimension " + std::to_string(self.rank()) +
                         " (got " + std::to_string(indices.size()) + ")");
  }
  const std::optional<OnlyMask> mask = only_mask(indices);
  if (!accumulate && mask && ir::element_count(values.shape) == Size(1)) {
    return fill_masked(b, self, *mask, values);
  }
  return put(b, self, IndexList(b, self, indices, std::nullopt), values, accumulate, nullptr);
}

}  // namespace

OPERATOR(index, "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor") {
  return index(b, arguments, arguments.optional_tensors("indices"));
}
OPERATOR(unsafe_index, "_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor") {
  const Entries indices = arguments.optional_tensors("indices");
  refuse_masks(indices, "_unsafe_index");
  return index(b, arguments, indices);
}
OPERATOR(
    index_put,
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) "
    "-> Tensor",
    "_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool "
    "unsafe=False) -> Tensor") {
  return index_put(b, arguments);
}

// Positions may be garbage where the mask is false.
OPERATOR(
    unsafe_masked_index,
    "_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor& mask = arguments.tensor("mask");
  const Entries indices = arguments.optional_tensors("indices");
  refuse_masks(indices, "_unsafe_masked_index");
  if (ir::element_count(self.shape) == Size(0)) {
    return full(b, IndexList(b, self, indices, std::nullopt).shape(), arguments.scalar("fill"),
                self.dtype);
  }
  const IndexList list(b, self, indices, std::nullopt);
  return masked_rearrange(
      b, self, list.shape(),
      [&](const Indices& i) {
        return MaskedPosition{b.load_broadcast(mask, i), list.clamped_positions(b, i)};
      },
      arguments.scalar("fill"));
}
OPERATOR(unsafe_masked_index_put_accumulate,
         "_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor "
         "values) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor& mask = arguments.tensor("mask");
  const Entries indices = arguments.optional_tensors("indices");
  refuse_masks(indices, "_unsafe_masked_index_put_accumulate");
  if (ir::element_count(self.shape) == Size(0)) return self;
  return put(b, self, IndexList(b, self, indices, std::nullopt), arguments.tensor("values"), true,
             &mask);
}

}  // namespace tendon::aten
