// What export assumed of its inputs: conditions in Python over the arguments of forward().
#pragma once

#include "archive/exported_program.h"
#include "archive/json.h"

namespace tendon::archive {

/// Reads `guards_code`, a list of texts. Needs the program's inputs and tensors; `signature` is
/// that of the whole module's call, or null. Guards that cannot be read become warnings. Throws
/// FormatError.
void import_guards(const Json& guards_code, const Json* signature, Program& program);

}  // namespace tendon::archive
