#include "archive/torch_save.h"

#include "archive/storage_view.h"
#include "base/status_macros.h"

namespace tendon::archive {

namespace {

/// Containers that share their contents say the same tensor many times over; files do not.
constexpr std::size_t kMaxTensors = 1u << 16;
constexpr std::size_t kMaxItems = 1u << 20;

Status data_loss(std::string message) { return Status(StatusCode::kDataLoss, std::move(message)); }

/// Nesting was bounded when the pickle was read; the number of visits was not.
Status collect(const PickleValue& value, std::vector<Tensor>& tensors, std::size_t& visits) {
  if (++visits > kMaxItems || tensors.size() > kMaxTensors)
    return data_loss("containers hold too many items");
  if (const auto* tensor = std::get_if<Tensor>(&value.content)) {
    tensors.push_back(*tensor);
  } else if (const auto* list = std::get_if<PickleValue::Sequence>(&value.content)) {
    for (const PickleValue& item : *list->items)
      TENDON_RETURN_IF_ERROR(collect(item, tensors, visits));
  } else if (const auto* dict = std::get_if<PickleValue::Dict>(&value.content)) {
    for (const auto& [key, item] : *dict->items)
      TENDON_RETURN_IF_ERROR(collect(item, tensors, visits));
  }
  return {};
}

}  // namespace

Status check_byte_order(const ZipIndex& zip, const std::string& root) {
  const std::string name = root + "byteorder";
  if (zip.find(name) == nullptr) return {};
  TENDON_ASSIGN_OR_RETURN(const std::vector<std::byte> order, zip.read(name, 64));
  const std::string_view text(reinterpret_cast<const char*>(order.data()), order.size());
  if (text.substr(0, 6) == "little") return {};
  if (text.substr(0, 3) == "big") {
    return Status(StatusCode::kUnimplemented,
                  "the archive's numbers are big-endian; only little-endian ones are read");
  }
  return data_loss("entry '" + name + "' is neither 'little' nor 'big'");
}

Result<PickleValue> unpickle_torch_save(std::span<const std::byte> bytes,
                                        const std::shared_ptr<void>& owner) {
  TENDON_ASSIGN_OR_RETURN(const ZipIndex zip, ZipIndex::open(bytes));
  std::string root;
  for (const auto& [name, entry] : zip.entries()) {
    const std::size_t at = name.rfind("data.pkl");
    if (at != std::string::npos && at + 8 == name.size()) root = name.substr(0, at);
  }
  TENDON_RETURN_IF_ERROR(check_byte_order(zip, root));
  TENDON_ASSIGN_OR_RETURN(const StorageBytes pickle,
                          checked_entry(zip, root + "data.pkl", kMaxStorageBytes, owner));
  std::map<std::string, StorageBytes> storages;
  const RebuildTensor rebuild = [&](const PickleValue::Storage& storage, std::int64_t offset,
                                    const Sizes& sizes, const Sizes& strides) -> Result<Tensor> {
    auto known = storages.find(storage.key);
    if (known == storages.end()) {
      TENDON_ASSIGN_OR_RETURN(StorageBytes found, entry_storage(zip, root + "data/" + storage.key,
                                                                kMaxStorageBytes, owner));
      // Storages in a file within a file need not be aligned.
      TENDON_ASSIGN_OR_RETURN(found, aligned_storage(std::move(found)));
      known = storages.emplace(storage.key, std::move(found)).first;
    }
    return view_of_storage(known->second, storage.dtype, sizes, strides, offset,
                           "a tensor of storage '" + storage.key + "'");
  };
  return read_pickle(pickle.bytes, rebuild);
}

Result<std::vector<Tensor>> read_torch_save(std::span<const std::byte> bytes,
                                            std::shared_ptr<void> owner) {
  TENDON_ASSIGN_OR_RETURN(const PickleValue value, unpickle_torch_save(bytes, owner));
  std::vector<Tensor> tensors;
  std::size_t visits = 0;
  TENDON_RETURN_IF_ERROR(collect(value, tensors, visits));
  return tensors;
}

void read_sample_inputs(const ZipIndex& zip, const std::string& name,
                        const std::shared_ptr<void>& owner, Program& program) {
  const ZipEntry* entry = zip.find(name);
  if (entry == nullptr || entry->size == 0) return;
  const auto file = entry_storage(zip, name, kMaxStorageBytes, owner);
  auto samples = file.ok() ? read_torch_save(file->bytes, file->owner) : file.status();
  if (samples.ok()) {
    program.sample_inputs = std::move(*samples);
  } else {
    program.warnings.push_back("the sample inputs cannot be read: " + samples.status().message());
  }
}

}  // namespace tendon::archive
