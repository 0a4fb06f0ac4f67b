#include "backends/cuda/product_operand.h"

#include <algorithm>
#include <numeric>

#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

constexpr int kScratchAlignment = 256;

/// The one stride that walks over all batch axes; nothing if there is none for certain.
std::optional<ir::Size> one_batch_stride(const ir::Shape& shape, const ir::Shape& strides) {
  std::optional<ir::Size> inner, outer;
  for (std::size_t i = shape.size() - 2; i-- > 0;) {
    if (shape[i] == ir::Size(1)) continue;
    if (!inner) {
      inner = strides[i];
    } else if (!(strides[i] == *outer)) {
      return std::nullopt;
    }
    outer = strides[i] * shape[i];
  }
  return inner ? *inner : ir::Size(0);
}

bool surely_at_most(const ir::Size& a, const ir::Size& b) {
  return ir::provably_less_equal(a, b).value_or(false);
}

}  // namespace

int buffer_alignment(const schedule::Buffer& buffer) {
  const bool may_be_the_callers = buffer.kind == schedule::Buffer::Kind::kInput ||
                                  buffer.kind == schedule::Buffer::Kind::kOutput;
  return may_be_the_callers ? static_cast<int>(dtype_size(buffer.dtype)) : 64;
}

Result<ProductOperand> ProductOperand::make(const CompileContext& context, ir::ValueId value) {
  const schedule::Storage& storage = context.plan->storage[static_cast<std::size_t>(value)];
  const ir::Value& described = context.plan->graph->value(value);
  const ir::Shape& shape = described.shape;
  const std::size_t rank = shape.size();
  const ir::Size &rows = shape[rank - 2], &columns = shape[rank - 1];
  const ir::Size &row_stride = storage.strides[rank - 2],
                 &column_stride = storage.strides[rank - 1];
  ProductOperand made;
  made.dtype_ = described.dtype;
  made.shape_ = shape;
  made.buffer_ = storage.buffer;
  made.offset_ = storage.offset;
  made.base_alignment_ =
      buffer_alignment(context.plan->buffers[static_cast<std::size_t>(storage.buffer)]);
  const ir::Size one = 1;
  const auto batch_stride = one_batch_stride(shape, storage.strides);
  if (batch_stride) made.batch_stride_ = *batch_stride;
  if (batch_stride && (column_stride == one || columns == one) &&
      (rows == one || surely_at_most(columns, row_stride))) {
    made.leading_ = rows == one ? columns : row_stride;
  } else if (batch_stride && (row_stride == one || rows == one) &&
             (columns == one || surely_at_most(rows, column_stride))) {
    made.transposed_ = true;
    made.leading_ = columns == one ? rows : column_stride;
  } else {
    made.leading_ = columns;
    made.batch_stride_ = rows * columns;
    std::vector<int> order(rank);
    std::iota(order.begin(), order.end(), 0);
    TENDON_ASSIGN_OR_RETURN(made.copy_, DenseCopy::make(context, value, order));
  }
  return made;
}

Status ProductOperand::bind(const KnownSizes& sizes) {
  place_.transposed = transposed_;
  TENDON_ASSIGN_OR_RETURN(place_.leading, sizes.exact(leading_));
  TENDON_ASSIGN_OR_RETURN(place_.batch_stride, sizes.exact(batch_stride_));
  const auto bytes = static_cast<std::int64_t>(dtype_size(dtype_));
  if (copy_) {
    TENDON_ASSIGN_OR_RETURN(const std::int64_t elements, sizes.exact(ir::element_count(shape_)));
    copy_bytes_ = aligned_scratch(static_cast<std::size_t>(elements * bytes));
    alignment_ = kScratchAlignment;
    return copy_->bind(sizes);
  }
  TENDON_ASSIGN_OR_RETURN(const std::int64_t offset, sizes.exact(offset_));
  offset_bytes_ = offset * bytes;
  alignment_ = static_cast<int>(std::gcd<std::int64_t>(offset_bytes_, base_alignment_));
  return {};
}

Result<const void*> ProductOperand::enqueue(const Launch& launch, std::int64_t at) const {
  if (!copy_) return launch.buffers[static_cast<std::size_t>(buffer_)] + offset_bytes_;
  TENDON_RETURN_IF_ERROR(copy_->enqueue(launch, at));
  return launch.scratch + at;
}

}  // namespace tendon::backends::cuda
