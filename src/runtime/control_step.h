// Branches and loops: steps that run plans of sub-graphs.
#pragma once

#include <memory>

#include "backends/backend.h"

namespace tendon::runtime {

bool is_control_flow(const ir::Primitive& primitive);

Result<std::unique_ptr<backends::Step>> make_control_step(const backends::CompileContext& context,
                                                          ir::NodeId node);

}  // namespace tendon::runtime
