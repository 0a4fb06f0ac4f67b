// A loaded program: what torch.export.save wrote, lowered and planned.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tendon/status.h"
#include "tendon/tensor.h"

namespace tendon {

namespace base {
class TraceSink;
}
namespace runtime {
class LoadedProgram;
}

struct LoadOptions {
  Device device = Device::kCpu;
  /// Which program of the archive (models/NAME.json); empty: the only one, or "model".
  std::string model;
  /// Bytes that folding constants may add to the weights at most.
  std::int64_t constant_bytes_limit = std::int64_t{1} << 30;
  /// Receives spans of the phases of loading, if given.
  base::TraceSink* trace = nullptr;
  /// Folder where compiled kernels of a CUDA device are kept from one process to the next, made if
  /// need be; empty: the user's cache folder. Not used on the CPU.
  std::string cache_folder;
};

/// One axis of an input or output: its size lies in [lower, upper] and is a multiple of `multiple`;
/// `upper` is empty where there is no bound.
struct AxisRange {
  std::int64_t lower = 0;
  std::optional<std::int64_t> upper;
  std::int64_t multiple = 1;
};

/// What a tensor input or output of a program looks like.
struct TensorInfo {
  std::string name;
  /// Its place among all flattened inputs or outputs of the program, where None and numbers count
  /// too: N of "output.N" in case files.
  std::int64_t position = 0;
  DType dtype = DType::kFloat32;
  std::vector<AxisRange> axes;
  /// "float32[s0, 3, 96, 128]"
  std::string to_string() const;
  std::string shape_text;  // "[s0, 3, 96, 128]"
  /// Bytes that hold the tensor at its upper bound; empty where an axis has no bound.
  std::optional<std::int64_t> upper_bound_bytes() const;
};

/// Immutable after loading; share it between threads and make as many Methods from it as you like.
/// Weights stay mapped from the file, which must not change while the program lives.
///
///   auto program = tendon::Program::load("policy.pt2");
///   if (!program.ok()) { /* program.status().to_string() names every missing operator */ }
class Program {
 public:
  /// Reads, lowers and plans a `.pt2` archive, or a bare graph (`.json`, `.json.gz`), whose weights
  /// are then drawn from a fixed seed.
  /// Errors: NotFound, DataLoss (truncated or contradictory), InvalidArgument (another kind of
  /// file), Unimplemented (all unsupported operators at once, with their counts),
  /// ResourceExhausted, FailedPrecondition (the device is not there: no library for it, no such
  /// hardware, no driver).
  static Result<Program> load(const std::string& path, const LoadOptions& options = {});

  /// Tensor inputs and outputs in the program's flattened order.
  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  /// The inputs stored in the archive as an example; empty where there are none.
  const std::vector<Tensor>& sample_inputs() const;
  /// Things worth telling the user that do not prevent running.
  const std::vector<std::string>& warnings() const;

  const std::shared_ptr<const runtime::LoadedProgram>& impl() const { return impl_; }
  explicit Program(std::shared_ptr<const runtime::LoadedProgram> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const runtime::LoadedProgram> impl_;
};

}  // namespace tendon
