// Batched matrix products: cuBLASLt for floating types, a kernel of our own for the rest.
#include <fmt/format.h>

#include "backends/cuda/library_matmul.h"
#include "backends/cuda/product_steps.h"
#include "backends/cuda/tiled_kernel.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

/// Any types and layouts, sizes that only the device knows.
Result<TiledKernel> make_tiled(const CompileContext& context, const ir::Node& node) {
  const ir::Graph& graph = *context.plan->graph;
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
  return TiledKernel::make(writer, text);
}

/// By the library where it has an algorithm for the sizes at hand, otherwise by the tiled kernel.
class MatmulStep final : public Step {
 public:
  static StepResult make(const CompileContext& context, ir::NodeId id) {
    const ir::Node& node = context.plan->graph->node(id);
    auto step = std::make_unique<MatmulStep>();
    if (LibraryMatmul::takes(context, node)) {
      TENDON_ASSIGN_OR_RETURN(step->library_, LibraryMatmul::make(context, node));
      // Where sizes are constants the answer is known now, and one of the two is enough.
      const Status status = step->library_->bind(KnownSizes());
      if (status.ok()) return StepResult(std::move(step));
      if (status.code() == StatusCode::kUnimplemented) step->library_.reset();
    }
    TENDON_ASSIGN_OR_RETURN(step->tiled_, make_tiled(context, node));
    return StepResult(std::move(step));
  }

  Status bind(const KnownSizes& sizes) override {
    by_library_ = false;
    if (library_) {
      const Status status = library_->bind(sizes);
      by_library_ = status.ok();
      if (status.code() != StatusCode::kUnimplemented || !tiled_) return status;
    }
    return tiled_->bind(sizes);
  }
  std::size_t scratch_bytes() const override { return by_library_ ? library_->scratch_bytes() : 0; }
  Status enqueue(const Launch& launch) override {
    return by_library_ ? library_->enqueue(launch) : tiled_->enqueue(launch);
  }

 private:
  std::optional<LibraryMatmul> library_;
  std::optional<TiledKernel> tiled_;
  bool by_library_ = false;
};

}  // namespace

StepResult make_matmul_step(const CompileContext& context, ir::NodeId node) {
  return MatmulStep::make(context, node);
}

}  // namespace tendon::backends::cuda
