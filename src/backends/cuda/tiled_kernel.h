// Writes kernels around tiled_product: how a product of any type and layout, whose sizes may be
// known to the device only, is cut into tiles.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/kernel_writer.h"

namespace tendon::backends::cuda {

/// The parts of a product that depend on what is multiplied: bodies of device functions.
struct TiledText {
  std::string sum;  // sum_type
  ir::Shape batch;  // axes that are neither rows nor columns nor summed
  ir::Size rows, columns, inner;
  std::vector<std::string> batch_names;  // positions along the batch axes, for the bodies
  std::string a_line, a_element;         // of ProductLine(row); of Sum(line, k)
  std::string b_line, b_element;         // of ProductLine(column); of Sum(line, k)
  std::string store;                     // of void(row, column, sum)
  bool a_along_inner = true, b_along_inner = true;
};

class TiledKernel {
 public:
  /// Positions along `count` batch axes have names that the bodies may use before they are known.
  static std::vector<std::string> batch_names(std::size_t count);
  static Result<TiledKernel> make(KernelWriter& writer, const TiledText& text);
  Status bind(const KnownSizes& sizes);
  Status enqueue(const Launch& launch) const;

 private:
  Kernel kernel_;
  ir::Shape tiles_;
  std::int64_t blocks_ = 0;
};

}  // namespace tendon::backends::cuda
