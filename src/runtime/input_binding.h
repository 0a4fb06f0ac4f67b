// Checks what the caller passes against what the program declares, and finds the symbols' values.
#pragma once

#include <span>
#include <vector>

#include "aten/lower.h"
#include "runtime/symbol_table.h"
#include "tendon/tensor.h"

namespace tendon::runtime {

/// Count, dtype, device, rank, each axis against its size or range, and the program's guards;
/// defines the input symbols. Nothing is defined unless all is right. Programs on `device` take
/// inputs there and on the CPU. Errors: InvalidArgument, naming the input, the axis, what was
/// expected and what came.
Status bind_inputs(const aten::LoweredProgram& program, Device device,
                   std::span<const TensorView> inputs, SymbolTable& symbols);

/// The sizes that were bound last: inputs that have them need no second check.
class InputKey {
 public:
  bool matches(const aten::LoweredProgram& program, Device device,
               std::span<const TensorView> inputs) const;
  void set(std::span<const TensorView> inputs);
  void clear() { is_set_ = false; }
  bool is_set() const { return is_set_; }

 private:
  std::vector<Sizes> sizes_;
  bool is_set_ = false;
};

}  // namespace tendon::runtime
