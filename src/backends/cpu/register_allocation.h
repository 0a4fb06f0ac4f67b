#pragma once

#include "backends/cpu/vector_program.h"

namespace tendon::backends::cpu {

/// Drops instructions that no root needs and lets values that do not live at the same time share a
/// register. A result never shares a register with an operand of its own instruction, and a root
/// shares with nothing.
void allocate_registers(VectorProgram& program);

}  // namespace tendon::backends::cpu
