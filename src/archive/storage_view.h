// Tensors as strided views of storages: the bytes of a file's entries.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tendon/status.h"
#include "tendon/tensor.h"

namespace tendon::archive {

struct StorageBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<void> owner;  // keeps the bytes alive
};

/// The same bytes at an address that any element type may have: in place where they already are.
/// Errors: ResourceExhausted.
Result<StorageBytes> aligned_storage(StorageBytes storage);

/// A view of aligned bytes (by aligned_storage); every element that it can reach lies inside.
/// `what` names the tensor in errors ("weight 'w'"). Errors: DataLoss.
Result<Tensor> view_of_storage(const StorageBytes& storage, DType dtype, const Sizes& sizes,
                               const Sizes& strides, std::int64_t offset, const std::string& what);

}  // namespace tendon::archive
