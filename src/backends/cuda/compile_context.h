// What compiling a plan's steps shares.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "backends/cuda/check_table.h"
#include "backends/cuda/kernel_library.h"
#include "backends/cuda/symbol_numbers.h"
#include "schedule/plan.h"

namespace tendon::backends::cuda {

class DeviceMemory;
class MathLibraries;

struct CompileContext {
  const schedule::Plan* plan = nullptr;
  KernelLibrary* library = nullptr;
  SymbolNumbers* symbols = nullptr;
  CheckTable* checks = nullptr;
  /// cuBLASLt and cuDNN of this program; null where nothing can be launched (tests of sources).
  MathLibraries* math = nullptr;
  std::string origin;  // of the step being compiled
  /// First bytes of the constants on the device, by index of the constant table.
  std::span<std::byte* const> constants;
  /// Where control flow gets the memory of its sub-graphs.
  DeviceMemory* memory = nullptr;
};

}  // namespace tendon::backends::cuda
