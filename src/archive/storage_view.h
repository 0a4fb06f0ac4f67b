// Tensors as strided views of storages: the bytes of a file's entries.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "archive/zip_index.h"
#include "tendon/status.h"
#include "tendon/tensor.h"

namespace tendon::archive {

inline constexpr std::uint64_t kMaxStorageBytes = std::uint64_t{1} << 40;

struct StorageBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<void> owner;  // keeps the bytes alive
};

/// An entry's bytes: in place, kept alive by the archive's owner, or inflated into memory of their
/// own. Errors: DataLoss (no such entry, damaged); ResourceExhausted for more than `limit` bytes.
Result<StorageBytes> entry_storage(const ZipIndex& zip, const std::string& name,
                                   std::uint64_t limit, std::shared_ptr<void> owner);

/// The same for what is read whole, compared with the entry's checksum. Weights are not: mapping
/// them reads nothing.
Result<StorageBytes> checked_entry(const ZipIndex& zip, const std::string& name,
                                   std::uint64_t limit, std::shared_ptr<void> owner);

/// The same bytes at an address that any element type may have: in place where they already are.
/// Errors: ResourceExhausted.
Result<StorageBytes> aligned_storage(StorageBytes storage);

/// A view of aligned bytes (by aligned_storage); every element that it can reach lies inside.
/// `what` names the tensor in errors ("weight 'w'"). Errors: DataLoss.
Result<Tensor> view_of_storage(const StorageBytes& storage, DType dtype, const Sizes& sizes,
                               const Sizes& strides, std::int64_t offset, const std::string& what);

}  // namespace tendon::archive
