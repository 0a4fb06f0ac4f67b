#include "archive/old_layout.h"

#include "archive/import_program.h"
#include "archive/storage_view.h"
#include "archive/torch_save.h"
#include "base/status_macros.h"

namespace tendon::archive {

namespace {

Status data_loss(std::string message) { return Status(StatusCode::kDataLoss, std::move(message)); }

/// Tensors of a state dict become weights.
Status read_state_dict(const ZipIndex& zip, const std::string& name,
                       const std::shared_ptr<void>& owner, Program& program) {
  const ZipEntry* entry = zip.find(name);
  if (entry == nullptr || entry->size == 0) return {};
  TENDON_ASSIGN_OR_RETURN(const StorageBytes file,
                          entry_storage(zip, name, kMaxStorageBytes, owner));
  auto value = unpickle_torch_save(file.bytes, file.owner);
  if (!value.ok()) return value.status().with_context("entry '" + name + "'");
  const auto* dict = std::get_if<PickleValue::Dict>(&value->content);
  if (dict == nullptr) return data_loss("entry '" + name + "' is not a dict");
  for (const auto& [key, item] : *dict->items) {
    const auto* text = std::get_if<std::string>(&key.content);
    const auto* tensor = std::get_if<Tensor>(&item.content);
    if (text != nullptr && tensor != nullptr) program.weights[*text] = Weight{*tensor, false};
  }
  return {};
}

}  // namespace

Result<Program> read_old_layout(const ZipIndex& zip, const std::shared_ptr<void>& owner) {
  TENDON_ASSIGN_OR_RETURN(const StorageBytes json,
                          checked_entry(zip, kOldLayoutProgram, kMaxJsonBytes, owner));
  TENDON_ASSIGN_OR_RETURN(Program program, import_program(json.bytes));
  TENDON_RETURN_IF_ERROR(read_state_dict(zip, "serialized_state_dict.pt", owner, program));
  TENDON_RETURN_IF_ERROR(read_state_dict(zip, "serialized_constants.pt", owner, program));
  read_sample_inputs(zip, "serialized_example_inputs.pt", owner, program);
  return program;
}

}  // namespace tendon::archive
