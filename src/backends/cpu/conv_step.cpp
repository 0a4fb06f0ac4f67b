// Convolutions: oneDNN for float32 and bfloat16 with channels last, plain loops for the rest.
#include <cstring>
#include <numeric>

#include "backends/cpu/dnnl_tools.h"
#include "backends/cpu/epilogue.h"
#include "backends/cpu/packed_weight.h"
#include "backends/cpu/plain_product.h"
#include "backends/cpu/product_steps.h"
#include "backends/cpu/strided_elements.h"
#include "base/status_macros.h"

namespace tendon::backends::cpu {

namespace {

using dnnl::memory;

std::int64_t aligned(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

class ConvStep final : public backends::Step {
 public:
  static StepResult make(const CompileContext& context, ir::NodeId id) {
    auto step = std::make_unique<ConvStep>();
    step->plan_ = context.plan;
    step->shared_ = context.shared;
    step->threads_ = context.threads;
    const ir::Node& node = context.plan->graph->node(id);
    step->node_ = &node;
    step->conv_ = &std::get<ir::Conv>(node.primitive);
    for (int i = 0; i < 2; ++i) {
      TENDON_ASSIGN_OR_RETURN(
          step->inputs_[i],
          BoundLocation::make(*context.plan, node.inputs[static_cast<std::size_t>(i)]));
    }
    TENDON_ASSIGN_OR_RETURN(step->output_, BoundLocation::make(*context.plan, node.outputs[0]));
    const DType in = step->inputs_[0].dtype;
    step->axes_ = static_cast<int>(step->conv_->stride.size());
    if (step->axes_ < 1 || step->axes_ > kMaxSpatialAxes) {
      return Status(StatusCode::kUnimplemented,
                    "a convolution over " + std::to_string(step->axes_) + " axes");
    }
    step->library_ = dnnl_type(in).has_value();
    step->constant_ = constant_weight(*context.plan, node);
    step->reads_weight_once_ = reads_weight_once(*context.plan->graph, node);
    const int rank = step->axes_ + 2;
    if (step->library_ && in == DType::kFloat32 && step->output_.dtype == DType::kFloat32 &&
        step->output_is_dense_in_order()) {
      step->simple_ = match_simple_epilogue(*context.plan, node, step->conv_->epilogue, 1);
    }
    if (step->simple_) {
      if (step->simple_->bias) {
        TENDON_ASSIGN_OR_RETURN(step->bias_,
                                BoundLocation::make(*context.plan, *step->simple_->bias));
      }
      if (step->simple_->residual) {
        TENDON_ASSIGN_OR_RETURN(step->residual_,
                                BoundLocation::make(*context.plan, *step->simple_->residual));
      }
    } else if (step->conv_->epilogue != ir::kNoExpr) {
      // The library's product lies channels last, the plain one row-major.
      std::vector<int> order(static_cast<std::size_t>(rank));
      std::iota(order.begin(), order.end(), 0);
      if (step->library_) {
        order.erase(order.begin() + 1);
        order.push_back(1);
      }
      TENDON_ASSIGN_OR_RETURN(step->epilogue_,
                              Epilogue::make(*context.plan, node, step->conv_->epilogue,
                                             std::move(order), context.threads));
    }
    return StepResult(std::move(step));
  }

  Status bind(const Bindings& bindings) override {
    for (int i = 0; i < 2; ++i)
      TENDON_RETURN_IF_ERROR(
          inputs_[i].bind(*plan_, node_->inputs[static_cast<std::size_t>(i)], bindings));
    TENDON_RETURN_IF_ERROR(output_.bind(*plan_, node_->outputs[0], bindings));
    if (simple_ && simple_->bias)
      TENDON_RETURN_IF_ERROR(bias_.bind(*plan_, *simple_->bias, bindings));
    if (simple_ && simple_->residual)
      TENDON_RETURN_IF_ERROR(residual_.bind(*plan_, *simple_->residual, bindings));
    for (int axis = 0; axis < axes_; ++axis) {
      TENDON_ASSIGN_OR_RETURN(
          before_[axis], bindings.evaluate(conv_->padding_before[static_cast<std::size_t>(axis)]));
      TENDON_ASSIGN_OR_RETURN(
          after_[axis], bindings.evaluate(conv_->padding_after[static_cast<std::size_t>(axis)]));
    }
    if (epilogue_) TENDON_RETURN_IF_ERROR(epilogue_->bind(bindings));
    return plan_memory();
  }

  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(scratch_); }

  bool reads_in_place(ir::ValueId value) const override {
    return packed_ == nullptr || !reads_weight_once_ || value != node_->inputs[1];
  }

  Status run(const Frame& frame) override {
    if (points_ == 0) return {};
    const std::byte* x = inputs_[0].data(frame);
    const std::byte* w = inputs_[1].data(frame);
    if (copy_at_ >= 0) {
      pack_dense(source_, x, frame.scratch + copy_at_, threads_);
      x = frame.scratch + copy_at_;
    }
    if (weight_copy_at_ >= 0) {
      pack_dense(inputs_[1], w, frame.scratch + weight_copy_at_, threads_);
      w = frame.scratch + weight_copy_at_;
    }
    std::byte* product = direct_ ? output_.data(frame) : frame.scratch + product_at_;
    if (empty_sum_) {
      std::memset(product, 0, static_cast<std::size_t>(points_) * dtype_size(product_dtype_));
    } else if (library_) {
      if (reorder_.ready()) {
        reorder_.point(0, w);
        reorder_.point(1, frame.scratch + reorder_at_);
        TENDON_RETURN_IF_ERROR(reorder_.execute(nullptr));
        w = frame.scratch + reorder_at_;
      }
      primitive_.point(source_argument_, x);
      primitive_.point(weights_argument_, packed_ != nullptr ? packed_.get() : w);
      primitive_.point(target_argument_, product);
      if (bias_argument_ >= 0) primitive_.point(bias_argument_, bias_.data(frame));
      if (residual_argument_ >= 0) primitive_.point(residual_argument_, residual_.data(frame));
      TENDON_RETURN_IF_ERROR(primitive_.execute(frame.scratch + library_at_));
    } else {
      plain_.run(x, w, product, threads_);
    }
    if (epilogue_) {
      epilogue_->run(frame, frame.scratch + epilogue_at_, product, product_dtype_);
    } else if (!direct_) {
      store_product(target_, output_.data(frame), product, product_dtype_, threads_);
    }
    return {};
  }

 private:
  static void move_channels_last(BoundLocation& location) {
    const auto rotate = [](std::vector<std::int64_t>& values) {
      const std::int64_t channel = values[1];
      values.erase(values.begin() + 1);
      values.push_back(channel);
    };
    rotate(location.shape);
    rotate(location.strides);
  }
  static bool dense(const std::vector<std::int64_t>& shape,
                    const std::vector<std::int64_t>& strides) {
    std::int64_t expected = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (shape[i] != 1 && strides[i] != expected) return false;
      expected *= shape[i];
    }
    return true;
  }
  /// Channels last in the plan: then the library may write the output itself.
  bool output_is_dense_in_order() const {
    const schedule::Buffer& buffer = plan_->buffers[static_cast<std::size_t>(output_.buffer)];
    if (buffer.dim_order.size() != static_cast<std::size_t>(axes_) + 2) return false;
    return buffer.dim_order.back() == 1 && buffer.dim_order.front() == 0;
  }

  Status plan_memory() {
    scratch_ = 0;
    const auto reserve = [&](std::int64_t bytes) {
      const std::int64_t at = scratch_;
      scratch_ += aligned(bytes);
      return at;
    };
    packed_ = nullptr;
    reorder_.clear();
    points_ = 1;
    for (std::int64_t size : output_.shape) points_ *= size;
    if (points_ == 0) return {};
    product_dtype_ = product_type(inputs_[0].dtype);
    empty_sum_ = false;
    for (std::int64_t size : inputs_[0].shape) empty_sum_ = empty_sum_ || size == 0;
    for (std::int64_t size : inputs_[1].shape) empty_sum_ = empty_sum_ || size == 0;
    target_ = output_;
    source_ = inputs_[0];
    if (library_) {
      move_channels_last(target_);
      move_channels_last(source_);
    }
    direct_ = output_.dtype == product_dtype_ && dense(target_.shape, target_.strides);
    if (!direct_)
      product_at_ = reserve(points_ * static_cast<std::int64_t>(dtype_size(product_dtype_)));
    copy_at_ = weight_copy_at_ = -1;
    if (library_ && !empty_sum_) {
      std::int64_t elements = 1;
      for (std::int64_t size : source_.shape) elements *= size;
      if (!dense(source_.shape, source_.strides))
        copy_at_ = reserve(elements * static_cast<std::int64_t>(dtype_size(source_.dtype)));
      if (!dense(inputs_[1].shape, inputs_[1].strides)) {
        std::int64_t weights = 1;
        for (std::int64_t size : inputs_[1].shape) weights *= size;
        weight_copy_at_ =
            reserve(weights * static_cast<std::int64_t>(dtype_size(inputs_[1].dtype)));
      }
      TENDON_RETURN_IF_ERROR(make_primitive());
      library_at_ = reserve(static_cast<std::int64_t>(primitive_.scratch_bytes()));
      if (reorder_.ready()) reorder_at_ = reserve(reordered_bytes_);
    } else if (!library_) {
      plan_plain();
    }
    if (epilogue_) epilogue_at_ = reserve(static_cast<std::int64_t>(epilogue_->scratch_bytes()));
    return {};
  }

  void plan_plain() {
    plain_ = PlainConv();
    plain_.dtype = inputs_[0].dtype;
    plain_.axes = axes_;
    plain_.batch = inputs_[0].shape[0];
    plain_.channels = inputs_[0].shape[1];
    plain_.outputs = output_.shape[1];
    plain_.groups = conv_->groups;
    plain_.transposed = conv_->transposed;
    for (int i = 0; i < 2; ++i) {
      plain_.x_strides[i] = inputs_[0].strides[static_cast<std::size_t>(i)];
      plain_.w_strides[i] = inputs_[1].strides[static_cast<std::size_t>(i)];
    }
    for (int axis = 0; axis < axes_; ++axis) {
      const auto i = static_cast<std::size_t>(axis) + 2;
      plain_.in[axis] = inputs_[0].shape[i];
      plain_.out[axis] = output_.shape[i];
      plain_.window[axis] = inputs_[1].shape[i];
      plain_.stride[axis] = conv_->stride[static_cast<std::size_t>(axis)];
      plain_.dilation[axis] = conv_->dilation[static_cast<std::size_t>(axis)];
      plain_.padding[axis] = before_[axis];
      plain_.x_strides[i] = inputs_[0].strides[i];
      plain_.w_strides[i] = inputs_[1].strides[i];
    }
  }

  memory::format_tag channels_last() const {
    return axes_ == 1   ? memory::format_tag::nwc
           : axes_ == 2 ? memory::format_tag::nhwc
                        : memory::format_tag::ndhwc;
  }

  /// The weight as [o, i, window...] or [g, o, i, window...], dense row-major in the file's order.
  memory::desc weight_description(memory::data_type type) const {
    const std::vector<std::int64_t>& shape = inputs_[1].shape;
    const std::int64_t groups = conv_->groups;
    std::int64_t window = 1;
    for (std::size_t i = 2; i < shape.size(); ++i) window *= shape[i];
    memory::dims dims, strides;
    if (groups > 1) {
      dims = {groups, 0, 0};
      strides = {shape[0] / groups * shape[1] * window, 0, 0};
    } else {
      dims = {0, 0};
      strides = {0, 0};
    }
    const std::size_t o = groups > 1 ? 1 : 0;
    if (conv_->transposed) {  // [c, o / groups, window...]
      dims[o] = shape[1];
      dims[o + 1] = shape[0] / groups;
      strides[o] = window;
      strides[o + 1] = shape[1] * window;
    } else {
      dims[o] = shape[0] / groups;
      dims[o + 1] = shape[1];
      strides[o] = shape[1] * window;
      strides[o + 1] = window;
    }
    std::int64_t stride = window;
    for (std::size_t i = 2; i < shape.size(); ++i) {
      dims.push_back(shape[i]);
      stride /= std::max<std::int64_t>(shape[i], 1);
      strides.push_back(stride);
    }
    return memory::desc(dims, type, strides);
  }

  Status make_primitive() {
    const auto type = *dnnl_type(inputs_[0].dtype);
    const memory::desc given = weight_description(type);
    std::shared_ptr<PackedWeight> weight;
    if (constant_ >= 0 && weight_copy_at_ < 0) {
      TENDON_ASSIGN_OR_RETURN(weight,
                              PackedWeight::of(*shared_, constant_, inputs_[1].offset, given));
    }
    memory::desc chosen_weights;
    TENDON_RETURN_IF_ERROR(guarded("convolution", [&] {
      const memory::desc x(inputs_[0].shape, type, channels_last());
      const memory::desc any(given.dims(), type, memory::format_tag::any);
      const memory::desc y(output_.shape, memory::data_type::f32, channels_last());
      memory::dims stride, dilation, before, after;
      for (int axis = 0; axis < axes_; ++axis) {
        stride.push_back(conv_->stride[static_cast<std::size_t>(axis)]);
        dilation.push_back(conv_->dilation[static_cast<std::size_t>(axis)] - 1);
        before.push_back(before_[axis]);
        // What the shapes imply: rows that no window reaches are not padding.
        const auto i = static_cast<std::size_t>(axis) + 2;
        const std::int64_t span =
            (inputs_[1].shape[i] - 1) * conv_->dilation[static_cast<std::size_t>(axis)] + 1;
        const std::int64_t implied = conv_->transposed
                                         ? after_[axis]
                                         : (output_.shape[i] - 1) * stride.back() + span -
                                               inputs_[0].shape[i] - before_[axis];
        after.push_back(implied);
      }
      dnnl::primitive_attr attributes;
      attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      memory::desc bias;
      if (simple_) {
        dnnl::post_ops operations;
        if (simple_->residual) operations.append_binary(dnnl::algorithm::binary_add, y);
        if (simple_->relu)
          operations.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
        attributes.set_post_ops(operations);
        if (simple_->bias)
          bias = memory::desc({output_.shape[1]}, memory::data_type::f32, memory::format_tag::a);
      }
      const bool has_bias = simple_ && simple_->bias;
      const auto kind = dnnl::prop_kind::forward_inference;
      const auto use = [&](const auto& chosen, auto primitive) {
        primitive_.set(std::move(primitive), chosen.scratchpad_desc());
        chosen_weights = chosen.weights_desc();
      };
      if (conv_->transposed) {
        using Operation = dnnl::deconvolution_forward;
        const auto chosen =
            choose_primitive(weight.get(), any, [&](const memory::desc& w, bool may_fail) {
              const auto algorithm = dnnl::algorithm::deconvolution_direct;
              const auto operation = has_bias ? Operation::desc(kind, algorithm, x, w, bias, y,
                                                                stride, dilation, before, after)
                                              : Operation::desc(kind, algorithm, x, w, y, stride,
                                                                dilation, before, after);
              return Operation::primitive_desc(operation, attributes, dnnl_engine(), may_fail);
            });
        use(chosen, Operation(chosen));
      } else {
        using Operation = dnnl::convolution_forward;
        const auto chosen =
            choose_primitive(weight.get(), any, [&](const memory::desc& w, bool may_fail) {
              const auto algorithm = dnnl::algorithm::convolution_direct;
              const auto operation = has_bias ? Operation::desc(kind, algorithm, x, w, bias, y,
                                                                stride, dilation, before, after)
                                              : Operation::desc(kind, algorithm, x, w, y, stride,
                                                                dilation, before, after);
              return Operation::primitive_desc(operation, attributes, dnnl_engine(), may_fail);
            });
        use(chosen, Operation(chosen));
      }
      source_argument_ = primitive_.add(DNNL_ARG_SRC, x);
      weights_argument_ = primitive_.add(DNNL_ARG_WEIGHTS, chosen_weights);
      target_argument_ = primitive_.add(DNNL_ARG_DST, y);
      bias_argument_ = has_bias ? primitive_.add(DNNL_ARG_BIAS, bias) : -1;
      residual_argument_ =
          simple_ && simple_->residual
              ? primitive_.add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, y)
              : -1;
    }));
    if (weight != nullptr) {
      TENDON_ASSIGN_OR_RETURN(PackedWeight::Placed placed, weight->in(chosen_weights, *shared_));
      if (!placed.in_place) packed_ = std::move(placed.data);
    } else if (chosen_weights != given) {
      return make_reorder(given, chosen_weights);
    }
    return {};
  }

  /// Weights that are not constant are packed before every run.
  Status make_reorder(const memory::desc& given, const memory::desc& chosen) {
    return guarded("packing a weight", [&] {
      const dnnl::reorder::primitive_desc reorder(dnnl_engine(), given, dnnl_engine(), chosen);
      reorder_.set(dnnl::reorder(reorder), memory::desc());
      reorder_.add(DNNL_ARG_FROM, given);
      reorder_.add(DNNL_ARG_TO, chosen);
      reordered_bytes_ = static_cast<std::int64_t>(chosen.get_size());
    });
  }

  const schedule::Plan* plan_ = nullptr;
  SharedState* shared_ = nullptr;
  const ir::Node* node_ = nullptr;
  const ir::Conv* conv_ = nullptr;
  int threads_ = 1, axes_ = 1;
  BoundLocation inputs_[2], output_, bias_, residual_;
  BoundLocation source_, target_;  // input and output in the order of the product's memory
  std::int64_t before_[kMaxSpatialAxes] = {}, after_[kMaxSpatialAxes] = {};
  bool library_ = false, direct_ = false, empty_sum_ = false;
  std::optional<SimpleEpilogue> simple_;
  std::unique_ptr<Epilogue> epilogue_;
  DnnlPrimitive primitive_, reorder_;
  PlainConv plain_;
  int constant_ = -1;  // which one the weight is
  bool reads_weight_once_ = false;
  std::shared_ptr<const void> packed_;  // stands for the weight
  DType product_dtype_ = DType::kFloat32;
  std::int64_t points_ = 0, scratch_ = 0, product_at_ = 0, library_at_ = 0, epilogue_at_ = 0,
               reorder_at_ = 0;
  std::int64_t copy_at_ = -1, weight_copy_at_ = -1, reordered_bytes_ = 0;
  int source_argument_ = -1, weights_argument_ = -1, target_argument_ = -1, bias_argument_ = -1,
      residual_argument_ = -1;
};

}  // namespace

StepResult make_conv_step(const CompileContext& context, ir::NodeId node) {
  return ConvStep::make(context, node);
}

}  // namespace tendon::backends::cpu
