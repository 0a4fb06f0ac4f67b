// What follows a product, element by element.
#pragma once

#include <span>
#include <string>

#include "backends/cuda/kernel_writer.h"

namespace tendon::backends::cuda {

/// The type that products of a dtype are summed in, in device code: "float" for float32 and half
/// types, "double", or an unsigned type for integers, which wrap.
std::string sum_type(DType dtype);
/// The same where it is a dtype: float32 or float64; nothing for integers.
std::optional<DType> floating_sum(DType dtype);

/// Statements that store the element of the node's output at `positions`, given the text of its
/// product (of sum_type).
std::string store_product(KernelWriter& writer, const CompileContext& context, const ir::Node& node,
                          ir::ExprId epilogue, std::span<const std::string> positions,
                          const std::string& product);

/// A kernel over a product that lies dense at the start of the step's scratch memory, `order` being
/// its axes from slowest to fastest: applies the epilogue (none: a conversion) and stores the
/// output.
class ProductEpilogue {
 public:
  static Result<ProductEpilogue> make(const CompileContext& context, const ir::Node& node,
                                      ir::ExprId epilogue, std::span<const int> order);
  Status bind(const KnownSizes& sizes);
  Status enqueue(const Launch& launch) const;

 private:
  Kernel kernel_;
  ir::Shape shape_;
  std::int64_t blocks_ = 0;
};

/// A kernel that copies a value to dense memory, row-major, `at` bytes into the step's scratch
/// memory.
class DenseCopy {
 public:
  static Result<DenseCopy> make(const CompileContext& context, ir::ValueId value,
                                std::span<const int> order);
  Status bind(const KnownSizes& sizes);
  Status enqueue(const Launch& launch, std::int64_t at) const;

 private:
  Kernel kernel_;
  ir::Shape shape_;
  std::int64_t blocks_ = 0;
};

/// Blocks of a grid in which every block takes one of `tasks` after the other.
std::int64_t blocks_of_tasks(std::int64_t tasks);

}  // namespace tendon::backends::cuda
