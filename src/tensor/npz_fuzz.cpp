// Any bytes, taken as an archive and as a single array, are either refused or become tensors whose
// every element can be read.
#include <cstdlib>

#include "tensor/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto tensor = tendon::tensor::parse_npy(bytes); tensor.ok()) {
    if (!tensor->contiguous_copy().ok()) std::abort();
  }
  if (const auto file = tendon::tensor::parse_npz(bytes); file.ok()) {
    for (const auto& [name, tensor] : file->tensors) {
      if (!tensor.contiguous_copy().ok()) std::abort();
    }
  }
  return 0;
}
