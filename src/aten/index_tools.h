// Index arithmetic that shape lowerings share; an addition to toolbox.h for operators that
// rearrange, select or window elements.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aten/builder.h"
#include "aten/toolbox.h"

namespace tendon::aten {

// ---- Complex tensors as real ones with a last axis of size 2, and back: the same graph value.
Tensor as_pairs(const Tensor& x);
Tensor from_pairs(const Tensor& pairs, DType dtype);

// ---- Sizes.
/// `position` with a negative one counted from the end.
Size wrap_position(const Size& position, const Size& size);
/// Python's slice [start:end:step] of an axis: bounds wrapped and clamped. Nothing: the axis' end
/// or beginning.
struct SliceRange {
  Size start;
  Size length;
};
SliceRange clamp_slice(const std::optional<Size>& start, const std::optional<Size>& end,
                       std::int64_t step, const Size& size);
/// Throws InvalidProgram with `message` if the condition is known to be false; checks it at run
/// time if it is not known to be true.
void require(Builder& b, const Size& condition, const std::string& message);
/// "[2, 3]" as PyTorch prints sizes.
inline std::string shape_text(const Shape& shape) { return ir::to_string(shape); }
std::int64_t require_constant(const Size& size, const char* what);
/// PyTorch's names of dtypes in error messages: "Float", "Long".
std::string scalar_type_name(DType dtype);

// ---- Expressions.
/// Conjunction of conditions that may be absent.
class Condition {
 public:
  void add(Expr condition) { expr_ = expr_ ? *expr_ && condition : condition; }
  /// 0 <= position < size.
  void add_in_range(Expr position, const Size& size);
  bool empty() const { return !expr_.has_value(); }
  /// True where there is no condition.
  Expr expr(Builder& b) const { return expr_ ? *expr_ : b.truth(true); }

 private:
  std::optional<Expr> expr_;
};
Expr clamp(Expr x, Expr lower, Expr upper);
/// Smallest (largest) value of a dtype: minus infinity for floats.
Expr lowest(Builder& b, DType dtype);
Expr highest(Builder& b, DType dtype);
/// Row-major position of `index` in a tensor of this shape, and the way back.
Expr flatten_index(Builder& b, const Indices& index, const Shape& shape);
Indices unflatten_index(Builder& b, Expr flat, const Shape& shape);

// ---- Tensors.
/// out[index] = x[positions(index)] for real and complex tensors; always a new value.
using Positions = std::function<Indices(const Indices& index)>;
Tensor rearrange(Builder& b, const Tensor& x, const Shape& shape, const Positions& positions);
/// The same with `fill` (0: the zero of the dtype) where the mask is false.
struct MaskedPosition {
  Expr mask;
  Indices positions;
};
Tensor masked_rearrange(Builder& b, const Tensor& x, const Shape& shape,
                        const std::function<MaskedPosition(const Indices& index)>& positions,
                        const Scalar& fill = std::int64_t{0});
/// Flat view of all elements.
Tensor flatten(Builder& b, const Tensor& x);
/// int64 [length]: 0, 1, ...
Tensor positions_along(Builder& b, const Size& length);

}  // namespace tendon::aten
