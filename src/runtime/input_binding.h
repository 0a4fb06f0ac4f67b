// Checks what the caller passes against what the program declares, and finds the symbols' values.
#pragma once

#include <span>

#include "aten/lower.h"
#include "runtime/symbol_table.h"
#include "tendon/tensor.h"

namespace tendon::runtime {

/// Count, dtype, device, rank, each axis against its size or range, and the program's guards;
/// defines the input symbols. Nothing is defined unless all is right. Errors: InvalidArgument,
/// naming the input, the axis, what was expected and what came.
Status bind_inputs(const aten::LoweredProgram& program, std::span<const TensorView> inputs,
                   SymbolTable& symbols);

}  // namespace tendon::runtime
