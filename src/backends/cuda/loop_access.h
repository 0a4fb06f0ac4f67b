// How a fused kernel's loads lie in memory: which threads should run side by side.
#pragma once

#include "schedule/plan.h"

namespace tendon::backends::cuda {

/// Loads of the node's body that are dense along the last outer axis and not along the last inner
/// one, less those where it is the other way round: positive if neighbouring threads should take
/// neighbouring outer points.
int votes_for_outer_lanes(const schedule::Plan& plan, const schedule::LoopKernel& kernel,
                          const schedule::LoopNode& node);

/// The outer axes, outermost first, as what the kernel stores last lies in memory.
std::vector<int> outer_axes_as_stored(const schedule::Plan& plan,
                                      const schedule::LoopKernel& kernel);

}  // namespace tendon::backends::cuda
