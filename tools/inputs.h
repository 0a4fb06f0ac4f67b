// Where a program's inputs come from.
#pragma once

#include <string>
#include <vector>

#include "tendon/program.h"
#include "tensor/tensor_file.h"

namespace tendon::tools {

/// Inputs that own their memory, and views of them for Method::run.
struct Inputs {
  std::vector<Tensor> tensors;
  std::string source;  // "cases.safetensors", "the archive's sample", "seed 0"
  std::vector<TensorView> views() const;
};

/// The file's "input.N" in the order of N. Errors: InvalidArgument (another number of inputs than
/// the program takes).
Result<Inputs> inputs_of_file(const tensor::TensorFile& file, const std::string& path,
                              const std::vector<TensorInfo>& infos);

/// Inputs drawn from the seed: floats N(0, 1), integers and bools in [0, 2), each axis at the lower
/// end of its range, but with at least one element where the range allows it.
/// Errors: ResourceExhausted.
Result<Inputs> draw_inputs(const std::vector<TensorInfo>& infos, std::uint64_t seed);

/// From the file if a path is given, otherwise the archive's sample, otherwise drawn.
/// Errors: those of read_tensor_file, inputs_of_file and draw_inputs.
Result<Inputs> gather_inputs(const std::string& path, const Program& program, std::uint64_t seed);

}  // namespace tendon::tools
