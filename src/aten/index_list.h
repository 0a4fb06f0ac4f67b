// The index list of advanced indexing: masks become positions, index tensors broadcast together,
// and the axes they leave are placed.
#pragma once

#include <optional>
#include <vector>

#include "aten/builder.h"
#include "aten/index_tools.h"
#include "aten/operator.h"

namespace tendon::aten {

class IndexList {
 public:
  using Entries = std::vector<std::optional<Tensor>>;

  /// Checks the list against `self` as PyTorch does. `expected` is export's name for the size that
  /// the list's only mask decides.
  IndexList(Builder& b, const Tensor& self, const Entries& indices,
            const std::optional<Size>& expected);

  /// Sizes of self[list].
  const Shape& shape() const { return shape_; }
  /// The position in self for an index of that shape, checked.
  Indices positions(Builder& b, const Indices& index) const;
  /// The same for lists whose values may be garbage: wrapped and clamped instead of checked.
  Indices clamped_positions(Builder& b, const Indices& index) const;

 private:
  void expand(Builder& b, const Tensor& self, const Entries& indices,
              const std::optional<Size>& expected);
  void expand_mask(Builder& b, const Tensor& mask, const std::optional<Size>& expected);
  void broadcast(Builder& b);
  void place();
  Indices positions(Builder& b, const Indices& index, bool clamped) const;
  Expr element(Builder& b, const Tensor& entry, const Indices& common) const;

  Shape self_;
  Entries entries_;          // one per axis of self, after masks have been expanded
  Shape common_;             // what all index tensors broadcast to
  std::size_t leading_ = 0;  // axes of self that stay in front of `common_`
  Shape shape_;
};

/// Export's symbol for the size that only the data knows, found in the expected shape of output 0.
std::optional<Size> expected_data_size(const Arguments& arguments);

/// Position along each axis of an element of a mask, given its flat position.
Expr mask_column(Builder& b, Expr flat, const Shape& shape, std::size_t axis);

}  // namespace tendon::aten
