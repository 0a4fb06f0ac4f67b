// What lowerings share: type promotion, broadcasting, views, reductions on Tensors. Compose these
// before writing index arithmetic.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "aten/builder.h"
#include "aten/operator.h"

namespace tendon::aten {

// ---- Axes and shapes (toolbox.cpp).
/// Wraps a negative axis; throws PyTorch's "Dimension out of range ..." (rank 0 counts as 1).
int wrap_axis(std::int64_t axis, int rank);
/// Wrapped, sorted, distinct; an empty list or nothing means all axes.
std::vector<int> wrap_axes(const std::optional<std::vector<std::int64_t>>& axes, int rank);
/// PyTorch's broadcasting of shapes; throws where sizes are known to differ (for symbolic sizes
/// equal is assumed, with an assertion at run time).
Shape broadcast_shapes(Builder& b, std::span<const Shape> shapes);
/// shape with its -1 replaced, for a tensor of `count` elements.
Shape infer_size(const Shape& shape, const Size& count);

// ---- Types (promotion.cpp). PyTorch's torch.result_type: categories, 0-d tensors and numbers.
struct Operand {
  const Tensor* tensor = nullptr;
  const Scalar* scalar = nullptr;
  Operand(const Tensor& t) : tensor(&t) {}  // NOLINT
  Operand(const Scalar& s) : scalar(&s) {}  // NOLINT
};
DType result_type(std::span<const Operand> operands);
inline DType result_type(std::initializer_list<Operand> operands) {
  return result_type(std::span(operands.begin(), operands.size()));
}
DType promote(DType a, DType b);
/// float32 for integers and bool, itself for floats and complex.
DType to_floating(DType dtype);
/// The type arithmetic is done in: float32 for half types, itself otherwise.
DType compute_type(DType dtype);
DType scalar_type(const Scalar& scalar);        // bool, int64, float32 (default), complex64
double scalar_as_double(const Scalar& scalar);  // throws Unsupported for symbolic ones

// ---- Elementwise (elementwise.cpp).
Tensor cast(Builder& b, const Tensor& x, DType dtype);  // any dtypes, complex too
/// Broadcasts the tensors, casts them to `compute` (real), applies `body`, casts to `result`.
using ElementBody = std::function<Expr(const std::vector<Expr>& elements)>;
Tensor elementwise(Builder& b, std::span<const Tensor> tensors, DType compute, DType result,
                   const ElementBody& body);
inline Tensor elementwise(Builder& b, std::initializer_list<Tensor> tensors, DType compute,
                          DType result, const ElementBody& body) {
  return elementwise(b, std::span(tensors.begin(), tensors.size()), compute, result, body);
}
/// The same for functions of integers and floats alike whose result is floating: integers become
/// float32.
Tensor elementwise_floating(Builder& b, std::span<const Tensor> tensors, const ElementBody& body);
/// A 0-d tensor of the scalar (so that it broadcasts).
Tensor scalar_tensor(Builder& b, const Scalar& scalar, DType dtype);
Tensor full(Builder& b, const Shape& shape, const Scalar& value, DType dtype);
/// Real or imaginary part of a complex tensor; from parts (same shape).
Tensor real_part(Builder& b, const Tensor& x);
Tensor imaginary_part(Builder& b, const Tensor& x);
Tensor make_complex(Builder& b, const Tensor& real, const Tensor& imaginary);

// ---- Shapes (views.cpp): Views, and the same applied.
View reshape_view(const Shape& from, const Shape& to);
View permute_view(const Shape& from, const std::vector<int>& axes);
View expand_view(const Shape& from, const Shape& to);
View slice_view(const Shape& from, int axis, const Size& start, const Size& length,
                std::int64_t step);
View select_view(const Shape& from, int axis, const Size& position);
View unsqueeze_view(const Shape& from, int axis);
View squeeze_view(const Shape& from,
                  const std::vector<int>& axes);  // the axes go, whatever their size (1)
View alias_view(const Shape& from);
Tensor reshape(Builder& b, const Tensor& x, const Shape& to);
Tensor permute(Builder& b, const Tensor& x, const std::vector<int>& axes);
Tensor transpose(Builder& b, const Tensor& x, int axis0, int axis1);
Tensor expand(Builder& b, const Tensor& x, const Shape& to);
Tensor slice(Builder& b, const Tensor& x, int axis, const Size& start, const Size& length,
             std::int64_t step = 1);
Tensor select(Builder& b, const Tensor& x, int axis, const Size& position);
Tensor unsqueeze(Builder& b, const Tensor& x, int axis);
Tensor squeeze(Builder& b, const Tensor& x, const std::vector<int>& axes);
Tensor concatenate(Builder& b, std::span<const Tensor> tensors,
                   int axis);  // same dtype and other sizes
/// Constant padding (negative: crop); before/after per axis.
Tensor pad(Builder& b, const Tensor& x, const Shape& before, const Shape& after,
           const Scalar& value);

// ---- Reductions (reduce.cpp). Real tensors; axes wrapped and sorted.
/// The body maps an element (cast to `compute`) before it is reduced; null: as it is. The result
/// has type `compute` (any/all: bool; arg: int64).
Tensor reduce(Builder& b, ReduceOp op, const Tensor& x, const std::vector<int>& axes,
              bool keep_axes, DType compute, const std::function<Expr(Expr)>& body = nullptr);
Tensor sum(Builder& b, const Tensor& x, const std::vector<int>& axes, bool keep_axes, DType result);
Tensor mean(Builder& b, const Tensor& x, const std::vector<int>& axes, bool keep_axes,
            DType result);
/// Mean and biased variance in the compute type of x, computed stably.
std::pair<Tensor, Tensor> mean_and_variance(Builder& b, const Tensor& x,
                                            const std::vector<int>& axes, bool keep_axes);
/// Softmax over one axis, computed and returned in `dtype`'s compute type, then cast to dtype.
Tensor softmax(Builder& b, const Tensor& x, int axis, DType dtype);
Tensor log_softmax(Builder& b, const Tensor& x, int axis, DType dtype);

// ---- Random numbers (random.cpp): new ones for every call, uniform in [0, 1).
Tensor uniform_numbers(Builder& b, const Shape& shape, DType dtype);

// ---- Products (product.cpp). PyTorch's matmul on any ranks, complex too.
Tensor matmul(Builder& b, const Tensor& x, const Tensor& y);
/// The same, but products of half types stay float32, as they were accumulated: for what is added
/// to them before they are rounded.
Tensor wide_matmul(Builder& b, const Tensor& x, const Tensor& y);
/// x [..., k] by weight [n, k], plus bias [n].
Tensor linear(Builder& b, const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias);

}  // namespace tendon::aten
