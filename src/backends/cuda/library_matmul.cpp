#include "backends/cuda/library_matmul.h"

#include <numeric>

#include "base/status_macros.h"

namespace tendon::backends::cuda {

bool LibraryMatmul::takes(const CompileContext& context, const ir::Node& node) {
  if (context.math == nullptr) return false;
  const ir::Graph& graph = *context.plan->graph;
  if (!is_floating(graph.value(node.inputs[0]).dtype)) return false;
  for (const ir::ValueId value : {node.inputs[0], node.inputs[1]}) {
    for (const ir::Size& size : graph.value(value).shape)
      if (size.depends_on_data()) return false;
  }
  return graph.value(node.inputs[0]).shape.back().bounds().lower >= 1;
}

Result<LibraryMatmul> LibraryMatmul::make(const CompileContext& context, const ir::Node& node) {
  const schedule::Plan& plan = *context.plan;
  const ir::ValueId output = node.outputs[0];
  const ir::ExprId epilogue = std::get<ir::Matmul>(node.primitive).epilogue;
  LibraryMatmul made;
  made.math_ = context.math;
  made.shape_ = plan.graph->value(output).shape;
  made.inner_ = plan.graph->value(node.inputs[0]).shape.back();
  for (int i = 0; i < 2; ++i) {
    TENDON_ASSIGN_OR_RETURN(
        made.operands_[i], ProductOperand::make(context, node.inputs[static_cast<std::size_t>(i)]));
  }
  ProductDescription& product = made.product_;
  product.dtype = plan.graph->value(node.inputs[0]).dtype;
  product.result = plan.graph->value(output).dtype;
  const schedule::Storage& storage = plan.storage[static_cast<std::size_t>(output)];
  if (epilogue == ir::kNoExpr && product.result == product.dtype &&
      storage.strides == ir::contiguous_strides(made.shape_)) {
    made.output_ = storage;
    product.d_alignment = buffer_alignment(plan.buffers[static_cast<std::size_t>(storage.buffer)]);
  } else {
    product.result = *floating_sum(product.dtype);
    product.d_alignment = 256;
    std::vector<int> order(made.shape_.size());
    std::iota(order.begin(), order.end(), 0);
    TENDON_ASSIGN_OR_RETURN(made.epilogue_, ProductEpilogue::make(context, node, epilogue, order));
  }
  return made;
}

Status LibraryMatmul::bind(const KnownSizes& sizes) {
  ProductDescription& product = product_;
  const std::size_t rank = shape_.size();
  TENDON_ASSIGN_OR_RETURN(const std::int64_t elements, sizes.exact(ir::element_count(shape_)));
  TENDON_ASSIGN_OR_RETURN(product.m, sizes.exact(shape_[rank - 2]));
  TENDON_ASSIGN_OR_RETURN(product.n, sizes.exact(shape_[rank - 1]));
  TENDON_ASSIGN_OR_RETURN(product.k, sizes.exact(inner_));
  scratch_ = 0;
  empty_ = elements == 0;
  if (empty_) return {};
  product.batch = elements / product.m / product.n;
  for (ProductOperand& operand : operands_) TENDON_RETURN_IF_ERROR(operand.bind(sizes));
  product.a = operands_[0].place();
  product.b = operands_[1].place();
  product.a_alignment = operands_[0].alignment();
  product.b_alignment = operands_[1].alignment();
  // Rows of a batch that one matrix is for are rows of one product.
  if (product.batch > 1 && product.b.batch_stride == 0 && !product.a.transposed &&
      product.a.batch_stride == product.a.leading * product.m) {
    product.m *= product.batch;
    product.batch = 1;
  }
  product.d = {false, product.n, product.m * product.n};
  ProductDescription bound = product;
  if (epilogue_) {
    TENDON_RETURN_IF_ERROR(epilogue_->bind(sizes));
    scratch_ = aligned_scratch(static_cast<std::size_t>(elements) * dtype_size(product.result));
  } else {
    TENDON_ASSIGN_OR_RETURN(const std::int64_t offset, sizes.exact(output_.offset));
    output_bytes_ = offset * static_cast<std::int64_t>(dtype_size(product.result));
    bound.d_alignment =
        static_cast<int>(std::gcd<std::int64_t>(output_bytes_, product.d_alignment));
  }
  for (int i = 0; i < 2; ++i) {
    copy_at_[i] = static_cast<std::int64_t>(scratch_);
    scratch_ += operands_[i].copy_bytes();
  }
  workspace_at_ = scratch_;
  TENDON_ASSIGN_OR_RETURN(library_, LibraryProduct::make(*math_, bound));
  scratch_ += library_.workspace_bytes();
  return {};
}

Status LibraryMatmul::enqueue(const Launch& launch) const {
  if (empty_) return {};
  const void* data[2];
  for (int i = 0; i < 2; ++i) {
    TENDON_ASSIGN_OR_RETURN(data[i], operands_[i].enqueue(launch, copy_at_[i]));
  }
  std::byte* product =
      epilogue_ ? launch.scratch
                : launch.buffers[static_cast<std::size_t>(output_.buffer)] + output_bytes_;
  TENDON_RETURN_IF_ERROR(
      library_.enqueue(launch.stream, data[0], data[1], product, launch.scratch + workspace_at_));
  return epilogue_ ? epilogue_->enqueue(launch) : Status();
}

}  // namespace tendon::backends::cuda
