#include "archive/load.h"
#include "aten/lower.h"
#include "base/status_macros.h"
#include "engine.h"
#include "ir/evaluate.h"
#include "passes/pass.h"
#include "passes/split_constants.h"

namespace tendon::conformance {

namespace {

/// A complex tensor, from the real one with a last axis of size 2 that stands for it.
Tensor as_complex(const Tensor& real, DType dtype) {
  TensorView view = real.view();
  view.dtype = dtype;
  view.sizes.pop_back();
  view.strides = contiguous_strides(view.sizes);
  return Tensor(view, std::make_shared<Tensor>(real));
}

class OracleSession final : public Session {
 public:
  explicit OracleSession(aten::LoweredProgram program) : program_(std::move(program)) {
    for (const aten::OwnedTensor& constant : program_.constants) {
      constants_.push_back(constant.tensor.view());
    }
    for (const aten::OwnedTensor& state : program_.states) states_.push_back(state.tensor);
  }

  Result<std::vector<Output>> run(const std::vector<Tensor>& inputs) override {
    std::vector<TensorView> input_views, state_views;
    for (const Tensor& input : inputs) input_views.push_back(input.view());
    for (const Tensor& state : states_) state_views.push_back(state.view());
    TENDON_ASSIGN_OR_RETURN(const ir::EvaluationOutputs evaluated,
                            ir::evaluate(program_.graph, input_views, constants_, state_views));
    std::vector<Output> outputs;
    for (std::size_t i = 0; i < evaluated.tensors.size(); ++i) {
      const ir::GraphOutput& output = program_.graph.outputs[i];
      const Tensor& tensor = evaluated.tensors[i];
      const auto index = static_cast<std::size_t>(output.index);
      if (output.kind == ir::GraphOutput::Kind::kState) states_[index] = tensor;
      if (output.kind != ir::GraphOutput::Kind::kUser) continue;
      const aten::UserOutput& user = program_.outputs[index];
      outputs.push_back(
          {user.position, is_complex(user.dtype) ? as_complex(tensor, user.dtype) : tensor});
    }
    return outputs;
  }

 private:
  aten::LoweredProgram program_;
  std::vector<TensorView> constants_;
  std::vector<Tensor> states_;
};

}  // namespace

namespace {

Result<aten::LoweredProgram> lowered_program(const Case& test) {
  TENDON_ASSIGN_OR_RETURN(const archive::Program program,
                          archive::read_program(*test.program, test.program, test.name));
  return aten::lower(program);
}

}  // namespace

Result<std::unique_ptr<Session>> open_oracle(const Case& test) {
  TENDON_ASSIGN_OR_RETURN(aten::LoweredProgram lowered, lowered_program(test));
  return std::unique_ptr<Session>(std::make_unique<OracleSession>(std::move(lowered)));
}

Result<std::unique_ptr<Session>> open_passes(const Case& test) {
  TENDON_ASSIGN_OR_RETURN(aten::LoweredProgram lowered, lowered_program(test));
  TENDON_RETURN_IF_ERROR(passes::run_pipeline(lowered.graph));
  constexpr std::int64_t kFoldedBytes = 1 << 30;
  const passes::ConstantSplit split = passes::split_constants(
      lowered.graph, static_cast<int>(lowered.constants.size()), kFoldedBytes);
  std::vector<TensorView> constants;
  for (const aten::OwnedTensor& constant : lowered.constants) {
    constants.push_back(constant.tensor.view());
  }
  auto folded = ir::evaluate(split.constants, {}, constants);
  if (!folded.ok()) return folded.status().with_context("constant part");
  for (Tensor& tensor : folded->tensors) lowered.constants.push_back({"", std::move(tensor)});
  return std::unique_ptr<Session>(std::make_unique<OracleSession>(std::move(lowered)));
}

}  // namespace tendon::conformance
