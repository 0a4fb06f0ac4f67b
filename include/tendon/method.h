// One execution context of a program.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tendon/program.h"
#include "tendon/status.h"
#include "tendon/tensor.h"

namespace tendon {

namespace runtime {
class Runner;
}

/// Whether runs on a CUDA device are replayed as captured graphs. Results are the same either way.
enum class CudaGraphs : std::uint8_t {
  kAuto,    // captured where that is possible, whole or in pieces; no call fails because of it
  kOff,     // never captured
  kStrict,  // a run that cannot be captured whole is refused, with nothing written
};

struct MethodOptions {
  /// CPU threads of a run; 0: what the OMP_NUM_THREADS environment variable or the machine says.
  /// Start the process with GOMP_SPINCOUNT=1000 for every thread but the first in its environment,
  /// so that idle threads sleep between calls (docs/command_line.md, "Threads that wait").
  int threads = 0;
  /// Seed of the program's random operators, if it has any.
  std::uint64_t seed = 0;
  /// Receives spans of the steps of every run, if given; must outlive the method.
  base::TraceSink* trace = nullptr;

  // The rest is for programs loaded for a CUDA device.
  CudaGraphs cuda_graphs = CudaGraphs::kAuto;
  /// Captured graphs that a method keeps, one for each set of input sizes; the one that was not
  /// used for longest makes room for a new one.
  int max_cuda_graphs = 8;
  /// The stream (cudaStream_t) that runs are put into; null: one of the method's own.
  void* cuda_stream = nullptr;
  /// Runs only put their work into the stream and return; `wait`, or what the caller does in the
  /// same stream, comes after it. Inputs on the device must stay as they are until then, every
  /// output must be bound to device memory, and its size known from the inputs; what a run does not
  /// allow is FailedPrecondition. The first run with given sizes waits. A run that meets an error
  /// in the data writes nothing, nor do those after it, until run or wait has returned the error.
  bool cuda_stream_order = false;
};

/// How runs of one key, a set of input sizes and dtypes, are captured.
struct CudaGraphStats {
  std::string key;
  std::string state;   // "captured whole", "captured in pieces" or "not captured"
  std::string reason;  // why not whole; empty where it is
  int pieces = 0;      // graphs a run is made of; 0 where it is not captured
  std::int64_t runs = 0;
  std::int64_t replays = 0;  // of the runs: those that only replayed graphs
};

/// What a method has done so far.
struct MethodStats {
  std::int64_t runs = 0;
  std::int64_t arena_bytes = 0;  // reserved for intermediate values
  std::int64_t shape_keys = 0;   // distinct input shapes prepared so far
  /// Floating-point operations of matrix products, convolutions and attentions in a run with the
  /// last inputs' sizes, two for each multiply-add. At the upper bound where sizes come from data;
  /// 0 before the first run and where there is no bound.
  std::int64_t product_operations = 0;
  std::vector<CudaGraphStats> cuda_graphs;  // by key; empty on the CPU
};

/// Not copyable; one thread at a time; different methods of one program may run at once.
///
///   auto method = tendon::Method::create(*program);
///   auto outputs = method->run({image, state});      // std::vector<TensorView>
class Method {
 public:
  /// Reserves memory and prepares kernels. Errors: ResourceExhausted, Unimplemented,
  /// InvalidArgument (an option).
  static Result<Method> create(const Program& program, const MethodOptions& options = {});
  Method(Method&&) noexcept;
  Method& operator=(Method&&) noexcept;
  ~Method();

  /// Runs the program once. Inputs are the tensor inputs in flattened order, with any strides, on
  /// the CPU or, for a program loaded for a CUDA device, on either; they are not changed unless the
  /// program itself mutates an input. The returned views point into memory of this method (or into
  /// bound buffers) and stay valid until the next run, bind, reset or the method's end; memory of
  /// the method's own is on the CPU, whatever the device. After the first run with given sizes, a
  /// run of the same sizes allocates nothing.
  /// Errors: InvalidArgument (count, dtype, rank, range, guards: nothing has run), OutOfRange (an
  /// index in the data), Aborted (an assertion of the program). A failed run leaves the method
  /// usable and its state as it was.
  Result<std::span<const TensorView>> run(std::span<const TensorView> inputs);

  /// Makes output `index` be written to `data` from now on, row-major or in the output's own dim
  /// order. `bytes` must hold the output's upper bound (TensorInfo::upper_bound_bytes), whatever
  /// its size is today. The memory is the CPU's or, for a program loaded for a CUDA device, of
  /// either. Pass nullptr to unbind. Errors: InvalidArgument (too small, no finite bound, no such
  /// output).
  Status bind_output(std::size_t index, void* data, std::size_t bytes);

  /// With MethodOptions::cuda_stream_order: waits until the runs so far have ended. Errors: those of
  /// run that only the data shows. Otherwise runs have ended when they return.
  Status wait();

  /// Sets mutable buffers (counters, caches) back to what the program was saved with.
  Status reset();

  MethodStats stats() const;

 private:
  explicit Method(std::unique_ptr<runtime::Runner> impl);
  std::unique_ptr<runtime::Runner> impl_;
};

}  // namespace tendon
