// What the parts of a program file must have to do with each other.
#pragma once

#include "archive/exported_program.h"
#include "tendon/status.h"

namespace tendon::archive {

/// The signature has the graph's inputs and outputs, and every tensor is described, made once, and
/// made before it is used. Errors: DataLoss.
Status check_graph(const Program& program);

/// Every weight that the program takes is there, and is what the graph says; marks the parameters
/// among them. Errors: DataLoss.
Status check_weights(Program& program);

}  // namespace tendon::archive
