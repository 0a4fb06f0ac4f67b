// Files that torch.save writes: a pickle and the storages that its tensors view, in a zip archive.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "archive/exported_program.h"
#include "archive/pickle.h"
#include "archive/zip_index.h"
#include "tendon/status.h"

namespace tendon::archive {

/// The object that was saved. Stored storages are used in place; `owner` keeps `bytes` alive.
Result<PickleValue> unpickle_torch_save(std::span<const std::byte> bytes,
                                        const std::shared_ptr<void>& owner);

/// The tensors of the object, in the order of its containers.
Result<std::vector<Tensor>> read_torch_save(std::span<const std::byte> bytes,
                                            std::shared_ptr<void> owner);

/// Sets the program's sample inputs from an entry, if there is one with content. They are an extra:
/// if they cannot be read, that is a warning.
void read_sample_inputs(const ZipIndex& zip, const std::string& name,
                        const std::shared_ptr<void>& owner, Program& program);

/// Of an archive whose entry ROOT/byteorder says how its storages are written; little-endian if
/// there is none. Errors: Unimplemented (big-endian), DataLoss.
Status check_byte_order(const ZipIndex& zip, const std::string& root);

}  // namespace tendon::archive
