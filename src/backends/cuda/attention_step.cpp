// Attention: one kernel, whatever the types, layouts, masks and sizes.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/product_epilogue.h"
#include "backends/cuda/product_steps.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

constexpr int kThreads = 256;  // kProductThreads of tiled_product.cuh

/// What a size will probably be, to choose between kernels that are all right.
std::int64_t likely(const ir::Size& size) {
  const auto value = size.evaluate([](const ir::Symbol& symbol) { return symbol.hint; });
  return value ? *value : size.bounds().upper;
}

class AttentionStep final : public Step {
 public:
  static StepResult make(const CompileContext& context, ir::NodeId id) {
    const ir::Graph& graph = *context.plan->graph;
    const ir::Node& node = graph.node(id);
    const auto& attention = std::get<ir::Attention>(node.primitive);
    const ir::ValueId q = node.inputs[0], k = node.inputs[1], v = node.inputs[2];
    const ir::ValueId output = node.outputs[0];
    const ir::Shape& shape = graph.value(output).shape;
    const std::size_t rank = shape.size();
    const ir::Size queries = shape[rank - 2], width = shape[rank - 1];
    const ir::Size keys = graph.value(k).shape[rank - 2];
    const ir::Size depth = graph.value(q).shape[rank - 1];
    const std::string type = sum_type(graph.value(q).dtype);
    const bool is_double = graph.value(q).dtype == DType::kFloat64;

    int columns = 8;
    while (columns > 2 && width.bounds().upper <= 8 * columns) columns /= 2;
    // Large blocks read keys less often, many small ones keep the device busy.
    constexpr std::int64_t kBusyBlocks = 128;
    std::int64_t heads = 1;
    for (std::size_t i = 0; i + 2 < rank; ++i)
      heads = std::min(kBusyBlocks, likely(shape[i])) * std::min(kBusyBlocks, heads);
    int rows = is_double ? 2 : 4;
    while (rows > 1 && heads * ((likely(queries) + 16 * rows - 1) / (16 * rows)) < kBusyBlocks)
      rows /= 2;

    auto step = std::make_unique<AttentionStep>();
    step->tiles_.assign(shape.begin(), shape.end() - 2);
    step->tiles_.push_back(ir::ceil_div(queries, 16 * rows));
    step->tiles_.push_back(ir::ceil_div(width, 16 * columns));
    KernelWriter writer(context);
    std::vector<std::string> at;
    std::string body = fmt::format(
        "const long long tiles = {};\n"
        "for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {{\n",
        writer.size(ir::element_count(step->tiles_)));
    body += writer.split("tile", step->tiles_, "tile", at);
    const std::string query_tile = at[rank - 2], column_tile = at[rank - 1];
    at.resize(rank - 2);  // the batch axes, and the head
    const std::string group = writer.fresh_name("group");
    body +=
        fmt::format("const long long {} = {} / {};\n", group, at[rank - 3],
                    writer.size(ir::floor_div(shape[rank - 3], graph.value(k).shape[rank - 3])));

    const auto positions = [&](const std::string& head, const char* row, const char* column) {
      std::vector<std::string> result(at.begin(), at.end() - 1);
      result.insert(result.end(), {head, row, column});
      return result;
    };
    const auto element = [&](ir::ValueId value, const std::string& head, const char* row,
                             const char* column) {
      return fmt::format("[&](long long {}, long long {}) {{ return static_cast<{}>({}); }},\n",
                         row, column, type, writer.load(value, positions(head, row, column)));
    };
    const std::string masked = attention.zero_masked_rows
                                   ? fmt::format("{}(0)", type)
                                   : fmt::format("std::numeric_limits<{}>::quiet_NaN()", type);
    // Without keys the sum is empty, not masked.
    body += fmt::format("const {0} of_masked_row = {1} == 0 ? {0}(0) : {2};\n", type,
                        writer.size(keys), masked);
    body += fmt::format(
        "attention<{}, {}, {}, {}>(\n{} * {}ll, {} * {}ll, {}, {}, {}, {}, {}, of_masked_row,\n",
        type, rows, columns, attention.causal, query_tile, 16 * rows, column_tile, 16 * columns,
        writer.size(queries), writer.size(keys), writer.size(depth), writer.size(width),
        writer.size(attention.causal_offset));
    body += element(q, at[rank - 3], "l", "d");
    body += element(k, group, "s", "d");
    body += element(v, group, "s", "e");
    body += score(writer, attention, type, positions(at[rank - 3], "l", "s"));
    const std::string stored = is_half(graph.value(output).dtype) ? "float" : type;
    body += fmt::format("[&](long long l, long long e, {} value) {{\n{}}});\n}}\n", stored,
                        writer.store(output, positions(at[rank - 3], "l", "e"), "value"));
    TENDON_ASSIGN_OR_RETURN(step->kernel_, writer.finish(body, kThreads));
    return StepResult(std::move(step));
  }

  Status bind(const KnownSizes& sizes) override {
    TENDON_ASSIGN_OR_RETURN(const std::int64_t tiles, sizes.upper_bound(tiles_));
    blocks_ = blocks_of_tasks(tiles);
    return {};
  }
  Status enqueue(const Launch& launch) override {
    return kernel_.launch(launch, Grid{blocks_, kThreads, 0});
  }

 private:
  /// The score of query l and key s, of their product.
  static std::string score(KernelWriter& writer, const ir::Attention& attention,
                           const std::string& type, const std::vector<std::string>& positions) {
    std::string text;
    std::string result = fmt::format("product * {}({:a})", type, attention.scale);
    if (attention.score != ir::kNoExpr) {
      text = fmt::format("const {} scaled = {};\n", type, result);
      KernelWriter::Scope scope;
      scope.indices = positions;
      scope.accumulator = "scaled";
      result = writer.expression(attention.score, scope, text);
    }
    return fmt::format("[&](long long l, long long s, {} product) {{\n{}return {};\n}},\n", type,
                       text, result);
  }

  Kernel kernel_;
  ir::Shape tiles_;
  std::int64_t blocks_ = 0;
};

}  // namespace

StepResult make_attention_step(const CompileContext& context, ir::NodeId node) {
  return AttentionStep::make(context, node);
}

}  // namespace tendon::backends::cuda
