// Batched matrix products: oneDNN for float32 and bfloat16, plain loops for the rest.
#include <cstring>
#include <numeric>

#include "backends/cpu/dnnl_tools.h"
#include "backends/cpu/epilogue.h"
#include "backends/cpu/packed_weight.h"
#include "backends/cpu/panel_product.h"
#include "backends/cpu/plain_product.h"
#include "backends/cpu/product_steps.h"
#include "backends/cpu/strided_elements.h"
#include "base/status_macros.h"

namespace tendon::backends::cpu {

namespace {

using dnnl::memory;

std::int64_t aligned(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// An operand as [batch, rows, columns]; the batch axes follow one another with one stride, or they
/// are walked.
struct Matrices {
  std::int64_t batch = 1, rows = 1, columns = 1;
  std::int64_t strides[3] = {0, 1, 1};
  bool one_batch_stride = true;
};

Matrices matrices_of(const BoundLocation& location) {
  Matrices m;
  const std::size_t rank = location.shape.size();
  m.rows = location.shape[rank - 2];
  m.columns = location.shape[rank - 1];
  m.strides[1] = location.strides[rank - 2];
  m.strides[2] = location.strides[rank - 1];
  std::int64_t expected = -1;
  for (std::size_t i = rank - 2; i-- > 0;) {
    if (location.shape[i] == 1) continue;
    if (expected < 0) {
      m.strides[0] = location.strides[i];
    } else if (location.strides[i] != expected) {
      m.one_batch_stride = false;
    }
    expected = location.strides[i] * location.shape[i];
    m.batch *= location.shape[i];
  }
  return m;
}

class MatmulStep final : public backends::Step {
 public:
  static StepResult make(const CompileContext& context, ir::NodeId id) {
    auto step = std::make_unique<MatmulStep>();
    step->plan_ = context.plan;
    step->shared_ = context.shared;
    step->threads_ = context.threads;
    step->node_ = &context.plan->graph->node(id);
    const ir::Graph& graph = *context.plan->graph;
    const ir::Node& node = *step->node_;
    for (int i = 0; i < 2; ++i) {
      TENDON_ASSIGN_OR_RETURN(
          step->inputs_[i],
          BoundLocation::make(*context.plan, node.inputs[static_cast<std::size_t>(i)]));
    }
    TENDON_ASSIGN_OR_RETURN(step->output_, BoundLocation::make(*context.plan, node.outputs[0]));
    const ir::ExprId epilogue = std::get<ir::Matmul>(node.primitive).epilogue;
    const DType in = step->inputs_[0].dtype;
    const int rank = static_cast<int>(graph.value(node.outputs[0]).shape.size());
    step->library_ = dnnl_type(in).has_value();
    step->constant_ = constant_weight(*context.plan, node);
    step->reads_weight_once_ = reads_weight_once(graph, node);
    if (step->library_ && in == DType::kFloat32 && step->output_.dtype == DType::kFloat32) {
      step->simple_ = match_simple_epilogue(*context.plan, node, epilogue, rank - 1);
    }
    if (step->simple_) {
      if (step->simple_->bias) {
        step->bias_value_ = *step->simple_->bias;
        TENDON_ASSIGN_OR_RETURN(step->bias_, BoundLocation::make(*context.plan, step->bias_value_));
      }
      if (step->simple_->residual) {
        step->residual_value_ = *step->simple_->residual;
        TENDON_ASSIGN_OR_RETURN(step->residual_,
                                BoundLocation::make(*context.plan, step->residual_value_));
      }
    } else {
      // What the product looks like to the epilogue: a conversion, if there is none.
      const bool converts = epilogue == ir::kNoExpr;
      step->plain_store_ = converts;
      if (!converts) {
        std::vector<int> order(static_cast<std::size_t>(rank));
        std::iota(order.begin(), order.end(), 0);
        TENDON_ASSIGN_OR_RETURN(step->epilogue_, Epilogue::make(*context.plan, node, epilogue,
                                                                std::move(order), context.threads));
      }
    }
    return StepResult(std::move(step));
  }

  Status bind(const Bindings& bindings) override {
    for (int i = 0; i < 2; ++i) {
      TENDON_RETURN_IF_ERROR(
          inputs_[i].bind(*plan_, node_->inputs[static_cast<std::size_t>(i)], bindings));
      matrices_[i] = matrices_of(inputs_[i]);
    }
    TENDON_RETURN_IF_ERROR(output_.bind(*plan_, node_->outputs[0], bindings));
    out_ = matrices_of(output_);
    if (bias_value_ >= 0) TENDON_RETURN_IF_ERROR(bias_.bind(*plan_, bias_value_, bindings));
    if (residual_value_ >= 0)
      TENDON_RETURN_IF_ERROR(residual_.bind(*plan_, residual_value_, bindings));
    if (epilogue_) TENDON_RETURN_IF_ERROR(epilogue_->bind(bindings));
    return plan_memory();
  }

  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(scratch_); }

  bool reads_in_place(ir::ValueId value) const override {
    return packed_ == nullptr || !reads_weight_once_ || value != node_->inputs[1];
  }

  Status run(const Frame& frame) override {
    if (out_.batch * out_.rows * out_.columns == 0) return {};
    const std::byte* a = inputs_[0].data(frame);
    const std::byte* b = inputs_[1].data(frame);
    std::byte* product = direct_ ? output_.data(frame) : frame.scratch + product_at_;
    for (int i = 0; i < 2; ++i) {
      if (copy_at_[i] < 0) continue;
      std::byte* copy = frame.scratch + copy_at_[i];
      pack_dense(inputs_[i], i == 0 ? a : b, copy, threads_);
      (i == 0 ? a : b) = copy;
    }
    if (inner_ == 0) {
      store_empty_sums(frame, product);
    } else if (panels_) {
      run_panels(frame, a, product);
    } else if (library_) {
      primitive_.point(source_, a);
      primitive_.point(weights_, packed_ != nullptr ? packed_.get() : b);
      primitive_.point(target_, product);
      if (bias_argument_ >= 0) primitive_.point(bias_argument_, bias_.data(frame));
      if (residual_argument_ >= 0) primitive_.point(residual_argument_, residual_.data(frame));
      TENDON_RETURN_IF_ERROR(primitive_.execute(frame.scratch + library_at_));
    } else {
      plain_.run(a, b, product, frame.scratch + library_at_, threads_);
    }
    if (epilogue_) {
      epilogue_->run(frame, frame.scratch + epilogue_at_, product, product_dtype_);
    } else if (!direct_) {
      store_product(output_, output_.data(frame), product, product_dtype_, threads_);
    }
    return {};
  }

 private:
  /// Sums of nothing, which the library does not take: zeros, with the epilogue it would apply.
  void store_empty_sums(const Frame& frame, std::byte* product) const {
    const std::int64_t points = out_.batch * out_.rows * out_.columns;
    std::memset(product, 0, static_cast<std::size_t>(points) * dtype_size(product_dtype_));
    if (!simple_) return;
    const auto floats = [&](const BoundLocation& location) {
      return reinterpret_cast<const float*>(location.data(frame));
    };
    const float* bias = simple_->bias ? floats(bias_) : nullptr;
    const float* residual = simple_->residual ? floats(residual_) : nullptr;
    auto* sums = reinterpret_cast<float*>(product);
    for (std::int64_t i = 0; i < points; ++i) {
      if (bias != nullptr) sums[i] += bias[i % out_.columns];
      if (residual != nullptr) sums[i] += residual[i];
      if (simple_->relu && sums[i] < 0) sums[i] = 0;
    }
  }

  void run_panels(const Frame& frame, const std::byte* a, std::byte* product) const {
    PanelProduct panels{.rows = out_.rows, .columns = out_.columns, .inner = inner_};
    panels.a_row = matrices_[0].strides[1];
    panels.a = reinterpret_cast<const float*>(a);
    panels.w = static_cast<const float*>(packed_.get());
    if (bias_value_ >= 0) panels.bias = reinterpret_cast<const float*>(bias_.data(frame));
    if (residual_value_ >= 0)
      panels.residual = reinterpret_cast<const float*>(residual_.data(frame));
    panels.c = reinterpret_cast<float*>(product);
    panels.relu = simple_ && simple_->relu;
    panels.run(threads_);
  }

  bool dense_output() const {
    std::int64_t stride = 1;
    for (std::size_t i = output_.shape.size(); i-- > 0;) {
      if (output_.shape[i] != 1 && output_.strides[i] != stride) return false;
      stride *= output_.shape[i];
    }
    return true;
  }

  Status plan_memory() {
    inner_ = matrices_[0].columns;
    scratch_ = 0;
    const auto reserve = [&](std::int64_t bytes) {
      const std::int64_t at = scratch_;
      scratch_ += aligned(bytes);
      return at;
    };
    product_dtype_ = product_type(inputs_[0].dtype);
    packed_ = nullptr;
    panels_ = false;
    const std::int64_t points = out_.batch * out_.rows * out_.columns;
    if (points == 0) return {};
    // Straight into the output where it has the product's type and layout.
    direct_ = output_.dtype == product_dtype_ && dense_output();
    if (library_ && plain_store_ && output_.dtype == DType::kBFloat16 && dense_output()) {
      direct_ = true;  // the library rounds once, as we would
      product_dtype_ = DType::kBFloat16;
    }
    if (!direct_)
      product_at_ = reserve(points * static_cast<std::int64_t>(dtype_size(product_dtype_)));
    for (int i = 0; i < 2; ++i) {
      copy_at_[i] = -1;
      Matrices& m = matrices_[i];
      const bool walkable =
          m.one_batch_stride && m.strides[0] >= 0 && !(m.batch > 1 && m.strides[0] == 0);
      const bool rows_or_columns =
          (m.strides[2] == 1 && (m.rows == 1 || m.strides[1] >= m.columns)) ||
          (m.strides[1] == 1 && (m.columns == 1 || m.strides[2] >= m.rows));
      if (walkable && (!library_ || rows_or_columns)) continue;
      copy_at_[i] = reserve(m.batch * m.rows * m.columns *
                            static_cast<std::int64_t>(dtype_size(inputs_[i].dtype)));
      m.strides[0] = m.rows * m.columns;
      m.strides[1] = m.columns;
      m.strides[2] = 1;
    }
    library_at_ = 0;
    if (inner_ != 0 && library_) {
      TENDON_RETURN_IF_ERROR(choose_panels());
    }
    if (panels_) {
      // Needs no scratch memory.
    } else if (inner_ != 0 && library_) {
      TENDON_RETURN_IF_ERROR(make_primitive());
      library_at_ = reserve(static_cast<std::int64_t>(primitive_.scratch_bytes()));
    } else if (inner_ != 0) {
      plain_ = PlainMatmul{inputs_[0].dtype, out_.batch, out_.rows, out_.columns, inner_, {}, {}};
      for (int k = 0; k < 3; ++k) {
        plain_.a_strides[k] = matrices_[0].strides[k];
        plain_.b_strides[k] = matrices_[1].strides[k];
      }
      library_at_ = reserve(static_cast<std::int64_t>(plain_.scratch_bytes()));
    }
    if (epilogue_) epilogue_at_ = reserve(static_cast<std::int64_t>(epilogue_->scratch_bytes()));
    return {};
  }

  memory::desc description(const Matrices& m, memory::data_type type, bool batched) const {
    std::int64_t rows = m.strides[1], columns = m.strides[2];
    // Strides of axes of size one mean nothing to us, but something to the library.
    if (m.columns == 1 && columns != 1 && rows != 1) columns = 1;
    if (m.rows == 1 && columns == 1 && rows < m.columns) rows = m.columns;
    if (m.columns == 1 && rows == 1 && columns < m.rows) columns = m.rows;
    if (!batched) return memory::desc({m.rows, m.columns}, type, memory::dims{rows, columns});
    const std::int64_t batch = m.batch == 1 ? m.rows * m.columns : m.strides[0];
    return memory::desc({m.batch, m.rows, m.columns}, type, memory::dims{batch, rows, columns});
  }

  /// The second operand as a weight that can be packed; null if it is none.
  Result<std::shared_ptr<PackedWeight>> weight() const {
    if (constant_ < 0 || copy_at_[1] >= 0) return std::shared_ptr<PackedWeight>();
    return PackedWeight::of(
        *shared_, constant_, inputs_[1].offset,
        description(matrices_[1], *dnnl_type(inputs_[1].dtype), out_.batch > 1));
  }

  /// Few rows of float32 by a constant weight are multiplied panel by panel.
  Status choose_panels() {
    if (inputs_[0].dtype != DType::kFloat32 || out_.batch > 1 ||
        !PanelProduct::suits(out_.rows, out_.columns, inner_) || matrices_[0].strides[2] != 1) {
      return {};
    }
    TENDON_ASSIGN_OR_RETURN(const std::shared_ptr<PackedWeight> packable, weight());
    if (packable == nullptr) return {};
    TENDON_ASSIGN_OR_RETURN(
        PackedWeight::Placed placed,
        packable->in(PanelProduct::packed_layout(inner_, out_.columns), *shared_));
    packed_ = std::move(placed.data);
    panels_ = true;
    return {};
  }

  Status make_primitive() {
    const bool batched = out_.batch > 1;
    const memory::desc b = description(matrices_[1], *dnnl_type(inputs_[1].dtype), batched);
    TENDON_ASSIGN_OR_RETURN(const std::shared_ptr<PackedWeight> weight, this->weight());
    memory::desc layout;
    TENDON_RETURN_IF_ERROR(guarded("matrix product", [&] {
      const auto type = *dnnl_type(inputs_[0].dtype);
      const memory::desc a = description(matrices_[0], type, batched);
      Matrices dense = out_;
      dense.strides[0] = out_.rows * out_.columns;
      dense.strides[1] = out_.columns;
      dense.strides[2] = 1;
      const memory::desc c = description(
          dense,
          product_dtype_ == DType::kBFloat16 ? memory::data_type::bf16 : memory::data_type::f32,
          batched);
      dnnl::primitive_attr attributes;
      attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      dnnl::post_ops after;
      memory::desc bias, residual;
      if (simple_) {
        if (simple_->residual) {
          residual = c;
          after.append_binary(dnnl::algorithm::binary_add, residual);
        }
        if (simple_->relu) after.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
        attributes.set_post_ops(after);
        if (simple_->bias) {
          bias = batched ? memory::desc({1, 1, out_.columns}, memory::data_type::f32,
                                        memory::format_tag::abc)
                         : memory::desc({1, out_.columns}, memory::data_type::f32,
                                        memory::format_tag::ab);
        }
      }
      const memory::desc any =
          weight == nullptr ? b : memory::desc(b.dims(), type, memory::format_tag::any);
      const auto chosen =
          choose_primitive(weight.get(), any, [&](const memory::desc& w, bool may_fail) {
            const auto operation = simple_ && simple_->bias ? dnnl::matmul::desc(a, w, bias, c)
                                                            : dnnl::matmul::desc(a, w, c);
            return dnnl::matmul::primitive_desc(operation, attributes, dnnl_engine(), may_fail);
          });
      layout = chosen.weights_desc();
      primitive_.set(dnnl::matmul(chosen), chosen.scratchpad_desc());
      source_ = primitive_.add(DNNL_ARG_SRC, a);
      weights_ = primitive_.add(DNNL_ARG_WEIGHTS, layout);
      target_ = primitive_.add(DNNL_ARG_DST, c);
      bias_argument_ = simple_ && simple_->bias ? primitive_.add(DNNL_ARG_BIAS, bias) : -1;
      residual_argument_ =
          simple_ && simple_->residual
              ? primitive_.add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, residual)
              : -1;
    }));
    if (weight == nullptr) return {};
    TENDON_ASSIGN_OR_RETURN(PackedWeight::Placed placed, weight->in(layout, *shared_));
    if (!placed.in_place) packed_ = std::move(placed.data);
    return {};
  }

  const schedule::Plan* plan_ = nullptr;
  SharedState* shared_ = nullptr;
  const ir::Node* node_ = nullptr;
  int threads_ = 1;
  BoundLocation inputs_[2], output_, bias_, residual_;
  ir::ValueId bias_value_ = -1, residual_value_ = -1;
  Matrices matrices_[2], out_;
  bool library_ = false, panels_ = false, plain_store_ = false, direct_ = false;
  std::optional<SimpleEpilogue> simple_;
  std::unique_ptr<Epilogue> epilogue_;
  DnnlPrimitive primitive_;
  PlainMatmul plain_;
  int constant_ = -1;  // which one the second operand is
  bool reads_weight_once_ = false;
  std::shared_ptr<const void> packed_;  // stands for the second operand
  DType product_dtype_ = DType::kFloat32;
  std::int64_t inner_ = 0, scratch_ = 0, product_at_ = 0, library_at_ = 0, epilogue_at_ = 0;
  std::int64_t copy_at_[2] = {-1, -1};
  int source_ = -1, weights_ = -1, target_ = -1, bias_argument_ = -1, residual_argument_ = -1;
};

}  // namespace

StepResult make_matmul_step(const CompileContext& context, ir::NodeId node) {
  return MatmulStep::make(context, node);
}

}  // namespace tendon::backends::cpu
