// Stores through computed positions, in order.
#include <algorithm>
#include <cstring>

#include "backends/cpu/node_body.h"
#include "backends/cpu/node_steps.h"
#include "base/half.h"
#include "base/parallel.h"
#include "base/status_macros.h"

namespace tendon::backends::cpu {
namespace {

using ir::ScatterOp;

/// Combines elements one after the other. `mask` may be null.
using ApplyKernel = void (*)(ScatterOp op, void* memory, const std::int64_t* offsets,
                             const void* values, int value_step, const std::uint8_t* mask,
                             int mask_step, std::int64_t count);

template <typename Memory, typename Carrier>
Carrier combine(ScatterOp op, Carrier old, Carrier value) {
  if constexpr (std::is_floating_point_v<Carrier>) {
    switch (op) {
      case ScatterOp::kAdd:
        return old + value;
      case ScatterOp::kMultiply:
        return old * value;
      case ScatterOp::kMin:
        return old != old || old < value ? old : value;
      case ScatterOp::kMax:
        return old != old || value < old ? old : value;
      default:
        return value;
    }
  } else {
    using U = std::make_unsigned_t<Carrier>;
    switch (op) {
      case ScatterOp::kAdd:
        if constexpr (sizeof(Carrier) == 1) return old | value;  // bool
        return static_cast<Carrier>(static_cast<U>(old) + static_cast<U>(value));
      case ScatterOp::kMultiply:
        if constexpr (sizeof(Carrier) == 1) return old & value;
        return static_cast<Carrier>(static_cast<U>(old) * static_cast<U>(value));
      case ScatterOp::kMin:
        return std::min(old, value);
      case ScatterOp::kMax:
        return std::max(old, value);
      default:
        return value;
    }
  }
}

template <typename Memory, typename Carrier>
void apply(ScatterOp op, void* memory, const std::int64_t* offsets, const void* values,
           int value_step, const std::uint8_t* mask, int mask_step, std::int64_t count) {
  auto* elements = static_cast<Memory*>(memory);
  const auto* x = static_cast<const Carrier*>(values);
  if (op == ScatterOp::kAssign) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (mask != nullptr && mask[i * mask_step] == 0) continue;
      elements[offsets[i]] = static_cast<Memory>(x[i * value_step]);
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (mask != nullptr && mask[i * mask_step] == 0) continue;
    Memory& element = elements[offsets[i]];
    element = static_cast<Memory>(
        combine<Memory, Carrier>(op, static_cast<Carrier>(element), x[i * value_step]));
  }
}

ApplyKernel apply_kernel(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return apply<std::uint8_t, std::uint8_t>;
    case DType::kUInt8:
      return apply<std::uint8_t, std::int32_t>;
    case DType::kInt8:
      return apply<std::int8_t, std::int32_t>;
    case DType::kInt16:
      return apply<std::int16_t, std::int32_t>;
    case DType::kInt32:
      return apply<std::int32_t, std::int32_t>;
    case DType::kInt64:
      return apply<std::int64_t, std::int64_t>;
    case DType::kUInt16:
      return apply<std::uint16_t, std::int32_t>;
    case DType::kUInt32:
      return apply<std::uint32_t, std::int64_t>;
    case DType::kUInt64:
      return apply<std::uint64_t, std::uint64_t>;
    case DType::kFloat16:
      return apply<Float16, float>;
    case DType::kBFloat16:
      return apply<BFloat16, float>;
    case DType::kFloat64:
      return apply<double, double>;
    default:
      return apply<float, float>;
  }
}

class ScatterStep final : public backends::Step {
 public:
  static StepResult make(const CompileContext& context, ir::NodeId id) {
    const schedule::Plan& plan = *context.plan;
    const ir::Node& node = plan.graph->node(id);
    const auto& scatter = std::get<ir::Scatter>(node.primitive);
    auto step = std::make_unique<ScatterStep>();
    step->plan_ = &plan;
    step->op_ = scatter.op;
    step->output_ = node.outputs[0];
    step->threads_ = context.threads > 0 ? context.threads : base::default_threads();
    std::vector<ir::ExprId> roots = scatter.positions;
    roots.push_back(scatter.value);
    if (scatter.mask != ir::kNoExpr) roots.push_back(scatter.mask);
    step->masked_ = scatter.mask != ir::kNoExpr;
    step->rank_ = scatter.positions.size();
    TENDON_ASSIGN_OR_RETURN(step->body_, NodeBody::make(plan, scatter.domain, roots));
    TENDON_ASSIGN_OR_RETURN(step->copy_, NodeBody::make_copy(plan, node.inputs[0], node.outputs));
    TENDON_ASSIGN_OR_RETURN(step->location_, BoundLocation::make(plan, node.outputs[0]));
    step->float32_ = scatter.float32_accumulation && is_half(step->location_.dtype) &&
                     scatter.op == ScatterOp::kAdd;
    step->apply_ = apply_kernel(step->location_.dtype);
    step->copy_workspaces_.resize(static_cast<std::size_t>(step->threads_));
    return std::unique_ptr<backends::Step>(std::move(step));
  }

  Status bind(const Bindings& bindings) override {
    TENDON_RETURN_IF_ERROR(body_->bind(bindings));
    TENDON_RETURN_IF_ERROR(copy_->bind(bindings));
    TENDON_RETURN_IF_ERROR(location_.bind(*plan_, output_, bindings));
    elements_ = 1;
    for (std::int64_t extent : location_.shape) elements_ *= extent;
    // Sums of half types are dense and row-major in scratch.
    sum_strides_.resize(rank_);
    std::int64_t stride = 1;
    for (std::size_t k = rank_; k-- > 0;) {
      sum_strides_[k] = stride;
      stride *= location_.shape[k];
    }
    return Status();
  }

  std::size_t scratch_bytes() const override {
    return offset_bytes() + body_->workspace_bytes() +
           static_cast<std::size_t>(threads_) * copy_->workspace_bytes() +
           (float32_ ? static_cast<std::size_t>(elements_) * sizeof(float) : 0);
  }

  Status run(const Frame& frame) override {
    checks_.reset();
    if (elements_ == 0) return Status();
    std::byte* memory = frame.scratch;
    auto* offsets = reinterpret_cast<std::int64_t*>(memory);
    memory += offset_bytes();
    body_->prepare(workspace_, memory, frame, &checks_);
    memory += body_->workspace_bytes();
    std::byte* copies = memory;
    memory += static_cast<std::size_t>(threads_) * copy_->workspace_bytes();
    auto* sums = reinterpret_cast<float*>(memory);

    base::parallel_for(
        elements_, 16384, threads_, [&](int worker, std::int64_t begin, std::int64_t end) {
          TileWorkspace& workspace = copy_workspaces_[static_cast<std::size_t>(worker)];
          copy_->prepare(workspace,
                         copies + static_cast<std::size_t>(worker) * copy_->workspace_bytes(),
                         frame, nullptr);
          copy_->evaluate_and_store(workspace, 0, 0, begin, end);
        });
    // x + (-0) is x, also for x = -0.
    if (float32_) std::fill_n(sums, elements_, -0.0f);
    std::byte* target = float32_ ? reinterpret_cast<std::byte*>(sums) : location_.data(frame);
    const ApplyKernel apply_to = float32_ ? apply_kernel(DType::kFloat32) : apply_;
    const std::span<const std::int64_t> strides = float32_ ? sum_strides_ : location_.strides;
    scatter(target, apply_to, strides, offsets);
    if (float32_) {
      if (location_.dtype == DType::kFloat16) {
        add_sums<Float16>(reinterpret_cast<Float16*>(location_.data(frame)), sums);
      } else {
        add_sums<BFloat16>(reinterpret_cast<BFloat16*>(location_.data(frame)), sums);
      }
    }
    checks_.report(frame.errors);
    return Status();
  }

 private:
  static constexpr std::size_t offset_bytes() { return kMaxTileElements * sizeof(std::int64_t); }

  void scatter(std::byte* target, ApplyKernel apply_to, std::span<const std::int64_t> strides,
               std::int64_t* offsets) {
    const TileEvaluator& evaluator = body_->evaluator();
    for (std::int64_t begin = 0; begin < body_->points();) {
      const std::int64_t count = evaluator.tile_count(begin, body_->points());
      evaluator.evaluate(workspace_, begin, count);
      std::fill_n(offsets, count, 0);
      for (std::size_t k = 0; k < rank_; ++k) {
        const Register& position = evaluator.root(workspace_, k);
        const auto* p = reinterpret_cast<const std::int64_t*>(position.data);
        for (std::int64_t i = 0; i < count; ++i) offsets[i] += p[i * position.step] * strides[k];
      }
      const Register& value = evaluator.root(workspace_, rank_);
      const Register mask = masked_ ? evaluator.root(workspace_, rank_ + 1) : Register{};
      apply_to(op_, target, offsets, value.data, value.step,
               reinterpret_cast<const std::uint8_t*>(mask.data), mask.step, count);
      begin += count;
    }
  }

  template <typename Half>
  void add_sums(Half* out, const float* sums) const {
    // An odometer over the output, whose layout is its own.
    std::int64_t index[kMaxAxes] = {};
    std::int64_t offset = 0;
    for (std::int64_t i = 0; i < elements_; ++i) {
      out[offset] = Half(static_cast<float>(out[offset]) + sums[i]);
      for (std::size_t k = rank_; k-- > 0;) {
        offset += location_.strides[k];
        if (++index[k] < location_.shape[k]) break;
        offset -= location_.strides[k] * location_.shape[k];
        index[k] = 0;
      }
    }
  }

  const schedule::Plan* plan_ = nullptr;
  ScatterOp op_ = ScatterOp::kAssign;
  ir::ValueId output_ = -1;
  int threads_ = 1;
  bool masked_ = false;
  bool float32_ = false;
  std::size_t rank_ = 0;
  std::unique_ptr<NodeBody> body_, copy_;
  BoundLocation location_;
  ApplyKernel apply_ = nullptr;
  TileWorkspace workspace_;
  std::vector<TileWorkspace> copy_workspaces_;
  std::vector<std::int64_t> sum_strides_;
  CheckState checks_;
  std::int64_t elements_ = 0;
};

}  // namespace

StepResult make_scatter_step(const CompileContext& context, ir::NodeId node) {
  return ScatterStep::make(context, node);
}

}  // namespace tendon::backends::cpu
