// Lets minizip read an archive from memory.
#pragma once

#include <minizip/ioapi.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tendon::tensor {

/// An archive in memory and minizip's place in it.
struct MemoryZip {
  std::span<const std::byte> bytes;
  std::uint64_t position = 0;
  bool ended = false;  // something was read beyond the end
};

/// Reading functions over `memory`, which must outlive every use of them; for unzOpen2_64.
zlib_filefunc64_def memory_zip_functions(MemoryZip& memory);

}  // namespace tendon::tensor
