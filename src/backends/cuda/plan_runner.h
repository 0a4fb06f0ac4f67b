// A plan whose steps are compiled, with its memory for given sizes: puts its work into a stream,
// replaying what was captured.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/captured_work.h"
#include "backends/cuda/compile_context.h"
#include "backends/cuda/device_memory.h"
#include "backends/cuda/host_access.h"
#include "backends/cuda/step.h"

namespace tendon::backends::cuda {

/// Device memory that a plan works on besides its own; addresses stay the same for all runs. Null
/// for an output without an upper bound.
struct PlanMemory {
  std::vector<std::byte*> inputs, states, outputs;  // by index
};

class PlanRunner {
 public:
  /// Compiles the steps. The context's plan outlives the runner. Errors: Unimplemented, naming
  /// every step that cannot be compiled.
  static Result<std::unique_ptr<PlanRunner>> create(const CompileContext& context);

  /// Reserves memory and prepares the steps for these sizes. Errors: ResourceExhausted, Internal.
  Status bind(const KnownSizes& sizes);
  /// After bind: where inputs, states and outputs are.
  void place(const PlanMemory& memory);
  /// Bytes of the largest output that user output `index` can be; nothing without a bound.
  std::optional<std::int64_t> output_bound(int index) const;

  /// Why the host has to take part in a run, by the first step that needs it; empty: enqueue works
  /// without a host, and may be captured whole.
  std::string host_reason() const;
  /// One run. `launch.buffers` and `launch.scratch` are not used. `launch.host` may be null where
  /// there is no host_reason; otherwise stretches between host points are replayed if captured.
  Status enqueue(const Launch& launch);
  /// Captures every stretch between host points. Errors say why one could not be.
  Status capture(const Launch& launch);
  /// Graphs that a run with a host launches.
  int pieces() const;
  std::size_t step_count() const { return steps_.size(); }

  std::span<std::byte* const> buffers() const { return addresses_; }
  std::int64_t memory_bytes() const;

 private:
  /// Steps [first, last): a stretch that needs no host, or one step that does.
  struct Segment {
    std::size_t first = 0, last = 0;
    bool needs_host = false;
    std::vector<const ir::Symbol*> defines;  // symbols that get their values here
    CapturedWork work;
  };
  struct GrowingBuffer {
    std::size_t buffer = 0;
    Block memory;
  };

  explicit PlanRunner(const CompileContext& context);
  void limit_count(std::size_t step, KnownSizes& sizes) const;
  Status layout_memory();
  bool is_growing(std::size_t buffer) const;
  Status bind_steps();
  void make_segments();
  Launch own(const Launch& launch) const;
  Status enqueue_stretch(const Segment& segment, const Launch& launch);
  Status run_host_step(std::size_t step, const Launch& launch);
  Status grow(Block& block, std::int64_t bytes);

  const schedule::Plan& plan_;
  DeviceMemory* memory_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<std::string> names_;  // of the steps
  KnownSizes sizes_;
  std::vector<bool> bound_late_;  // by step: sizes or memory are known only during a run
  std::vector<Segment> segments_;
  std::vector<std::byte*> addresses_;  // by buffer
  Block arena_, scratch_, late_scratch_;
  std::vector<GrowingBuffer> growing_;  // buffers without an upper bound
};

/// Bytes of a buffer at its upper bound.
Result<std::int64_t> bound_bytes(const schedule::Buffer& buffer, const KnownSizes& sizes);

}  // namespace tendon::backends::cuda
