// Reductions that other families build on, too.
#pragma once

#include <vector>

#include "aten/builder.h"

namespace tendon::aten {

/// log(sum(exp(self))) over these axes (wrapped and sorted); infinities stay themselves.
Tensor logsumexp(Builder& b, const Tensor& self, const std::vector<int>& axes, bool keep_axes);

}  // namespace tendon::aten
