// Files compressed with gzip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tendon/status.h"

namespace tendon::archive {

bool is_gzip(std::span<const std::byte> bytes);

/// The contents of a gzip file. Errors: DataLoss; ResourceExhausted for more than `limit` bytes, or
/// far more than the file could hold in earnest.
Result<std::vector<std::byte>> inflate_gzip(std::span<const std::byte> bytes, std::uint64_t limit);

}  // namespace tendon::archive
