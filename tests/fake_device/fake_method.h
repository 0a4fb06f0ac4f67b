// One execution context of the fake device.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backends/device.h"
#include "fake_device.h"
#include "fake_graphs.h"
#include "ir/evaluate.h"

namespace tendon::test {

/// A plan and its constants, on the device.
struct FakeProgram {
  std::shared_ptr<const schedule::Plan> plan;
  std::vector<Tensor> constants;
};

class FakeMethod final : public backends::DeviceMethod {
 public:
  FakeMethod(std::shared_ptr<const FakeProgram> program,
             const backends::DeviceMethodOptions& options);

  Status run(std::span<const TensorView> inputs,
             std::span<const backends::SymbolValue> known) override;
  /// Runs are complete when they return; in stream order their errors wait here.
  Status wait() override { return std::exchange(late_error_, {}); }
  std::optional<std::int64_t> symbol(const ir::Symbol& symbol) const override;
  void* output(std::size_t index) const override { return outputs_[index].data; }
  Device output_device(std::size_t index) const override;
  Status bind_output(std::size_t index, void* data, std::size_t bytes) override;
  Status set_states(std::span<const Tensor> states) override;
  std::int64_t arena_bytes() const override { return program_->plan->arena_bytes.value_or(0); }
  std::vector<CudaGraphStats> graph_stats() const override { return graphs_.stats(); }

 private:
  /// Memory of a user output: the caller's, or the method's own, which grows to what it must hold.
  struct Output {
    std::vector<std::byte> own;
    void* bound = nullptr;
    std::size_t bound_bytes = 0;
    void* data = nullptr;  // after a run
  };

  Status run_now(std::span<const TensorView> inputs, std::span<const backends::SymbolValue> known);
  Status check_stream_order() const;
  /// Where a run's output goes, if it fits.
  Result<TensorView> place(const ir::GraphOutput& output, const Tensor& values,
                           const ir::SymbolValues& symbols);

  std::shared_ptr<const FakeProgram> program_;
  FakeGraphs graphs_;
  FakeStream* stream_ = nullptr;
  bool stream_order_ = false;
  bool has_run_ = false;
  Status late_error_;
  std::vector<Output> outputs_;
  std::vector<Tensor> states_;
  ir::SymbolValues symbols_;  // of the last run
};

}  // namespace tendon::test
