// Batched matrix products: cuBLASLt for floating types, a kernel of our own for the rest.
#include <fmt/format.h>

#include <numeric>

#include "backends/cuda/product_operand.h"
#include "backends/cuda/product_steps.h"
#include "backends/cuda/tiled_kernel.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

/// Any types and layouts, sizes that only the device knows.
class TiledMatmulStep final : public Step {
 public:
  static StepResult make(const CompileContext& context, ir::NodeId id) {
    const ir::Graph& graph = *context.plan->graph;
    const ir::Node& node = graph.node(id);
    const ir::Shape& a = graph.value(node.inputs[0]).shape;
    const ir::Shape& b = graph.value(node.inputs[1]).shape;
    const std::size_t rank = a.size();
    KernelWriter writer(context);
    TiledText text;
    text.sum = sum_type(graph.value(node.inputs[0]).dtype);
    text.batch.assign(a.begin(), a.end() - 2);
    text.rows = a[rank - 2];
    text.inner = a[rank - 1];
    text.columns = b[rank - 1];
    text.batch_names = TiledKernel::batch_names(rank - 2);
    const auto at = [&](const char* row, const char* column) {
      std::vector<std::string> positions = text.batch_names;
      positions.insert(positions.end(), {row, column});
      return positions;
    };
    text.a_line = "return ProductLine{{row, 0, 0, 0}};\n";
    text.b_line = "return ProductLine{{column, 0, 0, 0}};\n";
    const auto element = [&](ir::ValueId value, const std::vector<std::string>& positions) {
      return fmt::format("return static_cast<{}>({});\n", text.sum, writer.load(value, positions));
    };
    text.a_element = element(node.inputs[0], at("line.at[0]", "k"));
    text.b_element = element(node.inputs[1], at("k", "line.at[0]"));
    const auto stride = [&](int input, std::size_t axis) -> const ir::Size& {
      const ir::ValueId value = node.inputs[static_cast<std::size_t>(input)];
      return context.plan->storage[static_cast<std::size_t>(value)].strides[axis];
    };
    text.a_along_inner = stride(0, rank - 2) != ir::Size(1);
    text.b_along_inner = stride(1, rank - 1) != ir::Size(1);
    text.store = store_product(writer, context, node, std::get<ir::Matmul>(node.primitive).epilogue,
                               at("row", "column"), "sum");
    auto step = std::make_unique<TiledMatmulStep>();
    TENDON_ASSIGN_OR_RETURN(step->kernel_, TiledKernel::make(writer, text));
    return StepResult(std::move(step));
  }
  Status bind(const KnownSizes& sizes) override { return kernel_.bind(sizes); }
  Status enqueue(const Launch& launch) override { return kernel_.enqueue(launch); }

 private:
  TiledKernel kernel_;
};

/// Sizes that the host knows; the product goes to the output where it has its type and layout,
/// otherwise to scratch memory, for the epilogue.
class LibraryMatmulStep final : public Step {
 public:
  static StepResult make(const CompileContext& context, ir::NodeId id) {
    const schedule::Plan& plan = *context.plan;
    const ir::Node& node = plan.graph->node(id);
    const ir::ValueId output = node.outputs[0];
    const ir::ExprId epilogue = std::get<ir::Matmul>(node.primitive).epilogue;
    auto step = std::make_unique<LibraryMatmulStep>();
    step->math_ = context.math;
    step->shape_ = plan.graph->value(output).shape;
    step->inner_ = plan.graph->value(node.inputs[0]).shape.back();
    for (int i = 0; i < 2; ++i) {
      TENDON_ASSIGN_OR_RETURN(
          step->operands_[i],
          ProductOperand::make(context, node.inputs[static_cast<std::size_t>(i)]));
    }
    ProductDescription& product = step->product_;
    product.dtype = plan.graph->value(node.inputs[0]).dtype;
    product.result = plan.graph->value(output).dtype;
    const schedule::Storage& storage = plan.storage[static_cast<std::size_t>(output)];
    if (epilogue == ir::kNoExpr && product.result == product.dtype &&
        storage.strides == ir::contiguous_strides(step->shape_)) {
      step->output_ = storage;
      product.d_alignment =
          buffer_alignment(plan.buffers[static_cast<std::size_t>(storage.buffer)]);
    } else {
      product.result = *floating_sum(product.dtype);
      product.d_alignment = 256;
      std::vector<int> order(step->shape_.size());
      std::iota(order.begin(), order.end(), 0);
      TENDON_ASSIGN_OR_RETURN(step->epilogue_,
                              ProductEpilogue::make(context, node, epilogue, order));
    }
    return StepResult(std::move(step));
  }

  Status bind(const KnownSizes& sizes) override {
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

  std::size_t scratch_bytes() const override { return scratch_; }

  Status enqueue(const Launch& launch) override {
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

/// Floating types; sizes that the host knows before a run, with something to sum.
bool library_multiplies(const ir::Graph& graph, const ir::Node& node) {
  if (!is_floating(graph.value(node.inputs[0]).dtype)) return false;
  for (const ir::ValueId value : {node.inputs[0], node.inputs[1]}) {
    for (const ir::Size& size : graph.value(value).shape)
      if (size.depends_on_data()) return false;
  }
  return graph.value(node.inputs[0]).shape.back().bounds().lower >= 1;
}

}  // namespace

StepResult make_matmul_step(const CompileContext& context, ir::NodeId node) {
  const ir::Graph& graph = *context.plan->graph;
  if (context.math != nullptr && library_multiplies(graph, graph.node(node)))
    return LibraryMatmulStep::make(context, node);
  return TiledMatmulStep::make(context, node);
}

}  // namespace tendon::backends::cuda
