// What Method is made of: one execution context of a loaded program.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/trace.h"
#include "runtime/loaded_program.h"
#include "runtime/memory.h"
#include "runtime/plan_instance.h"
#include "tendon/method.h"

namespace tendon::runtime {

class Execution {
 public:
  static Result<std::unique_ptr<Execution>> create(std::shared_ptr<const LoadedProgram> program,
                                                   const MethodOptions& options);

  Result<std::span<const TensorView>> run(std::span<const TensorView> inputs);
  Status bind_output(std::size_t index, void* data, std::size_t bytes);
  Status reset();
  MethodStats stats() const;

 private:
  explicit Execution(std::shared_ptr<const LoadedProgram> program) : program_(std::move(program)) {}
  Status prepare_key(std::span<const TensorView> inputs);
  Status stage_inputs(std::span<const TensorView> inputs);
  Status place_outputs();
  Status describe_outputs();
  void commit(std::span<const TensorView> inputs);
  bool same_key(std::span<const TensorView> inputs) const;

  /// A user output: where it goes, and what it looks like after the last run.
  struct OutputSlot {
    schedule::BufferId buffer = schedule::kNoBuffer;
    ir::Shape shape, strides;  // as the program says (complex: without the pair axis)
    Reservation own;
    std::byte* bound = nullptr;
    bool constant_shape = false;
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
  std::vector<Sizes> key_;  // the last inputs' sizes
  bool has_key_ = false;
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
