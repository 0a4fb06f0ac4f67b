// One map or reduction of a fused kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/reduce_kernels.h"
#include "backends/cpu/tile_evaluator.h"
#include "schedule/plan.h"

namespace tendon::backends::cpu {

/// How the nodes of a kernel share a block of outer points.
struct BlockLayout {
  /// False: tiles run along the inner axes (a local is [outer points, inner]). True: tiles run
  /// along the outer points (a local is [inner, outer points]).
  bool lanes_are_outer = false;
  std::span<const int> outer_order;  // the outer axes, outermost first; points are counted so
  std::int64_t outer_points = 0;     // of the whole kernel
  std::int64_t block = 1;            // outer points that a thread does at a time
};

/// A value of the kernel that has no buffer.
struct LocalValue {
  ir::ValueId value = -1;
  DType dtype = DType::kFloat32;
  ir::Shape inner;  // empty for reductions
  std::int64_t inner_points = 1;
  std::vector<std::int64_t> strides;
};

class LoopNodeRunner {
 public:
  /// `locals`: position of every local value of the kernel.
  static Result<std::unique_ptr<LoopNodeRunner>> make(
      const schedule::Plan& plan, const schedule::LoopKernel& kernel,
      const schedule::LoopNode& node, const std::unordered_map<ir::ValueId, int>& locals);

  /// Evaluates extents and strides. After it, inner_points() is known.
  Status bind_sizes(const Bindings& bindings, std::span<const std::int64_t> outer);
  std::int64_t inner_points() const { return inner_points_; }
  bool is_reduction() const { return reduce_.has_value(); }
  /// Elements from one outer point to the next in what the node stores, by outer axis; empty for a
  /// local. Known after bind_layout, like the next.
  std::span<const std::int64_t> outer_store_strides() const;
  /// Whether tiles along the outer points suit this node's memory accesses better.
  bool prefers_outer_lanes() const;
  /// Fixes strides, given the layout and the locals' strides.
  Status bind_layout(const Bindings& bindings, const BlockLayout& layout,
                     std::span<const std::span<const std::int64_t>> local_strides);

  struct Workspace {
    TileWorkspace body;
    TileWorkspace output;
    std::byte* first = nullptr;  // results of a reduction, before they are stored
    std::byte* second = nullptr;
  };
  std::size_t workspace_bytes() const;
  void prepare(Workspace& workspace, std::byte* memory, std::span<std::byte* const> buffers,
               CheckState* checks) const;
  /// Tells where element 0 of a local would be.
  void set_local(Workspace& workspace, int local, std::byte* memory) const;

  /// Outer points [begin, end).
  void run(Workspace& workspace, std::int64_t begin, std::int64_t end) const;
  /// A map over all axes as one space: points [begin, end) of it.
  void run_points(Workspace& workspace, std::int64_t begin, std::int64_t end) const;
  /// A part of the reduction of one outer point.
  void reduce_part(Workspace& workspace, std::int64_t point, std::int64_t begin, std::int64_t end,
                   Accumulator& accumulator) const;
  /// Stores the results of outer points [begin, end), from finished accumulators.
  void store_accumulators(Workspace& workspace, std::span<const Accumulator> accumulators,
                          std::int64_t begin) const;
  const RowReduction& row_reduction() const { return row_; }
  /// For a map alone in its kernel: all its points, in the order that suits its output.
  Status bind_whole(const Bindings& bindings);
  std::int64_t points() const { return evaluator_->points(); }
  /// Points of such a map that are worth another thread.
  std::int64_t grain() const { return points_worth_a_thread(program_); }
  int tile_elements() const { return evaluator_->tile_elements(); }

 private:
  LoopNodeRunner() = default;
  void reduce_rows(Workspace& workspace, std::int64_t begin, std::int64_t end) const;
  void reduce_lanes(Workspace& workspace, std::int64_t begin, std::int64_t end) const;
  void store_results(Workspace& workspace, const void* first, const void* second,
                     std::int64_t begin, std::int64_t count) const;
  std::size_t result_bytes() const;

  ir::Shape outer_shape_, inner_shape_;
  std::optional<ir::ReduceOp> reduce_;
  DType dtype_ = DType::kFloat32;  // of the value
  TileType result_type_ = TileType::kFloat32;
  VectorProgram program_;
  VectorProgram no_program_;  // for storing results of reductions
  std::unique_ptr<TileEvaluator> evaluator_;
  std::unique_ptr<TileEvaluator> output_;  // over the outer axes; reductions only
  RowReduction row_;
  FoldReduction fold_;
  bool two_outputs_ = false;

  std::vector<std::int64_t> extents_, origin_;
  std::vector<int> order_;
  std::int64_t outer_points_ = 0, inner_points_ = 0;
  BlockLayout layout_;
};

}  // namespace tendon::backends::cpu
