// Programs of the conformance suite as a user has them: loaded from a file, with recorded calls.
#pragma once

#include <string>
#include <vector>

#include "suite.h"
#include "tendon/program.h"

namespace tendon::test {

/// A program and what PyTorch made of its calls.
struct RecordedProgram {
  Program program;
  std::vector<conformance::Call> calls;

  /// The inputs of call `i`, in memory that lives as long as this object.
  std::vector<TensorView> inputs(std::size_t i) const;
  /// Whether outputs are those of call `i`: values, sizes, strides. A failed assertion if not.
  void expect_outputs(std::size_t i, std::span<const TensorView> outputs) const;
};

/// The path of a program of programs.zip, written to a file of this process's own.
std::string program_file(const std::string& name);
/// Loads it; a failed assertion if that fails.
RecordedProgram load_recorded(const std::string& name, const LoadOptions& options);

}  // namespace tendon::test
