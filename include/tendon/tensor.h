// Tensors as they cross the API: a description of memory (TensorView) and memory that is owned
// (Tensor).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tendon/dtype.h"
#include "tendon/status.h"

namespace tendon {

enum class Device : std::uint8_t { kCpu, kCuda };

/// Sizes of a tensor, outermost axis first; empty for a 0-d tensor (one element).
using Sizes = std::vector<std::int64_t>;

/// The product of the sizes (1 for a 0-d tensor).
std::int64_t element_count(std::span<const std::int64_t> sizes);
/// Strides, in elements, of a row-major tensor of these sizes.
Sizes contiguous_strides(std::span<const std::int64_t> sizes);

/// Non-owning description of strided memory: the element at index (i0, i1, ...) lies at
/// data + dtype_size(dtype) * (i0 * strides[0] + i1 * strides[1] + ...). The memory belongs to
/// somebody else and must outlive the view.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kFloat32;
  Sizes sizes;
  Sizes strides;  // in elements
  Device device = Device::kCpu;

  /// A row-major view.
  static TensorView contiguous(void* data, DType dtype, Sizes sizes, Device device = Device::kCpu);

  std::int64_t elements() const { return element_count(sizes); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * dtype_size(dtype); }
  bool is_contiguous() const;
  /// "float32[1, 3, 96, 128]".
  std::string to_string() const;
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// A tensor that shares ownership of its memory (copying a Tensor copies no element).
class Tensor {
 public:
  Tensor() = default;
  Tensor(TensorView view, std::shared_ptr<void> owner)
      : view_(std::move(view)), owner_(std::move(owner)) {}

  /// Row-major, uninitialised, 64-byte aligned memory on the CPU.
  /// Errors: InvalidArgument for a negative size, ResourceExhausted.
  static Result<Tensor> allocate(DType dtype, Sizes sizes);

  const TensorView& view() const { return view_; }
  DType dtype() const { return view_.dtype; }
  const Sizes& sizes() const { return view_.sizes; }
  const Sizes& strides() const { return view_.strides; }
  std::int64_t elements() const { return view_.elements(); }
  template <typename T>
  T* as() const {
    return view_.as<T>();
  }
  /// A row-major copy with memory of its own. Errors: ResourceExhausted.
  Result<Tensor> contiguous_copy() const;

 private:
  TensorView view_;
  std::shared_ptr<void> owner_;
};

}  // namespace tendon
