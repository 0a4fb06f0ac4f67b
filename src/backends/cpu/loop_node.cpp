#include "backends/cpu/loop_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/status_macros.h"

namespace tendon::backends::cpu {
namespace {

/// Fewer elements than this along the tile are not worth its start.
constexpr std::int64_t kShortReduction = 32;

Result<Location> locate(const schedule::Plan& plan, ir::ValueId value,
                        const std::unordered_map<ir::ValueId, int>& locals) {
  Location location;
  location.dtype = plan.graph->value(value).dtype;
  if (const auto local = locals.find(value); local != locals.end()) {
    location.local = local->second;
    return location;
  }
  const schedule::Storage& storage = plan.storage[static_cast<std::size_t>(value)];
  if (storage.buffer == schedule::kNoBuffer) {
    return Status(StatusCode::kInternal,
                  fmt::format("value %{} has no buffer and is not made by this kernel", value));
  }
  location.buffer = storage.buffer;
  location.offset = storage.offset;
  location.strides = storage.strides;
  return location;
}

TileType result_type(std::optional<ir::ReduceOp> op, TileType body) {
  if (op == ir::ReduceOp::kArgMin || op == ir::ReduceOp::kArgMax) return TileType::kInt64;
  return body;
}

}  // namespace

Result<std::unique_ptr<LoopNodeRunner>> LoopNodeRunner::make(
    const schedule::Plan& plan, const schedule::LoopKernel& kernel, const schedule::LoopNode& node,
    const std::unordered_map<ir::ValueId, int>& locals) {
  auto runner = std::unique_ptr<LoopNodeRunner>(new LoopNodeRunner());
  runner->outer_shape_ = kernel.outer;
  runner->inner_shape_ = node.inner;
  runner->reduce_ = node.reduce;
  runner->dtype_ = plan.graph->value(node.value).dtype;
  runner->two_outputs_ = node.reduce == ir::ReduceOp::kMoments && node.second >= 0;
  const std::size_t axes = kernel.outer.size() + node.inner.size();
  if (axes > static_cast<std::size_t>(kMaxAxes)) {
    return Status(StatusCode::kUnimplemented,
                  fmt::format("a kernel over {} axes; at most {} are supported", axes, kMaxAxes));
  }
  ProgramOptions options;
  options.stores_roots = !node.reduce;
  TENDON_ASSIGN_OR_RETURN(
      runner->program_,
      compile_program(plan.graph->pool, std::span(&node.body, 1), static_cast<int>(axes), options));
  std::vector<Location> loads;
  for (const Access& access : runner->program_.accesses) {
    TENDON_ASSIGN_OR_RETURN(Location location, locate(plan, access.value, locals));
    loads.push_back(std::move(location));
  }
  std::vector<Location> stores;
  TENDON_ASSIGN_OR_RETURN(Location store, locate(plan, node.value, locals));
  stores.push_back(std::move(store));
  if (!node.reduce) {
    stores[0].dtype = runner->program_.root_dtypes[0];
    runner->result_type_ = runner->program_.root_types[0];
    runner->evaluator_ = std::make_unique<TileEvaluator>(runner->program_, plan, std::move(loads),
                                                         std::move(stores));
  } else {
    const TileType body = runner->program_.root_types[0];
    const auto op = static_cast<std::size_t>(*node.reduce);
    runner->row_ = reduce_table().row[op][static_cast<int>(body)];
    runner->fold_ = reduce_table().fold[op][static_cast<int>(body)];
    if (runner->row_.add == nullptr) {
      return Status(StatusCode::kUnimplemented,
                    fmt::format("reduction number {} of {}", op,
                                dtype_name(plan.graph->pool.dtype(node.body))));
    }
    runner->result_type_ = result_type(node.reduce, body);
    if (runner->two_outputs_) {
      TENDON_ASSIGN_OR_RETURN(Location second, locate(plan, node.second, locals));
      stores.push_back(std::move(second));
    }
    runner->no_program_.axes = static_cast<int>(kernel.outer.size());
    runner->no_program_.index_axes.assign(kernel.outer.size(), false);
    runner->evaluator_ = std::make_unique<TileEvaluator>(runner->program_, plan, std::move(loads),
                                                         std::vector<Location>());
    runner->output_ = std::make_unique<TileEvaluator>(runner->no_program_, plan,
                                                      std::vector<Location>(), std::move(stores));
  }
  runner->extents_.resize(axes);
  runner->origin_.assign(axes, 0);
  runner->order_.resize(axes);
  return runner;
}

Status LoopNodeRunner::bind_sizes(const Bindings& bindings, std::span<const std::int64_t> outer) {
  outer_points_ = 1;
  inner_points_ = 1;
  std::copy(outer.begin(), outer.end(), extents_.begin());
  for (std::int64_t extent : outer) outer_points_ *= extent;
  for (std::size_t i = 0; i < inner_shape_.size(); ++i) {
    TENDON_ASSIGN_OR_RETURN(extents_[outer.size() + i], bindings.evaluate(inner_shape_[i]));
    inner_points_ *= extents_[outer.size() + i];
  }
  return Status();
}

std::span<const std::int64_t> LoopNodeRunner::outer_store_strides() const {
  const TileEvaluator& stored = output_ != nullptr ? *output_ : *evaluator_;
  const BoundAccess& store = stored.access(stored.load_count());
  if (store.local >= 0) return {};
  return std::span(store.strides).first(outer_shape_.size());
}

bool LoopNodeRunner::prefers_outer_lanes() const {
  // By the accesses whose strides are known: those of buffers.
  const std::size_t outer_rank = outer_shape_.size();
  int outer_axis = -1;
  for (const int axis : layout_.outer_order) {
    if (extents_[static_cast<std::size_t>(axis)] > 1) outer_axis = axis;
  }
  int inner_axis = -1;
  for (std::size_t k = outer_rank; k < extents_.size(); ++k) {
    if (extents_[k] > 1) inner_axis = static_cast<int>(k);
  }
  if (outer_axis < 0 || outer_points_ < 16) return false;
  if (inner_axis < 0) return true;
  int along_outer = 0;
  int along_inner = 0;
  for (std::size_t i = 0; i < evaluator_->access_count(); ++i) {
    const BoundAccess& access = evaluator_->access(i);
    if (access.local >= 0) continue;
    const std::int64_t outer_stride = access.strides[outer_axis];
    const std::int64_t inner_stride = access.strides[inner_axis];
    if (outer_stride == 1 && inner_stride != 1 && inner_stride != 0) ++along_outer;
    if (inner_stride == 1 && outer_stride != 1 && outer_stride != 0) ++along_inner;
  }
  if (along_outer != along_inner) {
    return along_outer > along_inner || (along_inner > 0 && inner_points_ <= 4);
  }
  return is_reduction() && inner_points_ < kShortReduction &&
         extents_[static_cast<std::size_t>(outer_axis)] >= 16;
}

Status LoopNodeRunner::bind_layout(const Bindings& bindings, const BlockLayout& layout,
                                   std::span<const std::span<const std::int64_t>> local_strides) {
  layout_ = layout;
  TENDON_RETURN_IF_ERROR(evaluator_->bind_values(bindings, local_strides));
  std::iota(order_.begin(), order_.end(), 0);
  std::copy(layout.outer_order.begin(), layout.outer_order.end(), order_.begin());
  const auto outer_rank = static_cast<std::ptrdiff_t>(outer_shape_.size());
  if (output_ != nullptr) {
    TENDON_RETURN_IF_ERROR(output_->bind_values(bindings, local_strides));
    output_->bind_space(origin_, extents_, std::span(order_).first(outer_shape_.size()));
  }
  if (layout.lanes_are_outer)
    std::rotate(order_.begin(), order_.begin() + outer_rank, order_.end());
  evaluator_->bind_space(origin_, extents_, order_);
  return Status();
}

Status LoopNodeRunner::bind_whole(const Bindings& bindings) {
  TENDON_RETURN_IF_ERROR(evaluator_->bind_values(bindings));
  std::iota(order_.begin(), order_.end(), 0);
  const BoundAccess& store = evaluator_->access(evaluator_->load_count());
  std::sort(order_.begin(), order_.end(), [&](int a, int b) {
    return store.strides[a] != store.strides[b] ? store.strides[a] > store.strides[b] : a < b;
  });
  evaluator_->bind_space(origin_, extents_, order_);
  return Status();
}

std::size_t LoopNodeRunner::result_bytes() const {
  if (!reduce_) return 0;
  return static_cast<std::size_t>(kMaxTileElements) * 8 + kVectorBytes;
}

std::size_t LoopNodeRunner::workspace_bytes() const {
  std::size_t bytes = evaluator_->workspace_bytes() + 2 * result_bytes();
  if (output_ != nullptr) bytes += output_->workspace_bytes();
  return static_cast<std::size_t>(round_up(static_cast<std::int64_t>(bytes), kVectorBytes)) +
         2 * kVectorBytes;
}

void LoopNodeRunner::prepare(Workspace& workspace, std::byte* memory,
                             std::span<std::byte* const> buffers, CheckState* checks) const {
  std::byte* next = memory;
  const auto take = [&](std::size_t bytes) {
    std::byte* taken = next;
    next += round_up(static_cast<std::int64_t>(bytes), kVectorBytes);
    return taken;
  };
  evaluator_->prepare(workspace.body, take(evaluator_->workspace_bytes()), buffers, checks);
  if (output_ == nullptr) return;
  output_->prepare(workspace.output, take(output_->workspace_bytes()), buffers, checks);
  workspace.first = take(result_bytes());
  workspace.second = take(result_bytes());
}

void LoopNodeRunner::set_local(Workspace& workspace, int local, std::byte* memory) const {
  evaluator_->set_local(workspace.body, local, memory);
  if (output_ != nullptr) output_->set_local(workspace.output, local, memory);
}

void LoopNodeRunner::run_points(Workspace& workspace, std::int64_t begin, std::int64_t end) const {
  const DType dtype = program_.root_dtypes[0];
  while (begin < end) {
    const std::int64_t count = evaluator_->tile_count(begin, end);
    std::byte* direct[1] = {evaluator_->direct_target(workspace.body, 0, 0, begin, count)};
    evaluator_->evaluate(workspace.body, begin, count, direct);
    const Register& result = evaluator_->root(workspace.body, 0);
    if (direct[0] == nullptr || result.data != direct[0]) {
      evaluator_->store(workspace.body, 0, result, dtype, begin, count);
    }
    begin += count;
  }
}

void LoopNodeRunner::run(Workspace& workspace, std::int64_t begin, std::int64_t end) const {
  if (reduce_) {
    if (layout_.lanes_are_outer && inner_points_ > 0) {
      reduce_lanes(workspace, begin, end);
    } else {
      reduce_rows(workspace, begin, end);
    }
  } else if (!layout_.lanes_are_outer) {
    run_points(workspace, begin * inner_points_, end * inner_points_);
  } else if (begin == 0 && end == outer_points_) {
    run_points(workspace, 0, outer_points_ * inner_points_);
  } else {
    for (std::int64_t inner = 0; inner < inner_points_; ++inner) {
      run_points(workspace, inner * outer_points_ + begin, inner * outer_points_ + end);
    }
  }
}

void LoopNodeRunner::store_results(Workspace& workspace, const void* first, const void* second,
                                   std::int64_t begin, std::int64_t count) const {
  const auto as_register = [](const void* data) {
    return Register{static_cast<std::byte*>(const_cast<void*>(data)), 1};
  };
  output_->store(workspace.output, 0, as_register(first), dtype_, begin, count);
  if (two_outputs_) {
    output_->store(workspace.output, 1, as_register(second), dtype_, begin, count);
  }
}

}  // namespace tendon::backends::cpu
