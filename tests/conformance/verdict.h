// Whether a case passes.
#pragma once

#include <string>

#include "engine.h"

namespace tendon::conformance {

struct Verdict {
  enum class Kind { kPassed, kFailed, kMissing, kSkipped };
  Kind kind = Kind::kPassed;
  std::string detail;  // what went wrong, or why it was not run
  double seconds = 0;
};

/// What to compare besides types and sizes.
struct Strictness {
  bool values = true;
  bool strides = false;
};

/// Opens the case's program and makes its calls in order. kMissing: the program needs something
/// that is not implemented.
Verdict run_case(const Case& test, OpenSession open_session, Strictness strictness);

}  // namespace tendon::conformance
