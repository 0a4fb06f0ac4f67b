#include "tensor/strided_write.h"

#include <cstring>

namespace tendon::tensor {

namespace {

const std::byte* write_axis(const std::byte* source, std::byte* destination, const TensorView& view,
                            std::size_t axis) {
  const std::size_t element = dtype_size(view.dtype);
  if (axis == view.sizes.size()) {
    std::memcpy(destination, source, element);
    return source + element;
  }
  for (std::int64_t i = 0; i < view.sizes[axis]; ++i) {
    source = write_axis(source, destination, view, axis + 1);
    destination += view.strides[axis] * static_cast<std::int64_t>(element);
  }
  return source;
}

}  // namespace

void copy_from_contiguous(const void* source, const TensorView& destination) {
  if (destination.elements() == 0) return;
  if (destination.is_contiguous()) {
    std::memcpy(destination.data, source, destination.bytes());
    return;
  }
  write_axis(static_cast<const std::byte*>(source), static_cast<std::byte*>(destination.data),
             destination, 0);
}

}  // namespace tendon::tensor
