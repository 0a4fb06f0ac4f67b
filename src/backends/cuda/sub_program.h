// A sub-graph of control flow on the device: its plan, and memory for its operands and outputs.
#pragma once

#include <memory>
#include <vector>

#include "backends/cuda/plan_runner.h"

namespace tendon::backends::cuda {

/// Memory that never moves between runs of the same sizes.
class DenseValues {
 public:
  Status reserve(DeviceMemory& memory, std::span<const std::int64_t> bytes);
  std::byte* data(std::size_t i) const { return addresses_[i]; }
  const std::vector<std::byte*>& addresses() const { return addresses_; }

 private:
  Block block_;
  std::vector<std::byte*> addresses_;
};

class SubProgram {
 public:
  static Result<SubProgram> create(const CompileContext& context, const ir::Graph* graph);

  /// The sub-graph's operands lie at `inputs` in every run. Errors: ResourceExhausted.
  Status bind(const KnownSizes& sizes, const std::vector<std::byte*>& inputs);
  Status enqueue(const Launch& launch) { return runner_->enqueue(launch); }
  Status capture(const Launch& launch) { return runner_->capture(launch); }
  /// Row-major. After bind.
  std::byte* output(std::size_t i) const { return outputs_.data(i); }
  std::string host_reason() const { return runner_->host_reason(); }
  std::size_t step_count() const { return runner_->step_count(); }

 private:
  std::unique_ptr<PlanRunner> runner_;
  DeviceMemory* memory_ = nullptr;
  std::size_t output_count_ = 0;
  DenseValues outputs_;
};

}  // namespace tendon::backends::cuda
