// Prefix operations along an axis.
#include <fmt/format.h>

#include "backends/cuda/node_steps.h"
#include "backends/cuda/point_kernel.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

using ir::ScanOp;

constexpr int kThreads = 256;  // kScanThreads of scan.cuh
/// From that many lines on, a thread for each keeps the GPU busy, and neighbours read neighbours.
constexpr std::int64_t kManyLines = 16384;
/// Shorter lines are not worth a block.
constexpr std::int64_t kShortLine = 32;

const char* prefix_name(ScanOp op) {
  switch (op) {
    case ScanOp::kSum:
      return "Prefix::kSum";
    case ScanOp::kProduct:
      return "Prefix::kProduct";
    case ScanOp::kMax:
      return "Prefix::kMax";
    case ScanOp::kMin:
      return "Prefix::kMin";
    case ScanOp::kLogSumExp:
      return "Prefix::kLogSumExp";
  }
  return "";
}

class ScanStep final : public Step {
 public:
  static StepResult make(const CompileContext& context, ir::NodeId id) {
    const ir::Node& node = context.plan->graph->node(id);
    const auto& scan = std::get<ir::Scan>(node.primitive);
    const ir::Value& output = context.plan->graph->value(node.outputs[0]);
    const bool extreme = scan.op == ScanOp::kMax || scan.op == ScanOp::kMin;
    if ((output.dtype == DType::kBool && !extreme) ||
        (!is_floating(output.dtype) && scan.op == ScanOp::kLogSumExp)) {
      return Status(StatusCode::kUnimplemented, "scan of " + std::string(dtype_name(output.dtype)));
    }
    auto step = std::make_unique<ScanStep>();
    const auto axis = static_cast<std::size_t>(scan.axis);
    for (std::size_t k = 0; k < output.shape.size(); ++k) {
      if (k == axis) {
        step->length_ = output.shape[k];
      } else {
        step->lines_.push_back(output.shape[k]);
      }
    }
    step->neighbours_are_lines_ = axis + 1 < output.shape.size();
    TENDON_ASSIGN_OR_RETURN(step->by_blocks_, step->write(context, node, "scan_lines_by_blocks"));
    TENDON_ASSIGN_OR_RETURN(step->by_threads_, step->write(context, node, "scan_lines_by_threads"));
    return std::unique_ptr<Step>(std::move(step));
  }

  Status bind(const KnownSizes& sizes) override {
    TENDON_ASSIGN_OR_RETURN(lines_bound_, sizes.upper_bound(lines_));
    TENDON_ASSIGN_OR_RETURN(length_bound_, sizes.upper_bound(length_));
    return {};
  }

  Status enqueue(const Launch& launch) override {
    if (length_bound_ <= kShortLine || (neighbours_are_lines_ && lines_bound_ >= kManyLines))
      return by_threads_.launch(launch, Grid{blocks_for(lines_bound_, kThreads), kThreads, 0});
    return by_blocks_.launch(launch, Grid{blocks_for(lines_bound_, 1), kThreads, 0});
  }

 private:
  Result<Kernel> write(const CompileContext& context, const ir::Node& node,
                       const char* function) const {
    const auto& scan = std::get<ir::Scan>(node.primitive);
    const ir::Value& output = context.plan->graph->value(node.outputs[0]);
    const std::string type = arithmetic_type_name(output.dtype);
    KernelWriter writer(context);
    const auto positions_of_line = [&](std::string& statements) {
      std::vector<std::string> positions;
      statements += writer.split("line", lines_, "i", positions);
      if (!output.shape.empty()) positions.insert(positions.begin() + scan.axis, "at");
      return positions;
    };
    std::string load;
    KernelWriter::Scope scope;
    scope.indices = positions_of_line(load);
    const std::string element = writer.expression(scan.body, scope, load);
    load += fmt::format("return {};\n", element);
    std::string store;
    const std::vector<std::string> positions = positions_of_line(store);
    store += writer.store(node.outputs[0], positions, fmt::format("static_cast<{}>(prefix)", type));
    if (node.outputs.size() > 1) store += writer.store(node.outputs[1], positions, "position");
    return writer.finish(
        fmt::format("{}<{}, {}>({}, {},\n"
                    "[&](long long line, long long at) -> {} {{\n{}}},\n"
                    "[&](long long line, long long at, auto prefix, long long position) {{\n"
                    "{}}});\n",
                    function, prefix_name(scan.op), type, writer.size(ir::element_count(lines_)),
                    writer.size(length_), type, load, store),
        kThreads);
  }

  ir::Shape lines_;  // the other axes
  ir::Size length_ = 1;
  bool neighbours_are_lines_ = false;
  Kernel by_blocks_, by_threads_;
  std::int64_t lines_bound_ = 0, length_bound_ = 0;
};

}  // namespace

StepResult make_scan_step(const CompileContext& context, ir::NodeId node) {
  return ScanStep::make(context, node);
}

}  // namespace tendon::backends::cuda
