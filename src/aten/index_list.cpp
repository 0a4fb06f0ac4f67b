#include "aten/index_list.h"

#include <algorithm>

#include "aten/operator.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

std::string too_many(std::size_t rank) {
  return "too many indices for tensor of dimension " + std::to_string(rank);
}

bool is_mask(const Tensor& index) {
  return index.dtype == DType::kBool || index.dtype == DType::kUInt8;
}

/// Broadcasts one size with another where run time may decide which of them is 1.
Size broadcast_size(Builder& b, const Size& a, const Size& c, const std::string& mismatch) {
  if (a == c || c == Size(1)) return a;
  if (a == Size(1)) return c;
  if (!a.depends_on_data() && !c.depends_on_data()) {
    require(b, ir::equal(a, c), mismatch);
    return a.is_constant() ? a : c;
  }
  const Size one_a = ir::equal(a, Size(1)), one_c = ir::equal(c, Size(1));
  require(b,
          ir::logical_not(
              ir::logical_and(ir::logical_not(ir::equal(a, c)),
                              ir::logical_and(ir::logical_not(one_a), ir::logical_not(one_c)))),
          mismatch);
  return Size::function(ir::SizeFunction::kSelect, {one_a, c, a});
}

}  // namespace

Expr mask_column(Builder& b, Expr flat, const Shape& shape, std::size_t axis) {
  const Size stride = ir::contiguous_strides(shape)[axis];
  const Expr position = stride == Size(1) ? flat : floor_divide(flat, b.size(stride));
  return axis == 0 ? position : remainder(position, b.size(shape[axis]));
}

std::optional<Size> expected_data_size(const Arguments& arguments) {
  if (arguments.expected_shapes().empty() || !arguments.expected_shapes()[0]) return std::nullopt;
  for (const Size& size : *arguments.expected_shapes()[0]) {
    if (const auto symbol = size.as_symbol(); symbol != nullptr && symbol->from_data) return size;
  }
  return std::nullopt;
}

IndexList::IndexList(Builder& b, const Tensor& self, const Entries& indices,
                     const std::optional<Size>& expected)
    : self_(self.shape) {
  if (indices.size() > self_.size()) {
    throw InvalidProgram(too_many(self_.size()) + " (got " + std::to_string(indices.size()) + ")");
  }
  if (indices.empty()) throw InvalidProgram("at least one index must be provided");
  expand(b, self, indices, expected);
  broadcast(b);
  place();
  for (std::size_t axis = 0; axis < entries_.size(); ++axis) {
    if (entries_[axis] && self_[axis] == Size(0)) {
      require(b, ir::equal(ir::element_count(common_), Size(0)),
              "index is out of bounds for dimension with size 0");
    }
  }
}

void IndexList::expand(Builder& b, const Tensor& self, const Entries& indices,
                       const std::optional<Size>& expected) {
  for (const auto& index : indices) {
    if (index && !is_mask(*index) && index->dtype != DType::kInt64 &&
        index->dtype != DType::kInt32) {
      throw InvalidProgram("tensors used as indices must be long, int, byte or bool tensors");
    }
  }
  const auto masks = std::count_if(indices.begin(), indices.end(),
                                   [](const auto& index) { return index && is_mask(*index); });
  for (const auto& index : indices) {
    if (!index) {
      entries_.emplace_back(std::nullopt);
    } else if (is_mask(*index)) {
      if (index->rank() == 0) throw InvalidProgram("a 0-d mask indexes nothing");
      expand_mask(b, *index, masks == 1 ? expected : std::nullopt);
    } else {
      entries_.emplace_back(cast(b, *index, DType::kInt64));
    }
  }
  if (entries_.size() > self_.size()) throw InvalidProgram(too_many(self_.size()));
  entries_.resize(self.shape.size());
}

void IndexList::expand_mask(Builder& b, const Tensor& mask, const std::optional<Size>& expected) {
  const std::size_t axis = entries_.size();
  for (std::size_t j = 0; j < mask.shape.size(); ++j) {
    if (axis + j >= self_.size()) throw InvalidProgram(too_many(self_.size()));
    require(b, ir::equal(mask.shape[j], self_[axis + j]),
            "The shape of the mask " + shape_text(mask.shape) + " at index " + std::to_string(j) +
                " does not match the shape of the indexed tensor " + shape_text(self_) +
                " at index " + std::to_string(axis + j));
  }
  const Tensor flat = b.compact(cast(b, mask, DType::kBool), expected);
  for (std::size_t j = 0; j < mask.shape.size(); ++j) {
    entries_.emplace_back(b.map(flat.shape, [&](const Indices& i) {
      return mask_column(b, b.load(flat, i), mask.shape, j);
    }));
  }
}

void IndexList::broadcast(Builder& b) {
  std::string shapes;
  std::size_t rank = 0;
  for (const auto& entry : entries_) {
    if (!entry) continue;
    shapes += (shapes.empty() ? "" : ", ") + shape_text(entry->shape);
    rank = std::max(rank, entry->shape.size());
  }
  common_.assign(rank, Size(1));
  for (const auto& entry : entries_) {
    if (!entry) continue;
    const std::size_t added = rank - entry->shape.size();
    for (std::size_t k = 0; k < entry->shape.size(); ++k) {
      common_[added + k] = broadcast_size(
          b, common_[added + k], entry->shape[k],
          "shape mismatch: indexing tensors could not be broadcast together with shapes " + shapes);
    }
  }
}

void IndexList::place() {
  // Indexed axes that stand together keep their place; others go to the front.
  int first = -1, last = -1, count = 0;
  for (std::size_t axis = 0; axis < entries_.size(); ++axis) {
    if (!entries_[axis]) continue;
    if (first < 0) first = static_cast<int>(axis);
    last = static_cast<int>(axis);
    ++count;
  }
  const bool together = count > 0 && last - first + 1 == count;
  leading_ = together ? static_cast<std::size_t>(first) : 0;
  shape_.assign(self_.begin(), self_.begin() + static_cast<std::ptrdiff_t>(leading_));
  shape_.insert(shape_.end(), common_.begin(), common_.end());
  for (std::size_t axis = leading_; axis < entries_.size(); ++axis) {
    if (!entries_[axis]) shape_.push_back(self_[axis]);
  }
}

Expr IndexList::element(Builder& b, const Tensor& entry, const Indices& common) const {
  const std::size_t added = common_.size() - entry.shape.size();
  Indices at;
  for (std::size_t k = 0; k < entry.shape.size(); ++k) {
    const Size& size = entry.shape[k];
    if (size == Size(1)) {
      at.push_back(b.constant(DType::kInt64, 0));
    } else if (size == common_[added + k] || !size.depends_on_data()) {
      at.push_back(common[added + k]);
    } else {  // of size 1 or not: run time knows
      at.push_back(common[added + k] * b.size(ir::logical_not(ir::equal(size, Size(1)))));
    }
  }
  return b.load(entry, at);
}

Indices IndexList::positions(Builder& b, const Indices& index, bool clamped) const {
  const auto begin = index.begin() + static_cast<std::ptrdiff_t>(leading_);
  const Indices common(begin, begin + static_cast<std::ptrdiff_t>(common_.size()));
  Indices result;
  std::size_t before = 0, after = leading_ + common_.size();
  int ordinal = 0;  // PyTorch counts only indexed axes in its message
  for (std::size_t axis = 0; axis < entries_.size(); ++axis) {
    if (!entries_[axis]) {
      result.push_back(index[axis < leading_ ? before++ : after++]);
      continue;
    }
    const Expr position = element(b, *entries_[axis], common);
    const Size& size = self_[axis];
    if (clamped) {
      const Expr wrapped = select(position < 0, position + b.size(size), position);
      result.push_back(
          clamp(wrapped, b.constant(DType::kInt64, 0), b.size(ir::max(size - 1, Size(0)))));
    } else {
      result.push_back(b.check_index(position, size,
                                     {.wrap = true,
                                      .message = "index {index} is out of bounds for dimension " +
                                                 std::to_string(ordinal) + " with size {size}"}));
    }
    ++ordinal;
  }
  return result;
}

Indices IndexList::positions(Builder& b, const Indices& index) const {
  return positions(b, index, false);
}

Indices IndexList::clamped_positions(Builder& b, const Indices& index) const {
  return positions(b, index, true);
}

}  // namespace tendon::aten
