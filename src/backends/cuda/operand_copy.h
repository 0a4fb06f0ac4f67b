// Copies between a value of a plan, however it lies, and dense row-major memory.
#pragma once

#include "backends/cuda/point_kernel.h"

namespace tendon::backends::cuda {

class OperandCopy {
 public:
  enum class Direction : std::uint8_t { kFromValue, kToValue };

  static Result<OperandCopy> make(const CompileContext& context, ir::ValueId value,
                                  Direction direction);
  /// Errors: ResourceExhausted where a size is not known on the host yet.
  Status bind(const KnownSizes& sizes);
  Status enqueue(const Launch& launch, std::byte* dense) const;
  std::int64_t bytes() const { return bytes_; }
  /// Of one position along axis 0.
  std::int64_t slice_bytes() const { return slices_ > 0 ? bytes_ / slices_ : 0; }

 private:
  ir::Shape shape_;
  DType dtype_ = DType::kFloat32;
  PointKernel kernel_;
  std::int64_t bytes_ = 0, slices_ = 1;
};

}  // namespace tendon::backends::cuda
