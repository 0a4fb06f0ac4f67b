// Exported program to tensor graph: names resolved, views composed, writes made functional.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "archive/exported_program.h"
#include "ir/graph.h"
#include "tendon/status.h"
#include "tendon/tensor.h"

namespace tendon::aten {

/// A tensor that the program owns: a weight, a constant, or what a mutable buffer starts as.
/// Complex ones are described as real, with a last axis of size 2.
struct OwnedTensor {
  std::string name;  // FQN
  tendon::Tensor tensor;
};

/// A tensor the caller passes. `position` counts the flattened inputs, tensors and others.
struct UserInput {
  std::string name;
  int position = 0;
  DType dtype = DType::kFloat32;  // as the program says, complex included
  ir::Shape shape;
};

/// A tensor the caller gets. `position` counts the flattened outputs, None and numbers included.
struct UserOutput {
  std::string name;
  int position = 0;
  DType dtype = DType::kFloat32;
  ir::Shape shape;
};

/// A condition (0 or 1) on input sizes that must hold before anything runs.
struct Requirement {
  ir::Size condition;
  std::string text;
};

/// A tensor graph and what its inputs, constants, states and outputs stand for. Graph inputs are
/// numbered as `inputs`, GraphOutput::index of user outputs as `outputs`.
struct LoweredProgram {
  ir::Graph graph;
  std::vector<OwnedTensor> constants;
  std::vector<OwnedTensor> states;
  /// The state that holds the seed and the number of calls (int64 [2]), or -1: nothing is random.
  int random_state = -1;
  std::vector<UserInput> inputs;
  std::vector<UserOutput> outputs;
  std::vector<Requirement> requirements;
  std::vector<std::string> warnings;
};

/// Errors: Unimplemented, with every operator that is missing and every use that is not supported;
/// InvalidArgument for a program that contradicts itself.
Result<LoweredProgram> lower(const archive::Program& program);

}  // namespace tendon::aten
