#include "inputs.h"

#include <algorithm>

#include "base/status_macros.h"
#include "case_file.h"
#include "tensor/random_fill.h"

namespace tendon::tools {

namespace {

// The smallest useful size of an axis.
std::int64_t drawn_size(const AxisRange& axis) {
  std::int64_t size = std::max<std::int64_t>(axis.lower, 1);
  if (axis.multiple > 1) size = (size + axis.multiple - 1) / axis.multiple * axis.multiple;
  return axis.upper ? std::min(size, *axis.upper) : size;
}

}  // namespace

std::vector<TensorView> Inputs::views() const {
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

Result<Inputs> inputs_of_file(const tensor::TensorFile& file, const std::string& path,
                              const std::vector<TensorInfo>& infos) {
  Inputs inputs;
  inputs.source = path;
  bool without_gaps = true;
  std::string names;
  for (auto& [number, tensor] : numbered_tensors(file, "input")) {
    without_gaps = without_gaps && static_cast<std::size_t>(number) == inputs.tensors.size();
    names += (names.empty() ? ": input." : ", input.") + std::to_string(number);
    inputs.tensors.push_back(tensor);
  }
  if (without_gaps && inputs.tensors.size() == infos.size()) return inputs;
  std::string message = path + " has " + std::to_string(inputs.tensors.size()) +
                        " tensors called input.N" + names + "; the program takes " +
                        std::to_string(infos.size());
  for (std::size_t i = 0; i < infos.size(); ++i) {
    message +=
        "\n  input." + std::to_string(i) + "  " + infos[i].name + "  " + infos[i].to_string();
  }
  return Status(StatusCode::kInvalidArgument, std::move(message));
}

Result<Inputs> draw_inputs(const std::vector<TensorInfo>& infos, std::uint64_t seed) {
  Inputs inputs;
  inputs.source = "seed " + std::to_string(seed);
  for (std::size_t i = 0; i < infos.size(); ++i) {
    Sizes sizes;
    for (const AxisRange& axis : infos[i].axes) sizes.push_back(drawn_size(axis));
    TENDON_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(infos[i].dtype, std::move(sizes)));
    const bool is_number = is_floating(infos[i].dtype) || is_complex(infos[i].dtype);
    TENDON_RETURN_IF_ERROR(is_number ? tensor::fill_normal(tensor.view(), seed, i)
                                     : tensor::fill_integers(tensor.view(), seed, i, 0, 2));
    inputs.tensors.push_back(std::move(tensor));
  }
  return inputs;
}

Result<Inputs> gather_inputs(const std::string& path, const Program& program, std::uint64_t seed) {
  if (!path.empty()) {
    TENDON_ASSIGN_OR_RETURN(const tensor::TensorFile file, tensor::read_tensor_file(path));
    return inputs_of_file(file, path, program.inputs());
  }
  const std::vector<Tensor>& sample = program.sample_inputs();
  if (!sample.empty() && sample.size() == program.inputs().size()) {
    return Inputs{sample, "the archive's sample"};
  }
  return draw_inputs(program.inputs(), seed);
}

}  // namespace tendon::tools
