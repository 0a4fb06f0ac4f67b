#include "archive/sample_inputs.h"

#include "archive/import_program.h"
#include "archive/pickle.h"
#include "base/checked_math.h"
#include "base/status_macros.h"

namespace tendon::archive {

namespace {

constexpr int kMaxDepth = 64;
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
  const RebuildTensor rebuild = [&](const PickleValue::Storage& storage, std::int64_t offset,
                                    const Sizes& sizes, const Sizes& strides) -> Result<Tensor> {
    const ZipEntry* entry = zip.find(root + "data/" + storage.key);
    if (entry == nullptr || !entry->stored)
      return data_loss("storage '" + storage.key + "' is missing");
    const auto count = base::checked_product(sizes);
    if (sizes.size() != strides.size() || offset < 0 || !count)
      return data_loss("a tensor with impossible sizes");
    const auto element = static_cast<std::int64_t>(dtype_size(storage.dtype));
    TensorView view;
    view.dtype = storage.dtype;
    view.sizes = sizes;
    view.strides = strides;
    if (*count == 0) return Tensor(view, owner);
    std::optional<std::int64_t> last = offset;
    for (std::size_t i = 0; last && i < sizes.size(); ++i) {
      if (strides[i] < 0) return data_loss("a tensor with a negative stride");
      const auto reach = base::checked_multiply(sizes[i] - 1, strides[i]);
      last = reach ? base::checked_add(*last, *reach) : std::nullopt;
    }
    const auto end = last ? base::checked_add(*last, 1) : std::nullopt;
    const auto needed = end ? base::checked_multiply(*end, element) : std::nullopt;
    if (!needed || static_cast<std::uint64_t>(*needed) > entry->bytes.size()) {
      return data_loss("a tensor reaches beyond its storage");
    }
    view.data = const_cast<std::byte*>(entry->bytes.data()) + offset * element;
    const Tensor in_place(view, owner);
    // Storages in a file within a file need not be aligned.
    if (reinterpret_cast<std::uintptr_t>(view.data) % static_cast<std::uintptr_t>(element) == 0)
      return in_place;
    return in_place.contiguous_copy();
  };
  return read_pickle(pickle, rebuild);
}

Status collect(const PickleValue& value, std::vector<Tensor>& tensors, int depth) {
  if (depth > kMaxDepth) return data_loss("containers are nested too deep");
  if (const auto* tensor = std::get_if<Tensor>(&value.content)) {
    tensors.push_back(*tensor);
  } else if (const auto* list = std::get_if<PickleValue::Sequence>(&value.content)) {
    for (const PickleValue& item : *list->items)
      TENDON_RETURN_IF_ERROR(collect(item, tensors, depth + 1));
  } else if (const auto* dict = std::get_if<PickleValue::Dict>(&value.content)) {
    for (const auto& [key, item] : *dict->items)
      TENDON_RETURN_IF_ERROR(collect(item, tensors, depth + 1));
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
  TENDON_RETURN_IF_ERROR(collect(value, tensors, 0));
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
  if (const ZipEntry* entry = zip.find("serialized_example_inputs.pt");
      entry != nullptr && entry->size > 0) {
    TENDON_ASSIGN_OR_RETURN(std::vector<std::byte> content,
                            zip.read("serialized_example_inputs.pt", kMaxEntry));
    auto owned = std::make_shared<std::vector<std::byte>>(std::move(content));
    auto samples = read_torch_save(*owned, owned);
    if (samples.ok()) program.sample_inputs = std::move(*samples);
  }
  return program;
}

}  // namespace tendon::archive
