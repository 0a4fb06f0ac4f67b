// User outputs as a run leaves them: which buffer, and how its elements lie.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "aten/lower.h"
#include "schedule/plan.h"
#include "tendon/program.h"
#include "tendon/tensor.h"

namespace tendon::runtime {

/// As the program says: of a complex output, without the pair axis.
struct OutputLayout {
  schedule::BufferId buffer = schedule::kNoBuffer;
  ir::Shape shape, strides;
};

/// By number of the user output.
std::vector<OutputLayout> output_layouts(const aten::LoweredProgram& program,
                                         const schedule::Plan& plan);
/// Views of the right dtype and rank, without data.
std::vector<TensorView> empty_views(const std::vector<TensorInfo>& outputs);
/// Gives the view the sizes and strides of this run; allocates nothing.
Status set_extents(const OutputLayout& layout, const ir::SymbolLookup& lookup, TensorView& view);

/// Whether a caller's memory may be bound to an output: it must hold the output at its upper bound.
/// No data: the output is unbound. Errors: InvalidArgument.
Status check_output_memory(const std::vector<TensorInfo>& outputs, std::size_t index,
                           const void* data, std::size_t bytes);

}  // namespace tendon::runtime
