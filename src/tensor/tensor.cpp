#include "tendon/tensor.h"

#include <cstring>
#include <limits>
#include <new>

#include "base/checked_math.h"
#include "base/status_macros.h"
#include "tensor/strided_copy.h"
#include "tensor/validate.h"

namespace tendon {

namespace {

constexpr std::align_val_t kAlignment{64};

std::string sizes_text(std::span<const std::int64_t> sizes) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (axis != 0) text += ", ";
    text += std::to_string(sizes[axis]);
  }
  return text + "]";
}

}  // namespace

std::int64_t element_count(std::span<const std::int64_t> sizes) {
  return base::checked_product(sizes).value_or(std::numeric_limits<std::int64_t>::max());
}

Sizes contiguous_strides(std::span<const std::int64_t> sizes) {
  Sizes strides(sizes.size(), 1);
  for (std::size_t axis = sizes.size(); axis-- > 1;) {
    // An axis of no elements counts as one, so that the strides of empty tensors are PyTorch's.
    const std::int64_t size = sizes[axis] > 1 ? sizes[axis] : 1;
    strides[axis - 1] = base::checked_multiply(strides[axis], size)
                            .value_or(std::numeric_limits<std::int64_t>::max());
  }
  return strides;
}

TensorView TensorView::contiguous(void* data, DType dtype, Sizes sizes, Device device) {
  Sizes strides = contiguous_strides(sizes);
  return {data, dtype, std::move(sizes), std::move(strides), device};
}

bool TensorView::is_contiguous() const {
  std::int64_t expected = 1;
  bool dense = true;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    if (sizes[axis] == 0) return true;
    if (sizes[axis] == 1) continue;
    dense = dense && strides[axis] == expected;
    expected *= sizes[axis];
  }
  return dense;
}

std::string TensorView::to_string() const {
  return std::string(dtype_name(dtype)) + sizes_text(sizes);
}

Result<Tensor> Tensor::allocate(DType dtype, Sizes sizes) {
  for (std::int64_t size : sizes) {
    if (size < 0) {
      return Status(StatusCode::kInvalidArgument,
                    "a tensor of sizes " + sizes_text(sizes) + " has a negative size");
    }
  }
  const std::optional<std::int64_t> bytes = tensor::byte_count(dtype, sizes);
  void* data = nullptr;
  if (bytes) {
    // At least one byte, so that also an empty tensor has an address of its own.
    const auto size = static_cast<std::size_t>(*bytes == 0 ? 1 : *bytes);
    data = ::operator new(size, kAlignment, std::nothrow);
  }
  if (data == nullptr) {
    return Status(StatusCode::kResourceExhausted,
                  "no memory for a tensor " + std::string(dtype_name(dtype)) + sizes_text(sizes));
  }
  std::shared_ptr<void> owner(data, [](void* memory) { ::operator delete(memory, kAlignment); });
  return Tensor(TensorView::contiguous(data, dtype, std::move(sizes)), std::move(owner));
}

Result<Tensor> Tensor::contiguous_copy() const {
  TENDON_ASSIGN_OR_RETURN(Tensor copy, allocate(view_.dtype, view_.sizes));
  tensor::copy_to_contiguous(view_, copy.view().data);
  return copy;
}

}  // namespace tendon
