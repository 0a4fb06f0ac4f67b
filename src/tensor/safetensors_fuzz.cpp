// Any bytes are either refused or become tensors whose every element can be read.
#include <cstdlib>
#include <memory>
#include <vector>

#include "tensor/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  auto bytes = std::make_shared<std::vector<std::byte>>(begin, begin + size);
  const auto file = tendon::tensor::parse_safetensors(*bytes, bytes);
  if (!file.ok()) return 0;
  for (const auto& [name, tensor] : file->tensors) {
    if (!tensor.contiguous_copy().ok()) std::abort();
  }
  return 0;
}
