#include "tensor/strided_copy.h"

#include <cstring>

namespace tendon::tensor {

namespace {

struct Axis {
  std::int64_t size;
  std::int64_t stride;  // of the source, in bytes
};

// The axes with more than one element, outermost first, neighbours merged where they form one run.
std::vector<Axis> merged_axes(const TensorView& view) {
  std::vector<Axis> axes;
  const auto element = static_cast<std::int64_t>(dtype_size(view.dtype));
  for (std::size_t i = 0; i < view.sizes.size(); ++i) {
    if (view.sizes[i] == 1) continue;
    const Axis axis{view.sizes[i], view.strides[i] * element};
    if (!axes.empty() && axes.back().stride == axis.size * axis.stride) {
      axes.back() = {axes.back().size * axis.size, axis.stride};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

// The fixed size lets the compiler turn each memcpy into one load and one store.
template <std::size_t kElement>
void copy_row(const std::byte* source, std::int64_t stride, std::int64_t count,
              std::byte* destination) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(destination + i * static_cast<std::int64_t>(kElement), source + i * stride,
                kElement);
  }
}

void copy_row(const std::byte* source, const Axis& row, std::size_t element,
              std::byte* destination) {
  if (row.stride == static_cast<std::int64_t>(element)) {
    std::memcpy(destination, source, static_cast<std::size_t>(row.size) * element);
    return;
  }
  switch (element) {
    case 1:
      return copy_row<1>(source, row.stride, row.size, destination);
    case 2:
      return copy_row<2>(source, row.stride, row.size, destination);
    case 4:
      return copy_row<4>(source, row.stride, row.size, destination);
    case 8:
      return copy_row<8>(source, row.stride, row.size, destination);
    default:
      return copy_row<16>(source, row.stride, row.size, destination);
  }
}

}  // namespace

void copy_to_contiguous(const TensorView& source, void* destination) {
  if (source.elements() == 0) return;
  const std::size_t element = dtype_size(source.dtype);
  const auto* from = static_cast<const std::byte*>(source.data);
  auto* to = static_cast<std::byte*>(destination);
  std::vector<Axis> axes = merged_axes(source);
  if (axes.empty()) {
    std::memcpy(to, from, element);
    return;
  }
  const Axis row = axes.back();
  axes.pop_back();
  std::vector<std::int64_t> index(axes.size(), 0);
  const std::size_t row_bytes = static_cast<std::size_t>(row.size) * element;
  while (true) {
    copy_row(from, row, element, to);
    to += row_bytes;
    std::size_t axis = axes.size();
    while (axis-- > 0) {
      from += axes[axis].stride;
      if (++index[axis] < axes[axis].size) break;
      from -= axes[axis].stride * axes[axis].size;
      index[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) return;
  }
}

Result<Tensor> as_contiguous(const TensorView& view) {
  const Tensor borrowed(view, nullptr);
  if (view.is_contiguous()) return borrowed;
  return borrowed.contiguous_copy();
}

}  // namespace tendon::tensor
