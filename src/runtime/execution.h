// One execution context of a loaded program on the CPU.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/trace.h"
#include "runtime/input_binding.h"
#include "runtime/loaded_program.h"
#include "runtime/memory.h"
#include "runtime/output_layout.h"
#include "runtime/plan_instance.h"
#include "runtime/runner.h"

namespace tendon::runtime {

class Execution final : public Runner {
 public:
  static Result<std::unique_ptr<Execution>> create(std::shared_ptr<const LoadedProgram> program,
                                                   const MethodOptions& options);

  Result<std::span<const TensorView>> run(std::span<const TensorView> inputs) override;
  Status bind_output(std::size_t index, void* data, std::size_t bytes) override;
  Status wait() override { return {}; }
  Status reset() override;
  MethodStats stats() const override;

 private:
  explicit Execution(std::shared_ptr<const LoadedProgram> program) : program_(std::move(program)) {}
  Status prepare_key(std::span<const TensorView> inputs);
  Status stage_inputs(std::span<const TensorView> inputs);
  Status place_outputs();
  Status describe_outputs();
  void commit(std::span<const TensorView> inputs);

  /// Where a user output goes.
  struct OutputSlot {
    OutputLayout layout;
    Reservation own;
    std::byte* bound = nullptr;
  };
  struct Commit {
    ir::GraphOutput::Kind kind;
    int index = 0;
    schedule::BufferId buffer = schedule::kNoBuffer;
  };

  std::shared_ptr<const LoadedProgram> program_;
  std::unique_ptr<PlanInstance> instance_;
  SymbolTable symbols_;
  FirstError errors_;
  base::TraceSink* trace_ = nullptr;
  std::uint64_t seed_ = 0;
  std::vector<Tensor> states_;
  std::vector<std::byte*> state_addresses_;
  InputKey key_;
  std::vector<Reservation> staging_;  // by input
  std::vector<std::byte*> input_addresses_;
  std::vector<OutputSlot> outputs_;
  std::vector<std::byte*> output_addresses_;
  std::vector<TensorView> views_;
  std::vector<Commit> commits_;
  MethodStats stats_;
  int threads_ = 1;
};

}  // namespace tendon::runtime
