// Positions of true elements.
#include <fmt/format.h>

#include "backends/cuda/node_steps.h"
#include "backends/cuda/point_kernel.h"
#include "backends/cuda/symbol_definition.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

constexpr int kThreads = 256;                    // kCompactThreads of compact.cuh
constexpr std::int64_t kChunk = 8ll * kThreads;  // kCompactChunk

class CompactStep final : public Step {
 public:
  static StepResult make(const CompileContext& context, ir::NodeId id) {
    const ir::Graph& graph = *context.plan->graph;
    const ir::Node& node = graph.node(id);
    const ir::Symbol& count = *std::get<ir::Compact>(node.primitive).count;
    auto step = std::make_unique<CompactStep>();
    step->shape_ = graph.value(node.inputs[0]).shape;
    const ir::Size points = ir::element_count(step->shape_);

    const auto flag = [&](KernelWriter& writer) {
      std::vector<std::string> positions;
      std::string text = writer.split("point", step->shape_, "i", positions);
      text += fmt::format("return {};\n", writer.element(node.inputs[0], positions));
      return fmt::format("[&](long long point) -> bool {{\n{}}}", text);
    };
    const std::string counts = "reinterpret_cast<long long*>(scratch)";
    {
      KernelWriter writer(context);
      TENDON_ASSIGN_OR_RETURN(step->count_,
                              writer.finish(fmt::format("count_chunks({}, {}, {});\n",
                                                        writer.size(points), counts, flag(writer)),
                                            kThreads));
    }
    {
      // Should the symbol's range ask for more than there are, the rest are zeros: readers of
      // positions rely on them being inside of the mask.
      KernelWriter writer(context);
      const std::string rank = "rank";
      const std::string body = fmt::format(
          "const long long total = add_counts({}, {});\n"
          "if (threadIdx.x == 0) {}"
          "for (long long rank = total + threadIdx.x; rank < {}; rank += blockDim.x) {} = 0;\n",
          writer.size(points), counts, symbol_definition(context, writer, count, "total"),
          writer.size(count.lower), writer.element(node.outputs[0], std::span(&rank, 1)));
      TENDON_ASSIGN_OR_RETURN(step->add_, writer.finish(body, kThreads));
    }
    {
      // More than the symbol allows have no memory.
      KernelWriter writer(context);
      const std::string rank = "rank";
      const std::string body = fmt::format(
          "place_positions({}, {}, {}, {},\n"
          "[&](long long rank, long long point) {{ {} = point; }});\n",
          writer.size(points), counts, writer.size(count.upper), flag(writer),
          writer.element(node.outputs[0], std::span(&rank, 1)));
      TENDON_ASSIGN_OR_RETURN(step->place_, writer.finish(body, kThreads));
    }
    return std::unique_ptr<Step>(std::move(step));
  }

  Status bind(const KnownSizes& sizes) override {
    TENDON_ASSIGN_OR_RETURN(points_, sizes.upper_bound(shape_));
    return {};
  }
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(points_ / kChunk + 1) * sizeof(std::int64_t);
  }
  Status enqueue(const Launch& launch) override {
    const Grid chunks{blocks_for(points_, kChunk), kThreads, 0};
    TENDON_RETURN_IF_ERROR(count_.launch(launch, chunks));
    TENDON_RETURN_IF_ERROR(add_.launch(launch, Grid{1, kThreads, 0}));
    return place_.launch(launch, chunks);
  }

 private:
  ir::Shape shape_;
  Kernel count_, add_, place_;
  std::int64_t points_ = 0;
};

}  // namespace

StepResult make_compact_step(const CompileContext& context, ir::NodeId node) {
  return CompactStep::make(context, node);
}

}  // namespace tendon::backends::cuda
