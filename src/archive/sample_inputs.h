// torch.save files, and the layout that programs had before torch 2.8, which is made of them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "archive/exported_program.h"
#include "archive/zip_index.h"
#include "tendon/status.h"

namespace tendon::archive {

/// The tensors of a torch.save file, in the order of its containers. Stored storages are used in
/// place.
Result<std::vector<Tensor>> read_torch_save(std::span<const std::byte> bytes,
                                            std::shared_ptr<void> owner);

Result<Program> read_old_layout(const ZipIndex& zip, std::shared_ptr<void> owner);

}  // namespace tendon::archive
