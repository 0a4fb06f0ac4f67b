// Prefix operations along an axis.
#include <cmath>
#include <limits>

#include "backends/cpu/node_body.h"
#include "backends/cpu/node_steps.h"
#include "base/parallel.h"
#include "base/status_macros.h"

namespace tendon::backends::cpu {
namespace {

using ir::ScanOp;

/// Lanes behind the axis that make tiles across it worth while.
constexpr std::int64_t kManyLanes = 64;

/// The running results of many lanes. Float sums are kept in float64 and rounded as they are
/// written, as PyTorch does.
struct ScanState {
  double* numbers = nullptr;
  std::int64_t* integers = nullptr;  // of integer carriers; positions of extremes
  std::int64_t* positions = nullptr;
};

/// One step of `lanes` lanes: x[j] goes into the state, the state to out[j] (and where[j]).
using ScanKernel = void (*)(const ScanState& state, const void* x, int step, std::int64_t position,
                            std::int64_t lanes, void* out, std::int64_t* where);

template <typename T>
constexpr bool kIsFloat = std::is_floating_point_v<T>;

template <typename T>
T* values_of(const ScanState& state) {
  return reinterpret_cast<T*>(state.numbers);
}

template <typename T>
T wrapping_add(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
}
template <typename T>
T wrapping_multiply(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
}

template <typename T, bool kProduct>
void accumulate(const ScanState& state, const void* x, int step, std::int64_t position,
                std::int64_t lanes, void* out, std::int64_t*) {
  using A = std::conditional_t<kIsFloat<T>, double, T>;
  A* sum = values_of<A>(state);
  const T* in = static_cast<const T*>(x);
  T* result = static_cast<T*>(out);
  for (std::int64_t j = 0; j < lanes; ++j) {
    const A value = static_cast<A>(in[j * step]);
    if (position == 0) {
      sum[j] = value;
    } else if constexpr (kIsFloat<T>) {
      sum[j] = kProduct ? sum[j] * value : sum[j] + value;
    } else {
      sum[j] = kProduct ? wrapping_multiply(sum[j], value) : wrapping_add(sum[j], value);
    }
    result[j] = static_cast<T>(sum[j]);
  }
}

template <typename T, bool kMaximum>
void extreme(const ScanState& state, const void* x, int step, std::int64_t position,
             std::int64_t lanes, void* out, std::int64_t* where) {
  T* best = values_of<T>(state);
  const T* in = static_cast<const T*>(x);
  T* result = static_cast<T*>(out);
  for (std::int64_t j = 0; j < lanes; ++j) {
    const T value = in[j * step];
    const bool takes = position == 0 || value != value ||
                       (best[j] == best[j] && (kMaximum ? value >= best[j] : value <= best[j]));
    if (takes) {
      best[j] = value;
      state.positions[j] = position;
    }
    result[j] = best[j];
    where[j] = state.positions[j];
  }
}

template <typename T>
void log_sum_exp(const ScanState& state, const void* x, int step, std::int64_t position,
                 std::int64_t lanes, void* out, std::int64_t*) {
  double* total = values_of<double>(state);
  const T* in = static_cast<const T*>(x);
  T* result = static_cast<T*>(out);
  for (std::int64_t j = 0; j < lanes; ++j) {
    const double value = in[j * step];
    if (position == 0) {
      total[j] = value;
    } else if (std::isnan(value) || std::isnan(total[j])) {
      total[j] = std::numeric_limits<double>::quiet_NaN();
    } else {
      const double low = std::min(value, total[j]);
      const double high = std::max(value, total[j]);
      // Equal infinities have no difference.
      total[j] = low == high && std::isinf(low) ? high : high + std::log1p(std::exp(low - high));
    }
    result[j] = static_cast<T>(total[j]);
  }
}

template <typename T>
ScanKernel kernel_for(ScanOp op) {
  switch (op) {
    case ScanOp::kSum:
      return accumulate<T, false>;
    case ScanOp::kProduct:
      return accumulate<T, true>;
    case ScanOp::kMax:
      return extreme<T, true>;
    case ScanOp::kMin:
      return extreme<T, false>;
    case ScanOp::kLogSumExp:
      if constexpr (kIsFloat<T>) return log_sum_exp<T>;
      return nullptr;
  }
  return nullptr;
}

ScanKernel kernel_for(ScanOp op, TileType type) {
  switch (type) {
    case TileType::kBool:
      return op == ScanOp::kMax || op == ScanOp::kMin ? kernel_for<std::uint8_t>(op) : nullptr;
    case TileType::kInt32:
      return kernel_for<std::int32_t>(op);
    case TileType::kInt64:
      return kernel_for<std::int64_t>(op);
    case TileType::kUInt64:
      return kernel_for<std::uint64_t>(op);
    case TileType::kFloat32:
      return kernel_for<float>(op);
    case TileType::kFloat64:
      return kernel_for<double>(op);
  }
  return nullptr;
}

class ScanStep final : public backends::Step {
 public:
  static StepResult make(const CompileContext& context, ir::NodeId id) {
    const schedule::Plan& plan = *context.plan;
    const ir::Node& node = plan.graph->node(id);
    const auto& scan = std::get<ir::Scan>(node.primitive);
    auto step = std::make_unique<ScanStep>();
    step->axis_ = static_cast<std::size_t>(scan.axis);
    step->threads_ = context.threads > 0 ? context.threads : base::default_threads();
    TENDON_ASSIGN_OR_RETURN(step->body_,
                            NodeBody::make(plan, plan.graph->value(node.outputs[0]).shape,
                                           std::span(&scan.body, 1), node.outputs));
    step->dtype_ = plan.graph->value(node.outputs[0]).dtype;
    step->has_positions_ = node.outputs.size() > 1;
    step->kernel_ = kernel_for(scan.op, step->body_->program().root_types[0]);
    if (step->kernel_ == nullptr) {
      return Status(StatusCode::kUnimplemented, "scan of " + std::string(dtype_name(step->dtype_)));
    }
    step->workspaces_.resize(static_cast<std::size_t>(step->threads_));
    return std::unique_ptr<backends::Step>(std::move(step));
  }

  Status bind(const Bindings& bindings) override {
    TENDON_RETURN_IF_ERROR(body_->bind(bindings));
    outer_ = inner_ = 1;
    for (std::size_t k = 0; k < axis_; ++k) outer_ *= body_->extent(k);
    for (std::size_t k = axis_ + 1; k < body_->extents().size(); ++k) inner_ *= body_->extent(k);
    length_ = body_->extents().empty() ? 1 : body_->extent(axis_);
    return Status();
  }

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(threads_) * thread_bytes();
  }

  Status run(const Frame& frame) override {
    checks_.reset();
    if (outer_ * inner_ * length_ == 0) return Status();
    const std::int64_t tile = body_->evaluator().tile_elements();
    const bool across = inner_ >= kManyLanes;
    const std::int64_t block = across ? std::min(inner_, tile) : inner_;
    const std::int64_t blocks = (inner_ + block - 1) / block;
    base::parallel_for(outer_ * blocks,
                       std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, length_ * block)),
                       threads_, [&](int worker, std::int64_t begin, std::int64_t end) {
                         Worker state = prepare(frame, worker);
                         for (std::int64_t i = begin; i < end; ++i) {
                           const std::int64_t lane = i % blocks * block;
                           scan_lanes(state, i / blocks, lane, std::min(block, inner_ - lane),
                                      across);
                         }
                       });
    checks_.report(frame.errors);
    return Status();
  }

 private:
  struct Worker {
    TileWorkspace* workspace = nullptr;
    ScanState state;
    std::byte* out = nullptr;
    std::int64_t* where = nullptr;
  };

  static constexpr std::size_t kArray = kMaxTileElements * 8;
  std::size_t thread_bytes() const { return body_->workspace_bytes() + 4 * kArray; }

  Worker prepare(const Frame& frame, int worker) {
    std::byte* memory = frame.scratch + static_cast<std::size_t>(worker) * thread_bytes();
    Worker result;
    result.workspace = &workspaces_[static_cast<std::size_t>(worker)];
    body_->prepare(*result.workspace, memory, frame, &checks_);
    memory += body_->workspace_bytes();
    result.state.numbers = reinterpret_cast<double*>(memory);
    result.state.positions = reinterpret_cast<std::int64_t*>(memory + kArray);
    result.out = memory + 2 * kArray;
    result.where = reinterpret_cast<std::int64_t*>(memory + 3 * kArray);
    return result;
  }

  /// Lanes [lane, lane + lanes) of one outer position: step by step, or (lanes being all there
  /// are) several steps in one tile.
  void scan_lanes(Worker& worker, std::int64_t outer, std::int64_t lane, std::int64_t lanes,
                  bool across) const {
    const TileEvaluator& evaluator = body_->evaluator();
    const auto carrier = static_cast<std::int64_t>(tile_type_size(body_->program().root_types[0]));
    const std::int64_t together =
        across ? 1 : std::max<std::int64_t>(1, evaluator.tile_elements() / lanes);
    for (std::int64_t t = 0; t < length_; t += together) {
      const std::int64_t steps = std::min(together, length_ - t);
      const std::int64_t begin = (outer * length_ + t) * inner_ + lane;
      const std::int64_t count = steps * lanes;
      evaluator.evaluate(*worker.workspace, begin, count);
      const Register& x = evaluator.root(*worker.workspace, 0);
      for (std::int64_t s = 0; s < steps; ++s) {
        kernel_(worker.state, x.data + s * lanes * carrier * x.step, x.step, t + s, lanes,
                worker.out + s * lanes * carrier, worker.where + s * lanes);
      }
      evaluator.store(*worker.workspace, 0, Register{worker.out, 1}, dtype_, begin, count);
      if (has_positions_) {
        evaluator.store(*worker.workspace, 1,
                        Register{reinterpret_cast<std::byte*>(worker.where), 1}, DType::kInt64,
                        begin, count);
      }
    }
  }

  std::unique_ptr<NodeBody> body_;
  std::size_t axis_ = 0;
  int threads_ = 1;
  DType dtype_ = DType::kFloat32;
  bool has_positions_ = false;
  ScanKernel kernel_ = nullptr;
  std::vector<TileWorkspace> workspaces_;
  CheckState checks_;
  std::int64_t outer_ = 0, inner_ = 0, length_ = 0;
};

}  // namespace

StepResult make_scan_step(const CompileContext& context, ir::NodeId node) {
  return ScanStep::make(context, node);
}

}  // namespace tendon::backends::cpu
