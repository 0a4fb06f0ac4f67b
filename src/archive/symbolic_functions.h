// The functions of sympy, of torch's own sympy extensions, and of Python that expressions call.
#pragma once

#include <span>
#include <string>

#include "archive/symbolic_number.h"

namespace tendon::archive {

/// Errors: Unimplemented for a function (with that many arguments) that is not known.
Result<SymbolicNumber> apply_symbolic(const std::string& function,
                                      std::span<const SymbolicNumber> arguments);

}  // namespace tendon::archive
