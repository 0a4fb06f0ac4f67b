// A matrix product by cuBLASLt, with what comes before and after it.
#pragma once

#include <optional>

#include "backends/cuda/product_operand.h"

namespace tendon::backends::cuda {

/// Of a Matmul node whose sizes the host knows when it binds. The product goes to the output where
/// it has the output's type and layout, otherwise to scratch memory, for the epilogue.
class LibraryMatmul {
 public:
  /// Whether the library multiplies such types and sizes at all: floating types, sizes that do not
  /// come from data, something to sum.
  static bool takes(const CompileContext& context, const ir::Node& node);
  static Result<LibraryMatmul> make(const CompileContext& context, const ir::Node& node);
  /// Errors: Unimplemented if the library has no algorithm for these sizes and places.
  Status bind(const KnownSizes& sizes);
  std::size_t scratch_bytes() const { return scratch_; }
  Status enqueue(const Launch& launch) const;

 private:
  const MathLibraries* math_ = nullptr;
  ir::Shape shape_;
  ir::Size inner_;
  ProductOperand operands_[2];
  ProductDescription product_;
  schedule::Storage output_;                 // where the product goes straight there
  std::optional<ProductEpilogue> epilogue_;  // where it does not
  LibraryProduct library_;
  bool empty_ = false;
  std::size_t scratch_ = 0, workspace_at_ = 0;
  std::int64_t copy_at_[2] = {}, output_bytes_ = 0;
};

}  // namespace tendon::backends::cuda
