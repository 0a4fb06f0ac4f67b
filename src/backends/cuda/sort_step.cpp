// Stable sorting along an axis, and the first elements of the order.
#include <fmt/format.h>

#include <array>

#include "backends/cuda/entry_sort.h"
#include "backends/cuda/node_steps.h"
#include "backends/cuda/point_kernel.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

class SortStep final : public Step {
 public:
  /// `k`: how many of the order to keep; nothing: all.
  static StepResult make(const CompileContext& context, ir::NodeId id, int axis_number,
                         bool descending, const ir::Size* k) {
    const ir::Graph& graph = *context.plan->graph;
    const ir::Node& node = graph.node(id);
    const ir::Value& input = graph.value(node.inputs[0]);
    const auto axis = static_cast<std::size_t>(axis_number);
    EntrySortText sort;
    sort.lines = input.shape;
    sort.lines.erase(sort.lines.begin() + axis_number);
    sort.length = input.shape[axis];
    sort.kept = k != nullptr ? *k : sort.length;
    sort.narrow = dtype_size(input.dtype) <= 4 && sort.length.bounds().upper < 0xffffffffll;
    sort.key = [&](KernelWriter& writer) {
      std::vector<std::string> positions;
      std::string text = writer.split("line", sort.lines, "i", positions);
      positions.insert(positions.begin() + axis_number, "position");
      return text + fmt::format("return sort_key<{}, {}>({});\n", memory_type(input.dtype),
                                descending, writer.element(node.inputs[0], positions));
    };
    auto step = std::make_unique<SortStep>();
    TENDON_ASSIGN_OR_RETURN(step->sort_, EntrySort::make(context, sort));

    KernelWriter writer(context);
    const std::string sorted = writer.argument("sorted");
    const ir::Shape& shape = graph.value(node.outputs[0]).shape;
    const std::string length = writer.size(sort.length);
    std::vector<std::string> target;
    std::string body = writer.split("point", shape, "i", target);
    std::vector<std::string> line = target;
    line.erase(line.begin() + axis_number);
    std::vector<std::string> source = target;
    source[axis] = "position";
    std::string before;
    if (k != nullptr) {
      const int check =
          writer.check(StatusCode::kOutOfRange, "topk: k = {index} of an axis of size {size}");
      before = fmt::format(
          "if (blockIdx.x == 0 && threadIdx.x == 0 && ({0} < 0 || {0} > {1}))\n"
          "  check_failed(errors, {2}, {0}, {1});\n",
          writer.size(*k), length, check);
      body += fmt::format("if ({} >= {}) {{\n{} = {}(0);\n{} = 0;\ncontinue;\n}}\n", target[axis],
                          length, writer.element(node.outputs[0], target),
                          "static_cast<" + memory_type(input.dtype) + ">",
                          writer.element(node.outputs[1], target));
    }
    body += fmt::format(
        "const long long position = reinterpret_cast<const {}*>(scratch + {})[({}) * {} + "
        "{}].position();\n"
        "{} = {};\n{} = position;\n",
        EntrySort::entry_type(sort.narrow), sorted, linear_position(writer, line, sort.lines),
        length, target[axis], writer.element(node.outputs[0], target),
        writer.element(node.inputs[0], source), writer.element(node.outputs[1], target));
    TENDON_ASSIGN_OR_RETURN(step->write_, PointKernel::make(writer, shape, body, before));
    return std::unique_ptr<Step>(std::move(step));
  }

  Status bind(const KnownSizes& sizes) override {
    TENDON_RETURN_IF_ERROR(sort_.bind(sizes));
    return write_.bind(sizes);
  }
  std::size_t scratch_bytes() const override { return sort_.scratch_bytes(); }
  Status enqueue(const Launch& launch) override {
    TENDON_RETURN_IF_ERROR(sort_.enqueue(launch));
    return write_.enqueue(launch, std::array{sort_.sorted_offset()});
  }

 private:
  EntrySort sort_;
  PointKernel write_;
};

}  // namespace

StepResult make_sort_step(const CompileContext& context, ir::NodeId node) {
  const auto& sort = std::get<ir::Sort>(context.plan->graph->node(node).primitive);
  return SortStep::make(context, node, sort.axis, sort.descending, nullptr);
}

StepResult make_top_k_step(const CompileContext& context, ir::NodeId node) {
  const auto& top = std::get<ir::TopK>(context.plan->graph->node(node).primitive);
  return SortStep::make(context, node, top.axis, top.largest, &top.k);
}

}  // namespace tendon::backends::cuda
