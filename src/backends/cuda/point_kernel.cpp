#include "backends/cuda/point_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

/// Enough to keep every GPU busy.
constexpr std::int64_t kMaxBlocks = 132 * 16;

}  // namespace

std::string linear_position(KernelWriter& writer, std::span<const std::string> positions,
                            const ir::Shape& shape) {
  std::string text;
  for (std::size_t k = 0; k < positions.size(); ++k) {
    text = k == 0 ? positions[k]
                  : fmt::format("({}) * {} + {}", text, writer.size(shape[k]), positions[k]);
  }
  return text.empty() ? "0ll" : text;
}

std::int64_t blocks_for(std::int64_t tasks, std::int64_t tasks_of_block) {
  const std::int64_t blocks = tasks / tasks_of_block + (tasks % tasks_of_block != 0 ? 1 : 0);
  return std::clamp<std::int64_t>(blocks, 1, kMaxBlocks);
}

Result<PointKernel> PointKernel::make(KernelWriter& writer, const ir::Shape& shape,
                                      const std::string& body, const std::string& before) {
  PointKernel result;
  result.shape_ = shape;
  TENDON_ASSIGN_OR_RETURN(
      result.kernel_,
      writer.finish(
          fmt::format(
              "const long long points = {};\n{}"
              "for (long long point = static_cast<long long>(blockIdx.x) * {} + threadIdx.x;\n"
              "     point < points; point += static_cast<long long>(gridDim.x) * {}) {{\n{}}}\n",
              writer.size(ir::element_count(shape)), before, kThreads, kThreads, body),
          kThreads));
  return result;
}

Status PointKernel::bind(const KnownSizes& sizes) {
  TENDON_ASSIGN_OR_RETURN(const std::int64_t points, sizes.upper_bound(shape_));
  blocks_ = blocks_for(points, kThreads);
  return {};
}

Status PointKernel::enqueue(const Launch& launch, std::span<const std::int64_t> arguments) const {
  return kernel_.launch(launch, Grid{blocks_, kThreads, 0}, arguments);
}

}  // namespace tendon::backends::cuda
