#include "backends/cuda/control_step.h"

#include <fmt/format.h>

#include "backends/cuda/cuda_status.h"
#include "backends/cuda/host_access.h"
#include "backends/cuda/operand_copy.h"
#include "backends/cuda/sub_program.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

/// A loop with more kernels than that is not unrolled into a graph: its body is.
constexpr std::int64_t kUnrolledSteps = 20000;

Status copy_bytes(const Launch& launch, std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes == 0) return {};
  return to_status(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes),
                                   cudaMemcpyDeviceToDevice, launch.stream),
                   "copying a value of control flow");
}

/// What all control flow does: operands become dense memory, results are written from it.
class ControlStep : public Step {
 public:
  explicit ControlStep(const CompileContext& context) : memory_(context.memory) {}

  Status compile_operands(const CompileContext& context, const ir::Node& node) {
    for (const ir::ValueId value : node.inputs) {
      TENDON_ASSIGN_OR_RETURN(
          OperandCopy copy, OperandCopy::make(context, value, OperandCopy::Direction::kFromValue));
      inputs_.push_back(std::move(copy));
    }
    for (const ir::ValueId value : node.outputs) {
      TENDON_ASSIGN_OR_RETURN(OperandCopy copy,
                              OperandCopy::make(context, value, OperandCopy::Direction::kToValue));
      outputs_.push_back(std::move(copy));
    }
    return {};
  }

  Status bind(const KnownSizes& sizes) override {
    std::vector<std::int64_t> bytes;
    for (OperandCopy& copy : inputs_) {
      TENDON_RETURN_IF_ERROR(copy.bind(sizes));
      bytes.push_back(copy.bytes());
    }
    TENDON_RETURN_IF_ERROR(operands_.reserve(*memory_, bytes));
    for (OperandCopy& copy : outputs_) TENDON_RETURN_IF_ERROR(copy.bind(sizes));
    return bind_programs(sizes);
  }

 protected:
  virtual Status bind_programs(const KnownSizes& sizes) = 0;

  Status read_operands(const Launch& launch) {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      TENDON_RETURN_IF_ERROR(inputs_[i].enqueue(launch, operands_.data(i)));
    return {};
  }

  DeviceMemory* memory_;
  std::vector<OperandCopy> inputs_, outputs_;
  DenseValues operands_;
};

class BranchStep final : public ControlStep {
 public:
  static StepResult make(const CompileContext& context, const ir::Node& node) {
    auto step = std::make_unique<BranchStep>(context);
    const auto& branch = std::get<ir::Branch>(node.primitive);
    step->condition_ = branch.condition;
    TENDON_RETURN_IF_ERROR(step->compile_operands(context, node));
    for (const auto* graph : {branch.then_graph.get(), branch.else_graph.get()}) {
      TENDON_ASSIGN_OR_RETURN(SubProgram program, SubProgram::create(context, graph));
      step->programs_.push_back(std::move(program));
    }
    return std::unique_ptr<Step>(std::move(step));
  }
  explicit BranchStep(const CompileContext& context) : ControlStep(context) {}

  std::string host_reason() const override {
    if (!known_) return "its condition is in the data";
    return programs_[*known_].host_reason();
  }

  Status enqueue(const Launch& launch) override {
    TENDON_RETURN_IF_ERROR(read_operands(launch));
    std::size_t chosen = known_.value_or(0);
    if (!known_) {
      std::uint8_t condition = 0;
      TENDON_RETURN_IF_ERROR(launch.host->read(operands_.data(0), sizeof(condition), &condition));
      chosen = condition != 0 ? 0 : 1;
    }
    TENDON_RETURN_IF_ERROR(programs_[chosen].enqueue(launch));
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      TENDON_RETURN_IF_ERROR(outputs_[i].enqueue(launch, programs_[chosen].output(i)));
    return {};
  }

  Status capture(const Launch& launch) override {
    const Status first = programs_[0].capture(launch);
    const Status second = programs_[1].capture(launch);
    return first.ok() ? second : first;
  }

 private:
  Status bind_programs(const KnownSizes& sizes) override {
    known_.reset();
    if (condition_) {
      TENDON_ASSIGN_OR_RETURN(const std::int64_t holds, sizes.exact(*condition_));
      known_ = holds != 0 ? 0 : 1;
    }
    std::vector<std::byte*> operands = operands_.addresses();
    if (!condition_) operands.erase(operands.begin());
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      // The other side may have sizes that make no sense there.
      if (!known_ || *known_ == i) TENDON_RETURN_IF_ERROR(programs_[i].bind(sizes, operands));
    }
    return {};
  }

  std::optional<ir::Size> condition_;
  std::optional<std::size_t> known_;  // which program, where sizes decide
  std::vector<SubProgram> programs_;
};

class WhileStep final : public ControlStep {
 public:
  static StepResult make(const CompileContext& context, const ir::Node& node) {
    const auto& loop = std::get<ir::While>(node.primitive);
    TENDON_ASSIGN_OR_RETURN(SubProgram condition,
                            SubProgram::create(context, loop.condition.get()));
    TENDON_ASSIGN_OR_RETURN(SubProgram body, SubProgram::create(context, loop.body.get()));
    auto step = std::make_unique<WhileStep>(context, std::move(condition), std::move(body));
    TENDON_RETURN_IF_ERROR(step->compile_operands(context, node));
    return std::unique_ptr<Step>(std::move(step));
  }
  WhileStep(const CompileContext& context, SubProgram condition, SubProgram body)
      : ControlStep(context), condition_(std::move(condition)), body_(std::move(body)) {}

  std::string host_reason() const override { return "its condition is in the data"; }

  Status enqueue(const Launch& launch) override {
    TENDON_RETURN_IF_ERROR(read_operands(launch));
    while (true) {
      TENDON_RETURN_IF_ERROR(condition_.enqueue(launch));
      std::uint8_t holds = 0;
      TENDON_RETURN_IF_ERROR(launch.host->read(condition_.output(0), sizeof(holds), &holds));
      if (holds == 0) break;
      TENDON_RETURN_IF_ERROR(body_.enqueue(launch));
      for (std::size_t i = 0; i < outputs_.size(); ++i) {
        TENDON_RETURN_IF_ERROR(
            copy_bytes(launch, operands_.data(i), body_.output(i), inputs_[i].bytes()));
      }
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      TENDON_RETURN_IF_ERROR(outputs_[i].enqueue(launch, operands_.data(i)));
    return {};
  }

  Status capture(const Launch& launch) override {
    const Status first = condition_.capture(launch);
    const Status second = body_.capture(launch);
    return first.ok() ? second : first;
  }

 private:
  Status bind_programs(const KnownSizes& sizes) override {
    TENDON_RETURN_IF_ERROR(condition_.bind(sizes, operands_.addresses()));
    return body_.bind(sizes, operands_.addresses());
  }

  SubProgram condition_, body_;
};

class LoopStep final : public ControlStep {
 public:
  static StepResult make(const CompileContext& context, const ir::Node& node) {
    const auto& loop = std::get<ir::Loop>(node.primitive);
    TENDON_ASSIGN_OR_RETURN(SubProgram body, SubProgram::create(context, loop.body.get()));
    auto step = std::make_unique<LoopStep>(context, loop, std::move(body));
    TENDON_RETURN_IF_ERROR(step->compile_operands(context, node));
    return std::unique_ptr<Step>(std::move(step));
  }
  LoopStep(const CompileContext& context, const ir::Loop& loop, SubProgram body)
      : ControlStep(context),
        carried_(static_cast<std::size_t>(loop.carried)),
        iterated_(static_cast<std::size_t>(loop.iterated)),
        length_size_(loop.length),
        body_(std::move(body)) {}

  std::string host_reason() const override {
    if (std::string reason = body_.host_reason(); !reason.empty()) return reason;
    const auto steps = static_cast<std::int64_t>(body_.step_count());
    if (length_ * std::max<std::int64_t>(steps, 1) <= kUnrolledSteps) return {};
    return fmt::format("{} rounds of {} kernels are too many for one graph", length_, steps);
  }

  Status enqueue(const Launch& launch) override {
    TENDON_RETURN_IF_ERROR(read_operands(launch));
    for (std::int64_t t = 0; t < length_; ++t) {
      for (std::size_t i = 0; i < iterated_; ++i) {
        const std::int64_t bytes = inputs_[carried_ + i].slice_bytes();
        TENDON_RETURN_IF_ERROR(
            copy_bytes(launch, slices_.data(i), operands_.data(carried_ + i) + t * bytes, bytes));
      }
      TENDON_RETURN_IF_ERROR(body_.enqueue(launch));
      for (std::size_t i = 0; i < carried_; ++i) {
        TENDON_RETURN_IF_ERROR(
            copy_bytes(launch, operands_.data(i), body_.output(i), inputs_[i].bytes()));
      }
      for (std::size_t i = carried_; i < outputs_.size(); ++i) {
        const std::int64_t bytes = outputs_[i].slice_bytes();
        TENDON_RETURN_IF_ERROR(
            copy_bytes(launch, stacked_.data(i - carried_) + t * bytes, body_.output(i), bytes));
      }
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      std::byte* dense = i < carried_ ? operands_.data(i) : stacked_.data(i - carried_);
      TENDON_RETURN_IF_ERROR(outputs_[i].enqueue(launch, dense));
    }
    return {};
  }

  Status capture(const Launch& launch) override { return body_.capture(launch); }

 private:
  Status bind_programs(const KnownSizes& sizes) override {
    TENDON_ASSIGN_OR_RETURN(length_, sizes.exact(length_size_));
    std::vector<std::int64_t> slices;
    for (std::size_t i = 0; i < iterated_; ++i)
      slices.push_back(inputs_[carried_ + i].slice_bytes());
    TENDON_RETURN_IF_ERROR(slices_.reserve(*memory_, slices));
    std::vector<std::int64_t> stacked;
    for (std::size_t i = carried_; i < outputs_.size(); ++i) stacked.push_back(outputs_[i].bytes());
    TENDON_RETURN_IF_ERROR(stacked_.reserve(*memory_, stacked));
    std::vector<std::byte*> operands = operands_.addresses();
    for (std::size_t i = 0; i < iterated_; ++i) operands[carried_ + i] = slices_.data(i);
    return body_.bind(sizes, operands);
  }

  std::size_t carried_, iterated_;
  ir::Size length_size_;
  std::int64_t length_ = 0;
  SubProgram body_;
  DenseValues slices_, stacked_;
};

}  // namespace

StepResult make_control_step(const CompileContext& context, ir::NodeId id) {
  const ir::Node& node = context.plan->graph->node(id);
  if (std::holds_alternative<ir::Branch>(node.primitive)) return BranchStep::make(context, node);
  if (std::holds_alternative<ir::While>(node.primitive)) return WhileStep::make(context, node);
  return LoopStep::make(context, node);
}

}  // namespace tendon::backends::cuda
