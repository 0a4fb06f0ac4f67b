// Cases: files that hold inputs as "input.N", and outputs as "output.N" with their strides in the
// metadata ("output.0": "[4, 1]").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tendon/program.h"
#include "tensor/tensor_file.h"

namespace tendon::tools {

/// The tensors called PREFIX.N, by N.
std::map<std::int64_t, Tensor> numbered_tensors(const tensor::TensorFile& file,
                                                const std::string& prefix);

/// "[60, 1, 15, 3]", and back. Errors: DataLoss.
std::string strides_text(std::span<const std::int64_t> strides);
Result<Sizes> parse_strides(const std::string& text);

/// The name of an output in a case file.
std::string output_name(const TensorInfo& info);

/// Writes the outputs with their strides. Errors: those of write_tensor_file.
Status write_outputs(const std::string& path, const std::vector<TensorInfo>& infos,
                     std::span<const TensorView> outputs);

/// What a case expects of one output.
struct ExpectedOutput {
  Tensor values;
  std::optional<Sizes> strides;  // where the case says
};

/// The expected outputs by N. Errors: DataLoss (strides that are none, or of another rank).
Result<std::map<std::int64_t, ExpectedOutput>> expected_outputs(const tensor::TensorFile& file);

/// Whether a tensor of these sizes and strides has the strides it should: equal, but for axes of at
/// most one element, and for tensors without elements. Expected strides that leave gaps or overlap
/// (a view of something larger) only ask for dense memory, since outputs are made dense.
bool strides_agree(const Sizes& sizes, const Sizes& strides, const Sizes& expected);

}  // namespace tendon::tools
