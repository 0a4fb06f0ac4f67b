// Plain copies of memory by the threads of a grid.
#pragma once

namespace tendon::device {

struct alignas(16) CopiedWord {
  unsigned long long first, second;
};

/// By words of 16 bytes where both addresses allow it.
inline __device__ void copy_bytes(char* to, const char* from, long long bytes) {
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const auto address = reinterpret_cast<unsigned long long>(to) |
                       reinterpret_cast<unsigned long long>(from);
  long long done = 0;
  if (address % sizeof(CopiedWord) == 0) {
    const long long words = bytes / static_cast<long long>(sizeof(CopiedWord));
    for (long long i = first; i < words; i += stride)
      reinterpret_cast<CopiedWord*>(to)[i] = reinterpret_cast<const CopiedWord*>(from)[i];
    done = words * static_cast<long long>(sizeof(CopiedWord));
  }
  for (long long i = done + first; i < bytes; i += stride) to[i] = from[i];
}

/// Strided memory, by elements of `element_bytes`.
struct StridedMemory {
  long long elements;
  int element_bytes;
  int rank;
  long long sizes[32];
  long long strides[32];  // in elements
};

/// Between strided memory and dense row-major memory.
inline __device__ void copy_strided(const StridedMemory& memory, char* strided, char* dense,
                                    bool to_dense) {
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = first; i < memory.elements; i += stride) {
    long long rest = i;
    long long at = 0;
    for (int axis = memory.rank - 1; axis >= 0; --axis) {
      at += rest % memory.sizes[axis] * memory.strides[axis];
      rest /= memory.sizes[axis];
    }
    char* one = strided + at * memory.element_bytes;
    char* other = dense + i * memory.element_bytes;
    for (int byte = 0; byte < memory.element_bytes; ++byte) {
      if (to_dense) {
        other[byte] = one[byte];
      } else {
        one[byte] = other[byte];
      }
    }
  }
}

}  // namespace tendon::device
