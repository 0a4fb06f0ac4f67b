#include "archive/sample_inputs.h"

#include "archive/import_program.h"
#include "archive/pickle.h"
#include "archive/storage_view.h"
#include "base/status_macros.h"

namespace tendon::archive {

namespace {

/// Containers that share their contents say the same tensor many times over; files do not.
constexpr std::size_t kMaxTensors = 1u << 16;
constexpr std::size_t kMaxItems = 1u << 20;
constexpr std::uint64_t kMaxEntry = std::uint64_t{1} << 34;

Status data_loss(std::string message) { return Status(StatusCode::kDataLoss, std::move(message)); }

/// A torch.save file: its pickle, with tensors over its storages.
Result<PickleValue> unpickle(std::span<const std::byte> bytes, const std::shared_ptr<void>& owner) {
  TENDON_ASSIGN_OR_RETURN(const ZipIndex zip, ZipIndex::open(bytes));
  std::string root;
  for (const auto& [name, entry] : zip.entries()) {
    const std::size_t at = name.rfind("data.pkl");
    if (at != std::string::npos && at + 8 == name.size()) root = name.substr(0, at);
  }
  TENDON_ASSIGN_OR_RETURN(const std::vector<std::byte> pickle,
                          zip.read(root + "data.pkl", kMaxEntry));
  std::map<std::string, StorageBytes> storages;
  const RebuildTensor rebuild = [&](const PickleValue::Storage& storage, std::int64_t offset,
                                    const Sizes& sizes, const Sizes& strides) -> Result<Tensor> {
    auto known = storages.find(storage.key);
    if (known == storages.end()) {
      const ZipEntry* entry = zip.find(root + "data/" + storage.key);
      if (entry == nullptr || !entry->stored)
        return data_loss("storage '" + storage.key + "' is missing");
      // Storages in a file within a file need not be aligned.
      TENDON_ASSIGN_OR_RETURN(StorageBytes found, aligned_storage({entry->bytes, owner}));
      known = storages.emplace(storage.key, std::move(found)).first;
    }
    return view_of_storage(known->second, storage.dtype, sizes, strides, offset,
                           "a tensor of storage '" + storage.key + "'");
  };
  return read_pickle(pickle, rebuild);
}

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

/// A state dict: names and tensors.
Status read_named(const ZipIndex& zip, const std::string& name,
                  std::vector<std::pair<std::string, Tensor>>& result,
                  std::vector<std::shared_ptr<void>>& owners) {
  const ZipEntry* entry = zip.find(name);
  if (entry == nullptr || entry->size == 0) return {};
  TENDON_ASSIGN_OR_RETURN(std::vector<std::byte> content, zip.read(name, kMaxEntry));
  auto owned = std::make_shared<std::vector<std::byte>>(std::move(content));
  owners.push_back(owned);
  TENDON_ASSIGN_OR_RETURN(const PickleValue value, unpickle(*owned, owned));
  const auto* dict = std::get_if<PickleValue::Dict>(&value.content);
  if (dict == nullptr) return data_loss("'" + name + "' is not a dict");
  for (const auto& [key, item] : *dict->items) {
    const auto* text = std::get_if<std::string>(&key.content);
    const auto* tensor = std::get_if<Tensor>(&item.content);
    if (text != nullptr && tensor != nullptr) result.emplace_back(*text, *tensor);
  }
  return {};
}

}  // namespace

Result<std::vector<Tensor>> read_torch_save(std::span<const std::byte> bytes,
                                            std::shared_ptr<void> owner) {
  TENDON_ASSIGN_OR_RETURN(const PickleValue value, unpickle(bytes, owner));
  std::vector<Tensor> tensors;
  std::size_t visits = 0;
  TENDON_RETURN_IF_ERROR(collect(value, tensors, visits));
  return tensors;
}

Result<Program> read_old_layout(const ZipIndex& zip, std::shared_ptr<void> owner) {
  (void)owner;  // old entries may be deflated: everything is copied
  TENDON_ASSIGN_OR_RETURN(const std::vector<std::byte> json,
                          zip.read("serialized_exported_program.json", std::uint64_t{1} << 31));
  TENDON_ASSIGN_OR_RETURN(Program program, import_program(json));
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<std::shared_ptr<void>> owners;
  TENDON_RETURN_IF_ERROR(read_named(zip, "serialized_state_dict.pt", tensors, owners));
  TENDON_RETURN_IF_ERROR(read_named(zip, "serialized_constants.pt", tensors, owners));
  for (auto& [name, tensor] : tensors) program.weights[name] = Weight{tensor, false};
  for (const InputSpec& spec : program.inputs) {
    const auto weight = program.weights.find(spec.target);
    if (spec.kind == InputSpec::Kind::kParameter && weight != program.weights.end())
      weight->second.is_parameter = true;
  }
  if (const ZipEntry* entry = zip.find("serialized_example_inputs.pt");
      entry != nullptr && entry->size > 0) {
    TENDON_ASSIGN_OR_RETURN(std::vector<std::byte> content,
                            zip.read("serialized_example_inputs.pt", kMaxEntry));
    auto owned = std::make_shared<std::vector<std::byte>>(std::move(content));
    auto samples = read_torch_save(*owned, owned);
    if (samples.ok()) {
      program.sample_inputs = std::move(*samples);
    } else {
      program.warnings.push_back("the sample inputs cannot be read: " + samples.status().message());
    }
  }
  return program;
}

}  // namespace tendon::archive
