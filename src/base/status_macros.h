// Propagation of errors: two macros, so that a chain of fallible calls reads top to bottom.
#pragma once

#include "tendon/status.h"

#define TENDON_CONCAT_INNER(a, b) a##b
#define TENDON_CONCAT(a, b) TENDON_CONCAT_INNER(a, b)

/// Returns the error of a Status expression from the enclosing function.
#define TENDON_RETURN_IF_ERROR(expression)                                    \
  do {                                                                        \
    if (::tendon::Status tendon_status_ = (expression); !tendon_status_.ok()) \
      return tendon_status_;                                                  \
  } while (false)

/// TENDON_ASSIGN_OR_RETURN(auto x, f()): x becomes the value of f(), or its error is returned.
#define TENDON_ASSIGN_OR_RETURN(target, expression)            \
  auto TENDON_CONCAT(tendon_result_, __LINE__) = (expression); \
  if (!TENDON_CONCAT(tendon_result_, __LINE__).ok())           \
    return TENDON_CONCAT(tendon_result_, __LINE__).status();   \
  target = std::move(*TENDON_CONCAT(tendon_result_, __LINE__))
