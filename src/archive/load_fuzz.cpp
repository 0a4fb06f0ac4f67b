// Any bytes, taken as a program file, are either refused or become a program whose every weight and
// sample input can be read.
#include <cstdlib>

#include "archive/load.h"

namespace {

/// Sanitizers see the bytes that a view reaches; expanded views may claim many more elements.
void read_elements(const tendon::Tensor& tensor) {
  constexpr std::int64_t kMaxElements = 1 << 16;
  if (tensor.view().elements() > kMaxElements) return;
  if (!tensor.contiguous_copy().ok()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  tendon::archive::ReadOptions options;
  options.max_drawn_bytes = 1 << 20;
  const auto program = tendon::archive::read_program(bytes, nullptr, "input", options);
  if (!program.ok()) {
    if (program.status().message().empty()) std::abort();
    return 0;
  }
  if (program->draw_weights) program->draw_weights();
  for (const auto& [name, weight] : program->weights) read_elements(weight.tensor);
  for (const tendon::Tensor& tensor : program->sample_inputs) read_elements(tensor);
  for (const auto& [guard, text] : program->guards) {
    if (guard.to_string().empty()) std::abort();
  }
  return 0;
}
