// A kernel that does something for every point of a shape.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/cuda/kernel_writer.h"

namespace tendon::backends::cuda {

/// Row-major number of a position within a shape.
std::string linear_position(KernelWriter& writer, std::span<const std::string> positions,
                            const ir::Shape& shape);
/// Blocks of a grid in which every block takes one of `tasks` after the other: at least one.
std::int64_t blocks_for(std::int64_t tasks, std::int64_t tasks_of_block);

class PointKernel {
 public:
  static constexpr int kThreads = 256;

  PointKernel() = default;
  /// `body`: statements for `point`, the row-major number within `shape`, in a loop; `before`:
  /// statements of every thread.
  static Result<PointKernel> make(KernelWriter& writer, const ir::Shape& shape,
                                  const std::string& body, const std::string& before = "");
  Status bind(const KnownSizes& sizes);
  Status enqueue(const Launch& launch, std::span<const std::int64_t> arguments = {}) const;

 private:
  Kernel kernel_;
  ir::Shape shape_;
  std::int64_t blocks_ = 1;
};

}  // namespace tendon::backends::cuda
