// How much arithmetic a plan's products are.
#pragma once

#include "schedule/plan.h"

namespace tendon::schedule {

/// Floating-point operations of a step: two for every product of elements that a matrix product, a
/// convolution or an attention sums (padding and masked scores included); 0 for any other
/// primitive. A loop counts its body as often as it runs, a branch its costlier side, a while loop
/// one turn.
ir::Size product_operations(const Plan& plan, const Step& step);

/// Of all steps.
ir::Size product_operations(const Plan& plan);

}  // namespace tendon::schedule
