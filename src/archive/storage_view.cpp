#include "archive/storage_view.h"

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "base/status_macros.h"

namespace tendon::archive {

namespace {

constexpr std::size_t kMaxRank = 64;
constexpr std::uintptr_t kAlignment = 16;  // complex128

Status data_loss(std::string message) { return Status(StatusCode::kDataLoss, std::move(message)); }

/// Any other byte is undefined behaviour once it is read as bool.
bool all_bools(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b <= std::byte{1}; });
}

}  // namespace

Result<StorageBytes> entry_storage(const ZipIndex& zip, const std::string& name,
                                   std::uint64_t limit, std::shared_ptr<void> owner) {
  const ZipEntry* entry = zip.find(name);
  if (entry == nullptr) return data_loss("entry '" + name + "' is missing");
  if (entry->stored) return StorageBytes{entry->bytes, std::move(owner)};
  TENDON_ASSIGN_OR_RETURN(std::vector<std::byte> content, zip.read(name, limit));
  auto owned = std::make_shared<std::vector<std::byte>>(std::move(content));
  return StorageBytes{*owned, owned};
}

Result<StorageBytes> checked_entry(const ZipIndex& zip, const std::string& name,
                                   std::uint64_t limit, std::shared_ptr<void> owner) {
  TENDON_ASSIGN_OR_RETURN(StorageBytes content, entry_storage(zip, name, limit, std::move(owner)));
  if (zip.find(name)->matches_checksum(content.bytes)) return content;
  return data_loss("entry '" + name + "' is damaged: its checksum is not that of its content");
}

Result<StorageBytes> aligned_storage(StorageBytes storage) {
  if (reinterpret_cast<std::uintptr_t>(storage.bytes.data()) % kAlignment == 0) return storage;
  const auto size = static_cast<std::int64_t>(storage.bytes.size());
  TENDON_ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(DType::kUInt8, {size}));
  if (size > 0) std::memcpy(copy.view().data, storage.bytes.data(), storage.bytes.size());
  StorageBytes aligned;
  aligned.bytes = {static_cast<const std::byte*>(copy.view().data), storage.bytes.size()};
  aligned.owner = std::make_shared<Tensor>(std::move(copy));
  return aligned;
}

Result<Tensor> view_of_storage(const StorageBytes& storage, DType dtype, const Sizes& sizes,
                               const Sizes& strides, std::int64_t offset, const std::string& what) {
  const auto element = static_cast<std::int64_t>(dtype_size(dtype));
  if (sizes.size() != strides.size() || sizes.size() > kMaxRank) {
    return data_loss(what + " has " + std::to_string(sizes.size()) + " sizes and " +
                     std::to_string(strides.size()) + " strides");
  }
  const auto count = base::checked_product(sizes);
  if (!count || offset < 0 || !base::checked_multiply(*count, element)) {
    return data_loss(what + " has impossible sizes");
  }
  TensorView view;
  view.dtype = dtype;
  view.sizes = sizes;
  view.strides = strides;
  if (*count == 0) return Tensor(view, storage.owner);
  std::optional<std::int64_t> last = offset;
  for (std::size_t i = 0; last && i < sizes.size(); ++i) {
    if (strides[i] < 0) return data_loss(what + " has a negative stride");
    const auto reach = base::checked_multiply(sizes[i] - 1, strides[i]);
    last = reach ? base::checked_add(*last, *reach) : std::nullopt;
  }
  const auto end = last ? base::checked_add(*last, 1) : std::nullopt;
  const auto bytes = end ? base::checked_multiply(*end, element) : std::nullopt;
  if (!bytes || static_cast<std::uint64_t>(*bytes) > storage.bytes.size()) {
    if (storage.bytes.empty()) {
      return data_loss(what + " has no data: it was a fake tensor when the program was saved");
    }
    return data_loss(what + " reaches beyond its storage of " +
                     std::to_string(storage.bytes.size()) + " bytes");
  }
  const auto first = static_cast<std::size_t>(offset * element);
  if (dtype == DType::kBool &&
      !all_bools(storage.bytes.subspan(first, static_cast<std::size_t>(*bytes) - first))) {
    return data_loss(what + " is bool and holds bytes other than 0 and 1");
  }
  // Files are mapped read-only: nobody writes to what was read.
  view.data = const_cast<std::byte*>(storage.bytes.data()) + first;
  return Tensor(view, storage.owner);
}

}  // namespace tendon::archive
