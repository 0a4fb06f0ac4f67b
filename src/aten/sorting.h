// Searching in sorted sequences, inside a body.
#pragma once

#include <functional>

#include "aten/builder.h"

namespace tendon::aten {

/// How many elements of a sequence of `size` come before the place that is looked for: `before`
/// says it for one position (`inside`: false where the position is not meant, it is 0 then), true
/// for a prefix of the sequence and false for the rest. The size must have an upper bound.
Expr binary_search(Builder& b, const Size& size,
                   const std::function<Expr(Expr position, Expr inside)>& before);

}  // namespace tendon::aten
