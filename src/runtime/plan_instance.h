// A plan made executable: compiled steps, an arena, and the walk over them. Sub-graphs of control
// flow are plan instances too.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/trace.h"
#include "runtime/memory.h"
#include "runtime/symbol_table.h"
#include "schedule/plan.h"

namespace tendon::runtime {

/// Memory that a run works on besides the arena. Null where the plan has no such buffer.
struct RunMemory {
  std::span<std::byte* const> inputs;
  std::span<std::byte* const> states;
  std::span<std::byte* const> outputs;  // by user output
};

class PlanInstance {
 public:
  static Result<std::unique_ptr<PlanInstance>> create(std::shared_ptr<const schedule::Plan> plan,
                                                      backends::SharedState& shared, int threads);

  /// Prepares for the sizes that `symbols` says: arena, kernels. Cheap if nothing changed.
  Status bind(SymbolTable& symbols);
  /// Runs the steps. Sizes from data are bound on the way. A kernel's error is in `errors`, and
  /// ends the run.
  Status run(const RunMemory& memory, SymbolTable& symbols, FirstError& errors,
             base::TraceSink* trace = nullptr);

  const schedule::Plan& plan() const { return *plan_; }
  /// A buffer whose size only data decides, without a bound: its memory is made during the run.
  bool is_unbounded(std::size_t buffer) const;
  std::int64_t arena_bytes() const { return arena_.bytes(); }
  /// Bytes of the value behind graph output `index` of the plan's graph, at its bound for the bound
  /// sizes.
  Result<std::int64_t> bound_bytes(schedule::BufferId buffer, const SymbolTable& symbols) const;
  /// Where a buffer lies during and after a run.
  std::byte* address(schedule::BufferId buffer) const {
    return addresses_[static_cast<std::size_t>(buffer)];
  }

 private:
  PlanInstance(std::shared_ptr<const schedule::Plan> plan) : plan_(std::move(plan)) {}
  Status layout_arena(const SymbolTable& symbols);
  /// Binds a step, and lets go of constants that no step reads any more.
  Status bind_step(std::size_t step, const backends::Bindings& bindings);
  bool reads_constant(std::size_t step, schedule::BufferId buffer) const;
  /// Memory for buffers without an upper bound, when the step that writes them is about to run.
  Status place_unbounded(int step, const SymbolTable& symbols);

  std::shared_ptr<const schedule::Plan> plan_;
  std::vector<std::unique_ptr<backends::Step>> steps_;
  std::vector<bool> depends_on_symbols_, depends_on_data_;
  std::vector<std::string> names_;
  std::vector<std::int64_t> offsets_;  // by buffer
  std::vector<std::byte*> addresses_;  // by buffer
  backends::SharedState* shared_ = nullptr;
  std::vector<Tensor> constants_;                                // by buffer; empty for others
  std::vector<std::vector<schedule::BufferId>> constant_reads_;  // by step
  std::vector<std::vector<std::size_t>> constant_readers_;       // by buffer
  std::vector<std::size_t> bind_order_;
  struct Unbounded {
    std::size_t buffer = 0;
    Reservation memory;
  };
  std::vector<Unbounded> unbounded_;
  Reservation arena_, scratch_;
  std::int64_t bound_version_ = -1;
  bool bound_once_ = false;
};

}  // namespace tendon::runtime
