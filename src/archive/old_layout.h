// The layout that programs had before torch 2.8: a program and torch.save files.
#pragma once

#include <memory>

#include "archive/exported_program.h"
#include "archive/zip_index.h"
#include "tendon/status.h"

namespace tendon::archive {

/// What tells an archive of this layout.
inline constexpr char kOldLayoutProgram[] = "serialized_exported_program.json";

Result<Program> read_old_layout(const ZipIndex& zip, const std::shared_ptr<void>& owner);

}  // namespace tendon::archive
