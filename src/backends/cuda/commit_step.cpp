#include "backends/cuda/commit_step.h"

#include <fmt/format.h>

#include <array>

#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kBlocks = 64;

}  // namespace

Result<CommitStep> CommitStep::make(const CompileContext& context) {
  KernelWriter writer(context);
  const std::string table = writer.argument("destinations");
  const std::string report = writer.argument("report");
  const std::string count = writer.argument("symbol_count");
  std::string body = fmt::format(
      "if (blockIdx.x == 0) {{\n"
      "long long* words = reinterpret_cast<long long*>({0});\n"
      "if (threadIdx.x == 0) words[0] = errors->lowest;\n"
      "for (long long k = threadIdx.x; k < {1}; k += blockDim.x) words[1 + k] = symbols[k];\n"
      "}}\n"
      "if (errors->lowest != {2}) return;\n"
      "char* const* table = reinterpret_cast<char* const*>({3});\n",
      report, count, kNoError, table);
  const ir::Graph& graph = *context.plan->graph;
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    const ir::Value& value = graph.value(graph.outputs[k].value);
    body += fmt::format(
        "if (table[{0}] != nullptr) copy_bytes(table[{0}], reinterpret_cast<const char*>({1}), "
        "({2}) * {3});\n",
        k, writer.buffer(graph.outputs[k].value), writer.size(ir::element_count(value.shape)),
        dtype_size(value.dtype));
  }
  CommitStep step;
  TENDON_ASSIGN_OR_RETURN(step.kernel_, writer.finish(body, kThreads));
  return step;
}

Status CommitStep::enqueue(const Launch& launch, std::byte* destinations, std::byte* report,
                           std::size_t symbols) const {
  const std::array<std::int64_t, 3> arguments = {
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(destinations)),
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(report)),
      static_cast<std::int64_t>(symbols)};
  return kernel_.launch(launch, Grid{kBlocks, kThreads, 0}, arguments);
}

}  // namespace tendon::backends::cuda
