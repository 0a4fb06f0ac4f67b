// Sizes from data in generated kernels.
#pragma once

#include <string>

#include "backends/cuda/kernel_writer.h"

namespace tendon::backends::cuda {

/// A statement for one thread: the symbol becomes `value` (text of a long long), or the nearest of
/// its range, which is reported.
std::string symbol_definition(const CompileContext& context, KernelWriter& writer,
                              const ir::Symbol& symbol, const std::string& value);

}  // namespace tendon::backends::cuda
