// Sort and top-k of the evaluator.
#include <algorithm>
#include <functional>
#include <numeric>

#include "base/half.h"
#include "ir/element_order.h"
#include "ir/evaluate_primitives.h"

namespace tendon::ir {

namespace {

/// NaN is the largest of all.
template <typename T>
bool comes_before(T a, T b) {
  if (a != a) return false;
  return b != b || a < b;
}

using Positions = std::vector<std::int64_t>;
using Before = std::function<bool(std::int64_t, std::int64_t)>;
/// Brings the positions of a row into the order of the elements there.
using Arrange = std::function<void(Positions& positions, const Before& before)>;

/// The first elements of every row once it is arranged, as many as the output's axis has.
Status order_rows(NodeEvaluation& e, int axis_number, bool descending, const Arrange& arrange) {
  const Tensor& input = e.input(0);
  const Tensor& values = e.outputs[0];
  const Tensor& positions = e.outputs[1];
  if (values.elements() == 0) return Status();
  const auto axis = static_cast<std::size_t>(axis_number);
  const std::int64_t length = input.sizes()[axis];
  const std::int64_t kept = values.sizes()[axis];
  const std::int64_t stride = input.strides()[axis];
  if (kept > length) {
    return Status(StatusCode::kOutOfRange,
                  "selected index k out of range: " + std::to_string(kept) + " of " +
                      std::to_string(length) + " elements");
  }
  const std::int64_t rows = input.elements() / length;
  // Half types are compared as float32.
  std::vector<float> widened;
  const void* elements = input.view().data;
  if (is_half(input.dtype())) {
    widened.resize(static_cast<std::size_t>(input.elements()));
    load_elements(input.dtype(), elements, widened.data(), input.elements());
    elements = widened.data();
  }
  visit_arithmetic_type(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t first = row / stride * stride * length + row % stride;
      const std::int64_t first_out = row / stride * stride * kept + row % stride;
      const T* source = static_cast<const T*>(elements) + first;
      Positions order(static_cast<std::size_t>(length));
      std::iota(order.begin(), order.end(), 0);
      arrange(order, [&](std::int64_t i, std::int64_t j) {
        const T a = source[i * stride];
        const T b = source[j * stride];
        return descending ? comes_before(b, a) : comes_before(a, b);
      });
      for (std::int64_t i = 0; i < kept; ++i) {
        const std::int64_t chosen = order[static_cast<std::size_t>(i)];
        const std::int64_t target = first_out + i * stride;
        positions.as<std::int64_t>()[target] = chosen;
        store_elements(
            values.dtype(), &source[chosen * stride],
            values.as<std::byte>() + target * static_cast<std::int64_t>(dtype_size(values.dtype())),
            1);
      }
    }
  });
  return Status();
}

}  // namespace

Status evaluate_sort(NodeEvaluation& e, const Sort& sort) {
  return order_rows(e, sort.axis, sort.descending, [&](Positions& order, const Before& before) {
    if (sort.stable) {
      std::stable_sort(order.begin(), order.end(), before);
    } else {
      std::sort(order.begin(), order.end(), before);
    }
  });
}

Status evaluate_top_k(NodeEvaluation& e, const TopK& top_k) {
  const auto axis = static_cast<std::size_t>(top_k.axis);
  return order_rows(e, top_k.axis, top_k.largest, [&](Positions& order, const Before& before) {
    select_first(order.begin(), order.end(), e.outputs[0].sizes()[axis], top_k.sorted, before);
  });
}

}  // namespace tendon::ir
