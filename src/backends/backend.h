// What the runtime asks of a backend: steps of a plan made executable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schedule/plan.h"
#include "tendon/status.h"
#include "tendon/tensor.h"

namespace tendon::backends {

/// The values of a plan's symbols: input sizes from the start of a run, sizes from data as steps
/// define them.
class Bindings {
 public:
  virtual ~Bindings() = default;
  /// The size's value; an error names the symbol that is not known yet.
  virtual Result<std::int64_t> evaluate(const ir::Size& size) const = 0;
  virtual void define(const ir::Symbol& symbol, std::int64_t value) = 0;
};

/// The first error that a kernel met. Kernels clamp and go on; the run then returns it.
class ErrorRecord {
 public:
  virtual ~ErrorRecord() = default;
  /// Thread-safe; the first report of the lowest step wins. Must not be called in a hot loop twice.
  virtual void report(StatusCode code, std::string message) = 0;
};

/// Memory of one run.
struct Frame {
  std::span<std::byte* const> buffers;  // first byte of every buffer of the plan, by BufferId
  Bindings* bindings = nullptr;
  ErrorRecord* errors = nullptr;
  std::byte* scratch = nullptr;  // step.scratch_bytes() bytes, 64-byte aligned
};

/// One executable step. Not thread-safe: a method has its own.
class Step {
 public:
  virtual ~Step() = default;
  /// Evaluates sizes. Called before the first run and again whenever a symbol that the step's sizes
  /// depend on has changed. Memory grows at most to the largest sizes seen.
  virtual Status bind(const Bindings& bindings) = 0;
  /// Runs with the sizes of the last bind; allocates nothing.
  virtual Status run(const Frame& frame) = 0;
  /// Bytes of scratch that run needs with the sizes of the last bind.
  virtual std::size_t scratch_bytes() const { return 0; }
  /// Whether run, with the sizes of the last bind, reads this constant's own memory; false where a
  /// packed copy stands for it. Before the first bind, true.
  virtual bool reads_in_place(ir::ValueId) const { return true; }
};

/// What steps of all methods of a program share: constants, and weights packed for kernels.
/// Thread-safe.
class SharedState {
 public:
  virtual ~SharedState() = default;
  /// The constant (strides as in its buffer); without data once it was released.
  virtual Tensor constant(int index) const = 0;
  /// No step reads the constant itself any more. Its memory is given back when nobody holds the
  /// tensor; packed copies stay.
  virtual void release(int index) = 0;
  /// Memory made once by `make` for that key and kept as long as the program.
  virtual Result<std::shared_ptr<void>> packed(
      const std::string& key, const std::function<Result<std::shared_ptr<void>>()>& make) = 0;
};

struct CompileContext {
  const schedule::Plan* plan = nullptr;
  SharedState* shared = nullptr;
  int threads = 1;
};

}  // namespace tendon::backends
