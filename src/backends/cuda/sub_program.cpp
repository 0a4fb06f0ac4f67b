#include "backends/cuda/sub_program.h"

#include "base/status_macros.h"

namespace tendon::backends::cuda {

Status DenseValues::reserve(DeviceMemory& memory, std::span<const std::int64_t> bytes) {
  std::int64_t total = 0;
  for (const std::int64_t size : bytes) total += aligned(size);
  if (block_.data() == nullptr || block_.bytes() < total) {
    block_ = Block();
    TENDON_ASSIGN_OR_RETURN(block_, memory.allocate(total, "values of control flow"));
  }
  addresses_.clear();
  std::byte* next = block_.data();
  for (const std::int64_t size : bytes) {
    addresses_.push_back(next);
    next += aligned(size);
  }
  return {};
}

Result<SubProgram> SubProgram::create(const CompileContext& context, const ir::Graph* graph) {
  for (const auto& [key, plan] : context.plan->subplans) {
    if (key != graph) continue;
    CompileContext of_plan = context;
    of_plan.plan = plan.get();
    SubProgram program;
    program.memory_ = context.memory;
    program.output_count_ = plan->graph->outputs.size();
    TENDON_ASSIGN_OR_RETURN(program.runner_, PlanRunner::create(of_plan));
    return program;
  }
  return Status(StatusCode::kInternal, "a sub-graph has no plan");
}

Status SubProgram::bind(const KnownSizes& sizes, const std::vector<std::byte*>& inputs) {
  TENDON_RETURN_IF_ERROR(runner_->bind(sizes));
  std::vector<std::int64_t> bytes;
  for (std::size_t i = 0; i < output_count_; ++i) {
    const auto bound = runner_->output_bound(static_cast<int>(i));
    if (!bound) {
      return Status(StatusCode::kResourceExhausted, "a result of control flow has no upper bound");
    }
    bytes.push_back(*bound);
  }
  TENDON_RETURN_IF_ERROR(outputs_.reserve(*memory_, bytes));
  runner_->place(PlanMemory{inputs, {}, outputs_.addresses()});
  return {};
}

}  // namespace tendon::backends::cuda
