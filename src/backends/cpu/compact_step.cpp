// Positions of true elements.
#include "backends/cpu/node_body.h"
#include "backends/cpu/node_steps.h"
#include "base/parallel.h"
#include "base/status_macros.h"

namespace tendon::backends::cpu {
namespace {

/// Elements counted together; fixed, so that the work is the same for any number of threads.
constexpr std::int64_t kChunk = 16384;

class CompactStep final : public backends::Step {
 public:
  static StepResult make(const CompileContext& context, ir::NodeId id) {
    const schedule::Plan& plan = *context.plan;
    const ir::Node& node = plan.graph->node(id);
    auto step = std::make_unique<CompactStep>();
    step->count_ = std::get<ir::Compact>(node.primitive).count;
    step->threads_ = context.threads > 0 ? context.threads : base::default_threads();
    TENDON_ASSIGN_OR_RETURN(step->body_, NodeBody::make_copy(plan, node.inputs[0]));
    TENDON_ASSIGN_OR_RETURN(const Location output, buffer_location(plan, node.outputs[0]));
    step->output_ = output.buffer;
    step->workspaces_.resize(static_cast<std::size_t>(step->threads_));
    return std::unique_ptr<backends::Step>(std::move(step));
  }

  Status bind(const Bindings& bindings) override { return body_->bind(bindings); }

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(threads_) * body_->workspace_bytes() +
           static_cast<std::size_t>(chunks() + 1) * sizeof(std::int64_t);
  }

  Status run(const Frame& frame) override {
    auto* counts = reinterpret_cast<std::int64_t*>(
        frame.scratch + static_cast<std::size_t>(threads_) * body_->workspace_bytes());
    auto* out = reinterpret_cast<std::int64_t*>(frame.buffers[static_cast<std::size_t>(output_)]);
    for_each_chunk(frame, [&](TileWorkspace& workspace, std::int64_t chunk) {
      std::int64_t count = 0;
      for_each_tile(workspace, chunk, [&](const Register& flags, std::int64_t, std::int64_t n) {
        const auto* f = reinterpret_cast<const std::uint8_t*>(flags.data);
        for (std::int64_t i = 0; i < n; ++i) count += f[i * flags.step] != 0 ? 1 : 0;
      });
      counts[chunk] = count;
    });
    std::int64_t total = 0;
    for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) {
      const std::int64_t count = counts[chunk];
      counts[chunk] = total;
      total += count;
    }
    frame.bindings->define(*count_, total);
    // More than the symbol allows have no memory; the run ends with the symbol's range.
    if (total > count_->upper) return Status();
    for_each_chunk(frame, [&](TileWorkspace& workspace, std::int64_t chunk) {
      std::int64_t* next = out + counts[chunk];
      for_each_tile(workspace, chunk,
                    [&](const Register& flags, std::int64_t begin, std::int64_t n) {
                      const auto* f = reinterpret_cast<const std::uint8_t*>(flags.data);
                      for (std::int64_t i = 0; i < n; ++i) {
                        if (f[i * flags.step] != 0) *next++ = begin + i;
                      }
                    });
    });
    return Status();
  }

 private:
  std::int64_t chunks() const { return (body_->points() + kChunk - 1) / kChunk; }

  template <typename F>
  void for_each_chunk(const Frame& frame, F function) {
    base::parallel_for(
        chunks(), 1, threads_, [&](int worker, std::int64_t begin, std::int64_t end) {
          TileWorkspace& workspace = workspaces_[static_cast<std::size_t>(worker)];
          body_->prepare(
              workspace,
              frame.scratch + static_cast<std::size_t>(worker) * body_->workspace_bytes(), frame,
              nullptr);
          for (std::int64_t chunk = begin; chunk < end; ++chunk) {
            function(workspace, chunk);
          }
        });
  }

  template <typename F>
  void for_each_tile(TileWorkspace& workspace, std::int64_t chunk, F function) const {
    const TileEvaluator& evaluator = body_->evaluator();
    const std::int64_t end = std::min(body_->points(), (chunk + 1) * kChunk);
    for (std::int64_t begin = chunk * kChunk; begin < end;) {
      const std::int64_t count = evaluator.tile_count(begin, end);
      evaluator.evaluate(workspace, begin, count);
      function(evaluator.root(workspace, 0), begin, count);
      begin += count;
    }
  }

  std::unique_ptr<NodeBody> body_;
  ir::SymbolRef count_;
  schedule::BufferId output_ = schedule::kNoBuffer;
  int threads_ = 1;
  std::vector<TileWorkspace> workspaces_;
};

}  // namespace

StepResult make_compact_step(const CompileContext& context, ir::NodeId node) {
  return CompactStep::make(context, node);
}

}  // namespace tendon::backends::cpu
