// An operand of a library product: where its matrices lie, or a dense copy where no such place is.
#pragma once

#include <optional>

#include "backends/cuda/library_product.h"
#include "backends/cuda/product_epilogue.h"

namespace tendon::backends::cuda {

/// A value of shape [batch..., rows, columns].
class ProductOperand {
 public:
  static Result<ProductOperand> make(const CompileContext& context, ir::ValueId value);
  /// The place follows from the sizes. Errors: Internal where one is not known.
  Status bind(const KnownSizes& sizes);
  const MatrixPlace& place() const { return place_; }
  /// Bytes of scratch for the copy; 0: read where it is.
  std::size_t copy_bytes() const { return copy_bytes_; }
  /// Of the first element, at least.
  int alignment() const { return alignment_; }
  /// Makes the copy, `at` bytes into scratch, if there is one; returns the first element.
  Result<const void*> enqueue(const Launch& launch, std::int64_t at) const;

 private:
  DType dtype_ = DType::kFloat32;
  ir::Shape shape_;
  schedule::BufferId buffer_ = schedule::kNoBuffer;
  ir::Size offset_, leading_, batch_stride_;
  std::optional<DenseCopy> copy_;
  bool transposed_ = false;
  int base_alignment_ = 1;

  MatrixPlace place_;
  std::size_t copy_bytes_ = 0;
  std::int64_t offset_bytes_ = 0;
  int alignment_ = 1;
};

/// Bytes that the first byte of a buffer is aligned to, at least.
int buffer_alignment(const schedule::Buffer& buffer);

/// Bytes to reserve, so that what follows is aligned as scratch memory is.
inline std::size_t aligned_scratch(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace tendon::backends::cuda
