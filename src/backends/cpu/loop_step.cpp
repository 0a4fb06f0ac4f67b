#include "backends/cpu/loop_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "backends/cpu/loop_node.h"
#include "base/parallel.h"
#include "base/status_macros.h"

namespace tendon::backends::cpu {
namespace {

/// Points of work that are worth another thread.
constexpr std::int64_t kGrain = 8192;
/// Bytes of local values that a block of outer points may take.
constexpr std::int64_t kLocalBudget = 64 * 1024;
/// Longer reductions of few outputs are cut into parts of this many elements, whatever the number
/// of threads.
constexpr std::int64_t kPart = 32768;
constexpr std::int64_t kFewOutputs = 64;

class LoopStep final : public backends::Step {
 public:
  LoopStep(const schedule::LoopKernel& kernel, int threads) : kernel_(kernel), threads_(threads) {}

  Status compile(const schedule::Plan& plan) {
    std::unordered_map<ir::ValueId, int> positions;
    for (const schedule::LoopNode& node : kernel_.nodes) {
      add_local(plan, node.value, node.reduce ? ir::Shape() : node.inner, positions);
      if (node.second >= 0) add_local(plan, node.second, {}, positions);
    }
    for (const schedule::LoopNode& node : kernel_.nodes) {
      TENDON_ASSIGN_OR_RETURN(auto runner, LoopNodeRunner::make(plan, kernel_, node, positions));
      runners_.push_back(std::move(runner));
    }
    const int threads = threads_ > 0 ? threads_ : base::default_threads();
    threads_ = threads;
    outer_.resize(kernel_.outer.size());
    outer_order_.resize(kernel_.outer.size());
    workspaces_.resize(static_cast<std::size_t>(threads) * runners_.size());
    local_spans_.resize(locals_.size());
    return Status();
  }

  Status bind(const Bindings& bindings) override {
    outer_points_ = 1;
    for (std::size_t k = 0; k < outer_.size(); ++k) {
      TENDON_ASSIGN_OR_RETURN(outer_[k], bindings.evaluate(kernel_.outer[k]));
      outer_points_ *= outer_[k];
    }
    cost_ = 0;
    for (const auto& runner : runners_) {
      TENDON_RETURN_IF_ERROR(runner->bind_sizes(bindings, outer_));
      cost_ += std::max<std::int64_t>(1, runner->inner_points());
    }
    if (runners_.size() == 1 && !runners_[0]->is_reduction()) {
      mode_ = Mode::kMap;
      TENDON_RETURN_IF_ERROR(runners_[0]->bind_whole(bindings));
    } else {
      TENDON_RETURN_IF_ERROR(bind_blocks(bindings));
    }
    std::size_t bytes = 0;
    for (const auto& runner : runners_) bytes += runner->workspace_bytes();
    for (const LocalValue& local : locals_) bytes += local_bytes(local);
    thread_bytes_ = static_cast<std::size_t>(round_up(static_cast<std::int64_t>(bytes), 64));
    return Status();
  }

  std::size_t scratch_bytes() const override {
    return thread_bytes_ * static_cast<std::size_t>(threads_) +
           static_cast<std::size_t>(parts_ * outer_points_) * sizeof(Accumulator);
  }

  Status run(const Frame& frame) override {
    checks_.reset();
    if (outer_points_ == 0) return Status();
    switch (mode_) {
      case Mode::kMap:
        run_map(frame);
        break;
      case Mode::kBlocks:
        run_blocks(frame);
        break;
      case Mode::kParts:
        run_parts(frame);
        break;
    }
    checks_.report(frame.errors);
    return Status();
  }

 private:
  enum class Mode { kMap, kBlocks, kParts };

  void add_local(const schedule::Plan& plan, ir::ValueId value, const ir::Shape& inner,
                 std::unordered_map<ir::ValueId, int>& positions) {
    if (plan.storage[static_cast<std::size_t>(value)].buffer != schedule::kNoBuffer) return;
    positions.emplace(value, static_cast<int>(locals_.size()));
    LocalValue local;
    local.value = value;
    local.dtype = plan.graph->value(value).dtype;
    local.inner = inner;
    local.strides.resize(kernel_.outer.size() + inner.size());
    locals_.push_back(std::move(local));
  }

  Status bind_blocks(const Bindings& bindings) {
    std::int64_t local_points = 0;  // per outer point
    for (LocalValue& local : locals_) {
      local.inner_points = 1;
      for (const ir::Size& extent : local.inner) {
        TENDON_ASSIGN_OR_RETURN(const std::int64_t number, bindings.evaluate(extent));
        local.inner_points *= number;
      }
      local_points += local.inner_points * static_cast<std::int64_t>(dtype_size(local.dtype));
    }
    BlockLayout layout;
    layout.outer_points = outer_points_;
    layout.outer_order = outer_order_;
    std::iota(outer_order_.begin(), outer_order_.end(), 0);
    TENDON_RETURN_IF_ERROR(bind_nodes(bindings, layout));
    order_outer_axes();
    std::int64_t outer_votes = 0;
    for (const auto& runner : runners_) {
      outer_votes +=
          runner->prefers_outer_lanes() ? runner->inner_points() : -runner->inner_points();
    }
    layout.lanes_are_outer = outer_votes > 0;
    const std::int64_t fitting = kLocalBudget / std::max<std::int64_t>(1, local_points);
    if (layout.lanes_are_outer) {
      layout.block =
          std::clamp<std::int64_t>(round_up(fitting, kTileGranule), kTileGranule, kMaxTileElements);
    } else {
      layout.block = std::clamp<std::int64_t>(fitting, 1, 256);
    }
    layout.block = std::max<std::int64_t>(1, std::min(layout.block, outer_points_));
    layout_ = layout;
    TENDON_RETURN_IF_ERROR(bind_nodes(bindings, layout));
    mode_ = Mode::kBlocks;
    parts_ = 0;
    if (runners_.size() == 1 && !layout.lanes_are_outer && outer_points_ <= kFewOutputs &&
        runners_[0]->inner_points() >= 2 * kPart) {
      mode_ = Mode::kParts;
      parts_ = (runners_[0]->inner_points() + kPart - 1) / kPart;
    }
    return Status();
  }

  /// Walks the outer points as what the kernel gives lies in memory (the last node's value, which
  /// the others lead to): channels innermost where channels lie last.
  void order_outer_axes() {
    for (auto runner = runners_.rbegin(); runner != runners_.rend(); ++runner) {
      const std::span<const std::int64_t> strides = (*runner)->outer_store_strides();
      if (strides.empty()) continue;
      std::stable_sort(outer_order_.begin(), outer_order_.end(), [&](int a, int b) {
        return strides[static_cast<std::size_t>(a)] > strides[static_cast<std::size_t>(b)];
      });
      return;
    }
  }

  Status bind_nodes(const Bindings& bindings, const BlockLayout& layout) {
    for (std::size_t i = 0; i < locals_.size(); ++i) {
      TENDON_RETURN_IF_ERROR(bind_local(bindings, locals_[i], layout));
      local_spans_[i] = locals_[i].strides;
    }
    for (const auto& runner : runners_) {
      TENDON_RETURN_IF_ERROR(runner->bind_layout(bindings, layout, local_spans_));
    }
    return Status();
  }

  /// Normal: [outer, inner]; lanes along outer points: [inner, block].
  Status bind_local(const Bindings& bindings, LocalValue& local, const BlockLayout& layout) {
    const std::size_t outer_rank = outer_.size();
    std::int64_t stride = layout.lanes_are_outer ? layout.block : 1;
    for (std::size_t k = local.strides.size(); k-- > outer_rank;) {
      local.strides[k] = stride;
      TENDON_ASSIGN_OR_RETURN(const std::int64_t extent,
                              bindings.evaluate(local.inner[k - outer_rank]));
      stride *= extent;
    }
    if (layout.lanes_are_outer) stride = 1;
    for (std::size_t i = outer_rank; i-- > 0;) {
      const auto k = static_cast<std::size_t>(outer_order_[i]);
      local.strides[k] = stride;
      stride *= outer_[k];
    }
    return Status();
  }

  std::size_t local_bytes(const LocalValue& local) const {
    // Whole vectors may be read and written behind the end.
    const std::int64_t elements = local.inner_points * layout_.block + 2 * kTileGranule;
    return static_cast<std::size_t>(
        round_up(elements * static_cast<std::int64_t>(dtype_size(local.dtype)), kVectorBytes));
  }

  /// The worker's workspaces in its part of the scratch; returns where its locals begin.
  std::byte* prepare(const Frame& frame, int worker) {
    std::byte* memory = frame.scratch + static_cast<std::size_t>(worker) * thread_bytes_;
    for (std::size_t i = 0; i < runners_.size(); ++i) {
      runners_[i]->prepare(workspace(worker, i), memory, frame.buffers, &checks_);
      memory += runners_[i]->workspace_bytes();
    }
    return memory;
  }

  LoopNodeRunner::Workspace& workspace(int worker, std::size_t node) {
    return workspaces_[static_cast<std::size_t>(worker) * runners_.size() + node];
  }

  void run_map(const Frame& frame) {
    const LoopNodeRunner& runner = *runners_[0];
    base::parallel_for(runner.points(), runner.grain(), threads_,
                       [&](int worker, std::int64_t begin, std::int64_t end) {
                         prepare(frame, worker);
                         runner.run_points(workspace(worker, 0), begin, end);
                       });
  }

  void run_blocks(const Frame& frame) {
    const std::int64_t grain = std::max<std::int64_t>(layout_.lanes_are_outer ? kTileGranule : 1,
                                                      kGrain / std::max<std::int64_t>(1, cost_));
    base::parallel_for(outer_points_, grain, threads_,
                       [&](int worker, std::int64_t begin, std::int64_t end) {
                         std::byte* locals = prepare(frame, worker);
                         for (std::int64_t at = begin; at < end; at += layout_.block) {
                           const std::int64_t until = std::min(end, at + layout_.block);
                           place_locals(worker, locals, at);
                           for (std::size_t i = 0; i < runners_.size(); ++i) {
                             runners_[i]->run(workspace(worker, i), at, until);
                           }
                         }
                       });
  }

  /// Moves the locals so that the block that begins at outer point `at` is what they hold.
  void place_locals(int worker, std::byte* memory, std::int64_t at) {
    for (std::size_t k = 0; k < locals_.size(); ++k) {
      const LocalValue& local = locals_[k];
      const std::int64_t per_point = layout_.lanes_are_outer ? 1 : local.inner_points;
      const std::int64_t shift =
          at * per_point * static_cast<std::int64_t>(dtype_size(local.dtype));
      for (std::size_t i = 0; i < runners_.size(); ++i) {
        runners_[i]->set_local(workspace(worker, i), static_cast<int>(k), memory - shift);
      }
      memory += local_bytes(local);
    }
  }

  void run_parts(const Frame& frame) {
    const LoopNodeRunner& runner = *runners_[0];
    auto* accumulators = reinterpret_cast<Accumulator*>(
        frame.scratch + thread_bytes_ * static_cast<std::size_t>(threads_));
    const RowReduction& row = runner.row_reduction();
    base::parallel_for(outer_points_ * parts_, 1, threads_,
                       [&](int worker, std::int64_t begin, std::int64_t end) {
                         prepare(frame, worker);
                         for (std::int64_t i = begin; i < end; ++i) {
                           const std::int64_t part = i % parts_;
                           accumulators[i] = Accumulator();
                           row.init(accumulators[i]);
                           runner.reduce_part(workspace(worker, 0), i / parts_, part * kPart,
                                              std::min(runner.inner_points(), (part + 1) * kPart),
                                              accumulators[i]);
                         }
                       });
    prepare(frame, 0);
    for (std::int64_t point = 0; point < outer_points_; ++point) {
      Accumulator total = accumulators[point * parts_];
      for (std::int64_t part = 1; part < parts_; ++part) {
        row.merge(total, accumulators[point * parts_ + part]);
      }
      runner.store_accumulators(workspace(0, 0), std::span(&total, 1), point);
    }
  }

  const schedule::LoopKernel& kernel_;
  int threads_;
  std::vector<std::unique_ptr<LoopNodeRunner>> runners_;
  std::vector<LocalValue> locals_;
  std::vector<std::span<const std::int64_t>> local_spans_;
  std::vector<LoopNodeRunner::Workspace> workspaces_;  // by thread and node
  CheckState checks_;

  Mode mode_ = Mode::kMap;
  std::vector<std::int64_t> outer_;
  std::vector<int> outer_order_;  // outermost first
  std::int64_t outer_points_ = 0;
  std::int64_t cost_ = 0;  // points of all nodes per outer point
  std::int64_t parts_ = 0;
  BlockLayout layout_;
  std::size_t thread_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<backends::Step>> make_loop_step(const CompileContext& context,
                                                       const schedule::LoopKernel& kernel) {
  auto step = std::make_unique<LoopStep>(kernel, context.threads);
  TENDON_RETURN_IF_ERROR(step->compile(*context.plan));
  return std::unique_ptr<backends::Step>(std::move(step));
}

}  // namespace tendon::backends::cpu
