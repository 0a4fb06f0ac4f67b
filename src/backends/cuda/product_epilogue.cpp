#include "backends/cuda/product_epilogue.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMaxBlocks = std::int64_t{1} << 20;

/// Axes of `shape` in memory order, and the positions of an element by axis.
std::string split_in_order(KernelWriter& writer, const std::string& linear, const ir::Shape& shape,
                           std::span<const int> order, std::vector<std::string>& positions) {
  ir::Shape ordered;
  for (const int axis : order) ordered.push_back(shape[static_cast<std::size_t>(axis)]);
  std::vector<std::string> names;
  std::string text = writer.split(linear, ordered, "at", names);
  positions.resize(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    positions[static_cast<std::size_t>(order[i])] = names[i];
  return text;
}

std::string element_loop(const std::string& count, const std::string& body) {
  return fmt::format(
      "const long long count = {};\n"
      "for (long long i = blockIdx.x * {}ll + threadIdx.x; i < count; i += gridDim.x * {}ll) {{\n"
      "{}}}\n",
      count, kThreads, kThreads, body);
}

Result<std::int64_t> element_blocks(const KnownSizes& sizes, const ir::Shape& shape) {
  TENDON_ASSIGN_OR_RETURN(const std::int64_t elements, sizes.upper_bound(shape));
  return blocks_of_tasks(elements / kThreads + (elements % kThreads != 0 ? 1 : 0));
}

}  // namespace

std::int64_t blocks_of_tasks(std::int64_t tasks) { return std::min(tasks, kMaxBlocks); }

std::optional<DType> floating_sum(DType dtype) {
  if (!is_floating(dtype)) return std::nullopt;
  return dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

std::string sum_type(DType dtype) {
  if (const auto sum = floating_sum(dtype)) return memory_type(*sum);
  return dtype_size(dtype) == 8 ? "unsigned long long" : "unsigned";
}

std::string store_product(KernelWriter& writer, const CompileContext& context, const ir::Node& node,
                          ir::ExprId epilogue, std::span<const std::string> positions,
                          const std::string& product) {
  const ir::Graph& graph = *context.plan->graph;
  const ir::ValueId output = node.outputs[0];
  std::string text;
  const auto declare = [&](DType dtype) {
    const std::string name = writer.fresh_name("product");
    const std::string type = arithmetic_type_name(dtype);
    text += fmt::format("const {} {} = static_cast<{}>({});\n", type, name, type, product);
    return name;
  };
  if (epilogue == ir::kNoExpr) {
    const std::string name = declare(graph.value(output).dtype);
    return text + writer.store(output, positions, name);
  }
  KernelWriter::Scope scope;
  scope.indices.assign(positions.begin(), positions.end());
  for (const ir::ExprId id : graph.pool.topological(epilogue)) {
    const ir::ExprNode& expression = graph.pool.node(id);
    if (expression.op == ir::Op::kAccumulator) scope.accumulator = declare(expression.dtype);
  }
  const std::string stored = writer.expression(epilogue, scope, text);
  return text + writer.store(output, positions, stored);
}

Result<ProductEpilogue> ProductEpilogue::make(const CompileContext& context, const ir::Node& node,
                                              ir::ExprId epilogue, std::span<const int> order) {
  const ir::Graph& graph = *context.plan->graph;
  ProductEpilogue result;
  result.shape_ = graph.value(node.outputs[0]).shape;
  KernelWriter writer(context);
  std::vector<std::string> positions;
  std::string body = split_in_order(writer, "i", result.shape_, order, positions);
  const std::string product = fmt::format("reinterpret_cast<const {}*>(scratch)[i]",
                                          sum_type(graph.value(node.inputs[0]).dtype));
  body += store_product(writer, context, node, epilogue, positions, product);
  const std::string count = writer.size(ir::element_count(result.shape_));
  TENDON_ASSIGN_OR_RETURN(result.kernel_, writer.finish(element_loop(count, body), kThreads));
  return result;
}

Status ProductEpilogue::bind(const KnownSizes& sizes) {
  TENDON_ASSIGN_OR_RETURN(blocks_, element_blocks(sizes, shape_));
  return {};
}

Status ProductEpilogue::enqueue(const Launch& launch) const {
  return kernel_.launch(launch, Grid{blocks_, kThreads, 0});
}

Result<DenseCopy> DenseCopy::make(const CompileContext& context, ir::ValueId value,
                                  std::span<const int> order) {
  DenseCopy result;
  result.shape_ = context.plan->graph->value(value).shape;
  KernelWriter writer(context);
  std::vector<std::string> positions;
  std::string body = split_in_order(writer, "i", result.shape_, order, positions);
  const std::string at = writer.argument("copy_at");
  body += fmt::format("reinterpret_cast<{}*>(scratch + {})[i] = {};\n",
                      memory_type(context.plan->graph->value(value).dtype), at,
                      writer.element(value, positions));
  const std::string count = writer.size(ir::element_count(result.shape_));
  TENDON_ASSIGN_OR_RETURN(result.kernel_, writer.finish(element_loop(count, body), kThreads));
  return result;
}

Status DenseCopy::bind(const KnownSizes& sizes) {
  TENDON_ASSIGN_OR_RETURN(blocks_, element_blocks(sizes, shape_));
  return {};
}

Status DenseCopy::enqueue(const Launch& launch, std::int64_t at) const {
  return kernel_.launch(launch, Grid{blocks_, kThreads, 0}, std::span(&at, 1));
}

}  // namespace tendon::backends::cuda
