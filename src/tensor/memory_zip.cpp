#include "tensor/memory_zip.h"

#include <algorithm>
#include <cstring>

namespace tendon::tensor {

namespace {

voidpf open(voidpf opaque, const void*, int) {
  auto& memory = *static_cast<MemoryZip*>(opaque);
  memory.position = 0;
  memory.ended = false;
  return opaque;
}

uLong read(voidpf opaque, voidpf, void* buffer, uLong size) {
  auto& memory = *static_cast<MemoryZip*>(opaque);
  const std::uint64_t count = std::min<std::uint64_t>(size, memory.bytes.size() - memory.position);
  if (count != 0) std::memcpy(buffer, memory.bytes.data() + memory.position, count);
  memory.position += count;
  memory.ended = memory.ended || count < size;
  return count;
}

uLong write(voidpf, voidpf, const void*, uLong) { return 0; }

ZPOS64_T tell(voidpf opaque, voidpf) { return static_cast<MemoryZip*>(opaque)->position; }

long seek(voidpf opaque, voidpf, ZPOS64_T offset, int origin) {
  auto& memory = *static_cast<MemoryZip*>(opaque);
  std::uint64_t target = offset;
  if (origin == ZLIB_FILEFUNC_SEEK_CUR) target += memory.position;
  if (origin == ZLIB_FILEFUNC_SEEK_END) target += memory.bytes.size();
  if (target > memory.bytes.size()) return -1;
  memory.position = target;
  return 0;
}

int close(voidpf, voidpf) { return 0; }
/// minizip takes the end of the file for zeros unless it is told that reading failed.
int error(voidpf opaque, voidpf) { return static_cast<MemoryZip*>(opaque)->ended ? 1 : 0; }

}  // namespace

zlib_filefunc64_def memory_zip_functions(MemoryZip& memory) {
  return {.zopen64_file = open,
          .zread_file = read,
          .zwrite_file = write,
          .ztell64_file = tell,
          .zseek64_file = seek,
          .zclose_file = close,
          .zerror_file = error,
          .opaque = &memory};
}

}  // namespace tendon::tensor
