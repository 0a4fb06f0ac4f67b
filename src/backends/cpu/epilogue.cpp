#include "backends/cpu/epilogue.h"

#include "base/parallel.h"
#include "base/status_macros.h"
#include "ir/element_kernels.h"

namespace tendon::backends::cpu {

namespace {

/// A plain load at the node's own indices: all of them (the output's shape), or only `channel`.
enum class Reads { kElement, kChannel, kOther };
Reads how_it_reads(const ir::Graph& graph, const ir::Node& node, ir::ExprId id, int channel) {
  const ir::ExprPool& pool = graph.pool;
  if (pool.node(id).op != ir::Op::kLoad || pool.dtype(id) != DType::kFloat32) return Reads::kOther;
  const ir::Shape& shape = graph.value(node.outputs[0]).shape;
  const auto positions = pool.arguments(id);
  const auto own_index = [&](ir::ExprId position, std::size_t axis) {
    const ir::ExprNode& p = pool.node(position);
    return (p.op == ir::Op::kIndex && p.payload == static_cast<std::int64_t>(axis)) ||
           (shape[axis] == ir::Size(1) &&
            pool.as_integer(position) == std::optional<std::int64_t>(0));
  };
  const ir::Shape& read = graph.value(static_cast<ir::ValueId>(pool.node(id).payload)).shape;
  if (positions.size() == shape.size() && read == shape) {
    bool all = true;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      all = all && own_index(positions[axis], axis);
    if (all) return Reads::kElement;
  }
  int channel_reads = 0;
  std::size_t channel_axis = 0;
  for (std::size_t axis = 0; axis < positions.size(); ++axis) {
    const ir::ExprNode& p = pool.node(positions[axis]);
    if (p.op == ir::Op::kIndex && p.payload == channel) {
      ++channel_reads;
      channel_axis = axis;
    } else if (pool.as_integer(positions[axis]) != std::optional<std::int64_t>(0)) {
      return Reads::kOther;
    }
  }
  if (channel_reads != 1) return Reads::kOther;
  return read[channel_axis] == shape[static_cast<std::size_t>(channel)] ? Reads::kChannel
                                                                        : Reads::kOther;
}

}  // namespace

std::optional<SimpleEpilogue> match_simple_epilogue(const schedule::Plan& plan,
                                                    const ir::Node& node, ir::ExprId epilogue,
                                                    int channel) {
  const ir::Graph& graph = *plan.graph;
  const ir::ExprPool& pool = graph.pool;
  SimpleEpilogue result;
  if (epilogue == ir::kNoExpr) return result;
  ir::ExprId at = epilogue;
  if (pool.node(at).op == ir::Op::kMaximum) {
    const auto sides = pool.arguments(at);
    const bool right = pool.as_number(sides[1]) == std::optional<double>(0.0);
    const bool left = pool.as_number(sides[0]) == std::optional<double>(0.0);
    if (!left && !right) return std::nullopt;
    result.relu = true;
    at = right ? sides[0] : sides[1];
  }
  while (pool.node(at).op == ir::Op::kAdd) {
    const auto sides = pool.arguments(at);
    bool matched = false;
    for (int side = 0; side < 2 && !matched; ++side) {
      const ir::ExprId load = sides[static_cast<std::size_t>(side)];
      const Reads reads = how_it_reads(graph, node, load, channel);
      const auto value = static_cast<ir::ValueId>(pool.node(load).payload);
      // From outside in: the residual is added last.
      if (reads == Reads::kElement && !result.residual && !result.bias) {
        result.residual = value;
      } else if (reads == Reads::kChannel && !result.bias) {
        result.bias = value;
      } else {
        continue;
      }
      at = sides[static_cast<std::size_t>(1 - side)];
      matched = true;
    }
    if (!matched) return std::nullopt;
  }
  if (pool.node(at).op != ir::Op::kAccumulator || pool.dtype(at) != DType::kFloat32)
    return std::nullopt;
  const auto strides_of = [&](ir::ValueId value) -> const ir::Shape& {
    return plan.storage[static_cast<std::size_t>(value)].strides;
  };
  if (result.residual && !(strides_of(*result.residual) == strides_of(node.outputs[0])))
    return std::nullopt;
  if (result.bias) {
    const ir::Shape& shape = graph.value(*result.bias).shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (!(shape[axis] == ir::Size(1)) && !(strides_of(*result.bias)[axis] == ir::Size(1)))
        return std::nullopt;
    }
  }
  return result;
}

Result<std::unique_ptr<Epilogue>> Epilogue::make(const schedule::Plan& plan, const ir::Node& node,
                                                 ir::ExprId expression, std::vector<int> order,
                                                 int threads) {
  auto epilogue = std::make_unique<Epilogue>();
  epilogue->threads_ = threads;
  TENDON_ASSIGN_OR_RETURN(epilogue->body_,
                          NodeBody::make(plan, plan.graph->value(node.outputs[0]).shape,
                                         std::span(&expression, 1), node.outputs));
  epilogue->body_->set_order(std::move(order));
  for (ir::ExprId id : plan.graph->pool.topological(expression)) {
    const ir::ExprNode& expr = plan.graph->pool.node(id);
    if (expr.op == ir::Op::kAccumulator) epilogue->accumulator_ = expr.dtype;
  }
  epilogue->workspaces_.resize(static_cast<std::size_t>(threads));
  return epilogue;
}

Status Epilogue::bind(const Bindings& bindings) { return body_->bind(bindings); }

namespace {
constexpr std::size_t kNarrowedBytes = kMaxTileElements * sizeof(std::int64_t);
}

std::size_t Epilogue::scratch_bytes() const {
  return static_cast<std::size_t>(threads_) * (body_->workspace_bytes() + kNarrowedBytes);
}

void Epilogue::run(const Frame& frame, std::byte* scratch, const std::byte* product,
                   DType product_type) {
  checks_.reset();
  const TileEvaluator& evaluator = body_->evaluator();
  const bool narrows = accumulator_ && *accumulator_ != product_type;
  const ir::ElementKernel narrow = narrows ? ir::cast_kernel(product_type, *accumulator_) : nullptr;
  std::byte* narrowed_tiles =
      scratch + static_cast<std::size_t>(threads_) * body_->workspace_bytes();
  base::parallel_for(
      body_->points(), points_worth_a_thread(body_->program()), threads_,
      [&](int worker, std::int64_t begin, std::int64_t end) {
        TileWorkspace& workspace = workspaces_[static_cast<std::size_t>(worker)];
        body_->prepare(workspace,
                       scratch + static_cast<std::size_t>(worker) * body_->workspace_bytes(), frame,
                       &checks_);
        while (begin < end) {
          const std::int64_t count = evaluator.tile_count(begin, end);
          workspace.accumulator =
              product + begin * static_cast<std::int64_t>(dtype_size(product_type));
          if (narrows) {
            std::byte* narrowed =
                narrowed_tiles + static_cast<std::size_t>(worker) * kNarrowedBytes;
            narrow(narrowed, workspace.accumulator, nullptr, static_cast<int>(count));
            workspace.accumulator = narrowed;
          }
          evaluator.evaluate(workspace, begin, count);
          evaluator.store(workspace, 0, evaluator.root(workspace, 0), body_->root_dtype(0), begin,
                          count);
          begin += count;
        }
      });
  checks_.report(frame.errors);
}

}  // namespace tendon::backends::cpu
