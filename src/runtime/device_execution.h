// One execution context of a loaded program on a device.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/device.h"
#include "runtime/input_binding.h"
#include "runtime/loaded_program.h"
#include "runtime/output_layout.h"
#include "runtime/runner.h"

namespace tendon::runtime {

/// Checks calls and describes outputs; the device's method does the rest.
class DeviceExecution final : public Runner {
 public:
  static Result<std::unique_ptr<DeviceExecution>> create(
      std::shared_ptr<const LoadedProgram> program, const MethodOptions& options);

  Result<std::span<const TensorView>> run(std::span<const TensorView> inputs) override;
  Status bind_output(std::size_t index, void* data, std::size_t bytes) override;
  Status wait() override { return method_->wait(); }
  Status reset() override;
  MethodStats stats() const override;

 private:
  explicit DeviceExecution(std::shared_ptr<const LoadedProgram> program)
      : program_(std::move(program)) {}
  void find_input_symbols();
  Status prepare_key(std::span<const TensorView> inputs);
  Status describe_outputs();

  std::shared_ptr<const LoadedProgram> program_;
  std::shared_ptr<backends::DeviceProgram> device_program_;
  std::unique_ptr<backends::DeviceMethod> method_;
  SymbolTable symbols_;  // of the inputs
  std::vector<const ir::Symbol*> input_symbols_;
  std::vector<backends::SymbolValue> known_;
  InputKey key_;
  std::vector<OutputLayout> outputs_;
  std::vector<TensorView> views_;
  base::TraceSink* trace_ = nullptr;
  std::uint64_t seed_ = 0;
  std::int64_t runs_ = 0;
  std::int64_t shape_keys_ = 0;
};

}  // namespace tendon::runtime
