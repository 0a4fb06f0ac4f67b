// What Program is made of: everything about a program that threads and methods share.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "aten/lower.h"
#include "backends/backend.h"
#include "backends/device.h"
#include "runtime/constant_table.h"
#include "runtime/summary.h"
#include "schedule/plan.h"
#include "tendon/program.h"

namespace tendon::runtime {

/// Text forms of a program on its road from file to answer.
enum class Stage { kAten, kTensor, kKernels, kPlan };

class LoadedProgram final : public std::enable_shared_from_this<LoadedProgram> {
 public:
  static Result<std::shared_ptr<const LoadedProgram>> load(const std::string& path,
                                                           const LoadOptions& options,
                                                           bool keep_stages = false);
  ~LoadedProgram();

  const std::vector<TensorInfo>& inputs() const { return inputs_; }
  const std::vector<TensorInfo>& outputs() const { return outputs_; }
  const std::vector<Tensor>& sample_inputs() const { return sample_inputs_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  const ProgramSummary& summary() const { return summary_; }
  /// Stages other than the plan only if the program was loaded with keep_stages.
  const std::string& text(Stage stage) const { return texts_[static_cast<std::size_t>(stage)]; }

  const aten::LoweredProgram& lowered() const { return lowered_; }
  const std::shared_ptr<const schedule::Plan>& plan() const { return plan_; }
  /// Floating-point operations of the products of a call.
  const ir::Size& product_operations() const { return product_operations_; }
  Device device() const { return device_ == nullptr ? Device::kCpu : Device::kCuda; }
  /// What mutable buffers were saved with, row-major; random operators begin with the seed.
  Result<std::vector<Tensor>> initial_states(std::uint64_t seed) const;
  /// Draws weights that no file holds and runs the constant part, once for all methods, and gives
  /// the state that steps share.
  /// Thread-safe.
  Result<backends::SharedState*> prepare(int threads) const;
  /// The same for a program on a device: its constants are there then, and no longer here.
  Result<std::shared_ptr<backends::DeviceProgram>> prepare_device(int threads) const;

 private:
  LoadedProgram();
  Status build(const std::string& path, const LoadOptions& options, bool keep_stages);
  Status fold_constants(int threads) const;
  Status make_constants(int threads) const;
  void describe();

  aten::LoweredProgram lowered_;
  std::shared_ptr<const schedule::Plan> plan_, constant_plan_;
  std::vector<std::pair<DType, Sizes>> folded_types_;
  ir::Size product_operations_;
  std::vector<TensorInfo> inputs_, outputs_;
  std::vector<Tensor> sample_inputs_;
  std::vector<std::string> warnings_;
  ProgramSummary summary_;
  std::string texts_[4];
  backends::DeviceBackend* device_ = nullptr;  // null: the CPU
  backends::DeviceLoadOptions device_options_;
  mutable std::mutex mutex_;
  mutable bool prepared_ = false;
  mutable std::shared_ptr<backends::DeviceProgram> device_program_;
  mutable std::function<void()> draw_weights_;
  std::unique_ptr<ConstantTable> constants_;
};

}  // namespace tendon::runtime
