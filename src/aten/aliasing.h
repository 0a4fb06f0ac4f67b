// Operators that give a view where the memory layout allows it and a copy where it does not: which
// of both the program meant decides who sees later writes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "archive/exported_program.h"

namespace tendon::aten {

/// Whether the operator is one that reshapes, and copies where no strides describe the result.
bool may_copy(std::string_view target);

/// Whether the node's output shares no memory with the tensor named `base`, by the strides that
/// export recorded. False where they do not tell.
bool output_is_copy(const archive::Graph& graph, const archive::Node& node,
                    const std::string& base);

/// Whether a tensor of these sizes and strides can be seen under another shape without moving an
/// element.
bool can_view(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
              std::span<const std::int64_t> shape);

}  // namespace tendon::aten
