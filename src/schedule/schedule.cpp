#include "schedule/schedule.h"

#include <algorithm>
#include <numeric>

#include "ir/dependencies.h"
#include "schedule/arena.h"
#include "schedule/groups.h"

namespace tendon::schedule {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

Shape strides_in_order(const Shape& shape, const std::vector<int>& dim_order) {
  if (dim_order.empty()) return contiguous_strides(shape);
  Shape strides(shape.size(), Size(1));
  Size stride = 1;
  for (std::size_t i = dim_order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(dim_order[i]);
    strides[axis] = stride;
    stride = stride * shape[axis];
  }
  return strides;
}

/// The bytes a shape takes at its upper bound.
std::optional<std::int64_t> bound_of(const Shape& shape, DType dtype) {
  std::int64_t bytes = static_cast<std::int64_t>(dtype_size(dtype));
  for (const Size& size : shape) {
    const std::int64_t upper = size.bounds().upper;
    if (upper == kUnbounded) return std::nullopt;
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(upper, 0), &bytes))
      return std::nullopt;
  }
  return bytes;
}

class Planner {
 public:
  Planner(std::shared_ptr<const Graph> graph, const std::vector<Shape>& constant_strides)
      : graph_(*graph), constant_strides_(constant_strides) {
    plan_.graph = std::move(graph);
  }

  Result<std::shared_ptr<const Plan>> run() {
    choose_layouts();
    find_aliases();
    grouping_ = group_loops(graph_, alias_of_);
    plan_.storage.resize(graph_.values.size());
    make_steps();
    place_leaves();
    find_local_values();
    place_values();
    set_lifetimes();
    layout_arena();
    for (const Node& node : graph_.nodes) {
      if (Status status = plan_subgraphs(node); !status.ok()) return status;
    }
    return std::make_shared<const Plan>(std::move(plan_));
  }

 private:
  // ---- Memory layout.

  /// Convolutions read and write channels last (axis 1 fastest); attention puts the heads of a
  /// query side by side, as the product that mixes them reads them; outputs are as the program
  /// says.
  void choose_layouts() {
    dim_orders_.resize(graph_.values.size());
    for (const Node& node : graph_.nodes) {
      if (std::holds_alternative<Attention>(node.primitive)) set_heads_together(node.outputs[0]);
      if (!std::holds_alternative<Conv>(node.primitive)) continue;
      set_channels_last(node.outputs[0]);
      set_channels_last(node.inputs[0]);
    }
    for (const GraphOutput& output : graph_.outputs) {
      dim_orders_[static_cast<std::size_t>(output.value)] = output.dim_order;
    }
  }

  void set_channels_last(ValueId value) {
    const Shape& shape = graph_.value(value).shape;
    if (shape.size() < 3) return;
    std::vector<int> order = {0};
    for (int axis = 2; axis < static_cast<int>(shape.size()); ++axis) order.push_back(axis);
    order.push_back(1);
    dim_orders_[static_cast<std::size_t>(value)] = std::move(order);
  }

  void set_heads_together(ValueId value) {
    std::vector<int> order(graph_.value(value).shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[order.size() - 3], order[order.size() - 2]);
    dim_orders_[static_cast<std::size_t>(value)] = std::move(order);
  }

  // ---- Views that are strided memory.

  /// Where a value's elements lie relative to the start of the buffer of alias_of_[value].
  struct Strided {
    Size offset;
    Shape strides;
  };

  /// A map that only loads, at positions that are affine in memory, needs no kernel.
  void find_aliases() {
    alias_of_.resize(graph_.values.size());
    std::iota(alias_of_.begin(), alias_of_.end(), 0);
    strided_.resize(graph_.values.size());
    const std::vector<bool> outputs = output_values(graph_);
    for (const Node& node : graph_.nodes) {
      for (ValueId value : node.outputs) {
        const auto index = static_cast<std::size_t>(value);
        const Primitive& primitive = node.primitive;
        if (const auto* constant = std::get_if<Constant>(&primitive)) {
          strided_[index] = {0, constant_strides_[static_cast<std::size_t>(constant->index)]};
        } else if (std::holds_alternative<Input>(primitive) ||
                   std::holds_alternative<State>(primitive)) {
          strided_[index] = {0, contiguous_strides(graph_.value(value).shape)};
        } else if (const auto view = outputs[index] ? std::nullopt : as_strided(node)) {
          const auto& map = std::get<Map>(primitive);
          const auto direct = static_cast<std::size_t>(graph_.pool.node(map.body).payload);
          alias_of_[index] = alias_of_[direct];
          strided_[index] = *view;
          views_.push_back(value);
        } else {
          strided_[index] = {0, strides_in_order(graph_.value(value).shape, dim_orders_[index])};
        }
      }
    }
  }

  std::optional<Strided> as_strided(const Node& node) {
    const auto* map = std::get_if<Map>(&node.primitive);
    if (map == nullptr || graph_.pool.node(map->body).op != Op::kLoad) return std::nullopt;
    const Shape& shape = graph_.value(node.outputs[0]).shape;
    const Strided& base = strided_[static_cast<std::size_t>(graph_.pool.node(map->body).payload)];
    // Simplification needs a pool to write to; the plan's graph is immutable.
    scratch_.set_extents(shape);
    ExprId sum = scratch_.size(base.offset);
    const auto positions = graph_.pool.arguments(map->body);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const ExprId position = scratch_.rewrite(
          graph_.pool, positions[i],
          [](const ExprPool&, ExprId, std::span<const ExprId>) { return std::optional<ExprId>(); });
      sum = scratch_.binary(
          Op::kAdd, sum, scratch_.binary(Op::kMultiply, position, scratch_.size(base.strides[i])));
    }
    const ExprPool::Affine affine = scratch_.affine(sum);
    Strided result{affine.constant, Shape(shape.size(), Size(0))};
    for (const ExprPool::AffineTerm& term : affine.terms) {
      const ExprNode& node_of_term = scratch_.node(term.term);
      if (node_of_term.op != Op::kIndex) return std::nullopt;
      result.strides[static_cast<std::size_t>(node_of_term.payload)] = term.coefficient;
    }
    return result;
  }

  // ---- Steps.

  LoopKernel loop_kernel(const Group& group) const {
    LoopKernel kernel{group.outer, {}};
    for (NodeId id : group.nodes) {
      const Node& node = graph_.node(id);
      LoopNode loop;
      loop.value = node.outputs[0];
      if (const auto* reduce = std::get_if<Reduce>(&node.primitive)) {
        loop.reduce = reduce->op;
        loop.inner = reduce->reduced;
        loop.body = reduce->body;
        if (node.outputs.size() > 1) loop.second = node.outputs[1];
      } else {
        const Shape& shape = graph_.value(loop.value).shape;
        loop.inner.assign(shape.begin() + static_cast<std::ptrdiff_t>(group.outer.size()),
                          shape.end());
        loop.body = std::get<Map>(node.primitive).body;
      }
      kernel.nodes.push_back(std::move(loop));
    }
    return kernel;
  }

  void make_steps() {
    step_of_.resize(graph_.nodes.size(), -1);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeId id = static_cast<NodeId>(i);
      const Node& node = graph_.nodes[i];
      const int group_index = grouping_.group_of[i];
      if (group_index >= 0) {
        const Group& group = grouping_.groups[static_cast<std::size_t>(group_index)];
        if (group.nodes.back() != id) continue;
        for (NodeId member : group.nodes) {
          step_of_[static_cast<std::size_t>(member)] = static_cast<int>(plan_.steps.size());
        }
        plan_.steps.push_back(Step{loop_kernel(group), node.origin, {}, {}});
        continue;
      }
      const bool leaf = std::holds_alternative<Input>(node.primitive) ||
                        std::holds_alternative<Constant>(node.primitive) ||
                        std::holds_alternative<State>(node.primitive);
      if (leaf || std::holds_alternative<Map>(node.primitive)) continue;
      step_of_[i] = static_cast<int>(plan_.steps.size());
      plan_.steps.push_back(Step{NodeKernel{id}, node.origin, {}, {}});
    }
  }

  // ---- Buffers.

  void add_buffer(Buffer::Kind kind, int index, ValueId value) {
    const Value& v = graph_.value(value);
    Buffer buffer;
    buffer.kind = kind;
    buffer.index = index;
    buffer.dtype = v.dtype;
    buffer.shape = v.shape;
    buffer.strides = strided_[static_cast<std::size_t>(value)].strides;
    if (kind == Buffer::Kind::kArena || kind == Buffer::Kind::kOutput) {
      buffer.dim_order = dim_orders_[static_cast<std::size_t>(value)];
    }
    buffer.bound_bytes = bound_of(v.shape, v.dtype);
    plan_.buffers.push_back(std::move(buffer));
    const BufferId id = static_cast<BufferId>(plan_.buffers.size()) - 1;
    plan_.storage[static_cast<std::size_t>(value)] = Storage{id, 0, plan_.buffers.back().strides};
  }

  void place_leaves() {
    for (const Node& node : graph_.nodes) {
      if (node.outputs.empty()) continue;
      const ValueId value = node.outputs[0];
      if (const auto* input = std::get_if<Input>(&node.primitive)) {
        add_buffer(Buffer::Kind::kInput, input->index, value);
      } else if (const auto* state = std::get_if<State>(&node.primitive)) {
        add_buffer(Buffer::Kind::kState, state->index, value);
      } else if (const auto* constant = std::get_if<Constant>(&node.primitive)) {
        add_buffer(Buffer::Kind::kConstant, constant->index, value);
      }
    }
  }

  /// Values that only their own kernel reads need no memory of their own.
  void find_local_values() {
    local_.resize(graph_.values.size(), false);
    std::vector<bool> stored(graph_.values.size(), false);
    for (const GraphOutput& output : graph_.outputs)
      stored[static_cast<std::size_t>(output.value)] = true;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (ValueId operand : operands(graph_, graph_.nodes[i])) {
        const ValueId base = alias_of_[static_cast<std::size_t>(operand)];
        const int maker = step_of_[static_cast<std::size_t>(graph_.value(base).node)];
        if (step_of_[i] < 0) continue;  // a view; its readers count
        if (maker != step_of_[i] || base != operand) stored[static_cast<std::size_t>(base)] = true;
      }
    }
    for (const Group& group : grouping_.groups) {
      if (group.nodes.size() < 2) continue;
      for (NodeId id : group.nodes) {
        for (ValueId value : graph_.node(id).outputs) {
          local_[static_cast<std::size_t>(value)] = !stored[static_cast<std::size_t>(value)];
        }
      }
    }
  }

  void place_values() {
    std::vector<int> user_output(graph_.values.size(), -1);
    for (const GraphOutput& output : graph_.outputs) {
      if (output.kind == GraphOutput::Kind::kUser) {
        user_output[static_cast<std::size_t>(output.value)] = output.index;
      }
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (step_of_[i] < 0) continue;
      for (ValueId value : node.outputs) {
        const auto index = static_cast<std::size_t>(value);
        if (local_[index]) continue;
        const bool user = user_output[index] >= 0;
        add_buffer(user ? Buffer::Kind::kOutput : Buffer::Kind::kArena,
                   user ? user_output[index] : 0, value);
      }
    }
    for (ValueId view : views_) {
      const ValueId base = alias_of_[static_cast<std::size_t>(view)];
      const Strided& strided = strided_[static_cast<std::size_t>(view)];
      plan_.storage[static_cast<std::size_t>(view)] = Storage{
          plan_.storage[static_cast<std::size_t>(base)].buffer, strided.offset, strided.strides};
    }
  }

  // ---- Lifetimes.

  void set_lifetimes() {
    std::vector<bool> written(plan_.buffers.size(), false);
    const auto touch = [&](BufferId id, int step) {
      Buffer& buffer = plan_.buffers[static_cast<std::size_t>(id)];
      if (!written[static_cast<std::size_t>(id)]) {
        buffer.first_step = step;
        written[static_cast<std::size_t>(id)] = true;
      }
      buffer.first_step = std::min(buffer.first_step, step);
      buffer.last_step = std::max(buffer.last_step, step);
    };
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      const int step = step_of_[i];
      if (step < 0) continue;
      const auto add = [&](std::vector<ValueId>& list, ValueId value) {
        const Storage& storage = plan_.storage[static_cast<std::size_t>(value)];
        if (storage.buffer == kNoBuffer) return;
        touch(storage.buffer, step);
        if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
      };
      Step& target = plan_.steps[static_cast<std::size_t>(step)];
      for (ValueId value : operands(graph_, node)) add(target.reads, value);
      for (ValueId value : node.outputs) add(target.writes, value);
    }
    for (const GraphOutput& output : graph_.outputs) {
      const Storage& storage = plan_.storage[static_cast<std::size_t>(output.value)];
      touch(storage.buffer, static_cast<int>(plan_.steps.size()));
    }
  }

  void layout_arena() {
    std::vector<Lifetime> lifetimes;
    std::vector<std::size_t> buffers;
    bool bounded = true;
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[i];
      if (buffer.kind != Buffer::Kind::kArena) continue;
      bounded = bounded && buffer.bound_bytes.has_value();
      lifetimes.push_back({buffer.bound_bytes.value_or(0), buffer.first_step, buffer.last_step});
      buffers.push_back(i);
    }
    if (!bounded) return;
    const ArenaLayout layout = plan_arena(lifetimes);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      plan_.buffers[buffers[i]].arena_offset = layout.offsets[i];
    }
    plan_.arena_bytes = layout.bytes;
  }

  Status plan_subgraphs(const Node& node) {
    const auto plan_one = [&](const std::shared_ptr<const Graph>& graph) -> Status {
      auto copy = std::make_shared<Graph>(compacted(*graph));
      separate_outputs(*copy);
      *copy = compacted(*copy);
      auto plan = make_plan(copy, constant_strides_);
      if (!plan.ok()) return plan.status();
      plan_.subplans.emplace_back(graph.get(), *plan);
      return {};
    };
    if (const auto* branch = std::get_if<Branch>(&node.primitive)) {
      if (Status status = plan_one(branch->then_graph); !status.ok()) return status;
      return plan_one(branch->else_graph);
    }
    if (const auto* loop = std::get_if<While>(&node.primitive)) {
      if (Status status = plan_one(loop->condition); !status.ok()) return status;
      return plan_one(loop->body);
    }
    if (const auto* loop = std::get_if<Loop>(&node.primitive)) return plan_one(loop->body);
    return {};
  }

  const Graph& graph_;
  const std::vector<Shape>& constant_strides_;
  Plan plan_;
  ExprPool scratch_;
  std::vector<ValueId> alias_of_;
  std::vector<ValueId> views_;
  std::vector<Strided> strided_;
  std::vector<std::vector<int>> dim_orders_;
  Grouping grouping_;
  std::vector<int> step_of_;
  std::vector<bool> local_;
};

}  // namespace

void separate_outputs(Graph& graph) {
  std::vector<bool> taken(graph.values.size(), false);
  for (GraphOutput& output : graph.outputs) {
    const ValueId value = output.value;
    const Node& producer = graph.producer(value);
    const bool leaf = std::holds_alternative<Input>(producer.primitive) ||
                      std::holds_alternative<Constant>(producer.primitive) ||
                      std::holds_alternative<State>(producer.primitive);
    if (!leaf && !taken[static_cast<std::size_t>(value)]) {
      taken[static_cast<std::size_t>(value)] = true;
      continue;
    }
    const Shape shape = graph.value(value).shape;
    graph.pool.set_extents(shape);
    std::vector<ExprId> positions;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      positions.push_back(graph.pool.index(static_cast<int>(axis)));
    }
    const ExprId body = graph.pool.load(value, graph.value(value).dtype, positions);
    const NodeId copy =
        graph.add(Map{body}, {}, {{graph.value(value).dtype, shape}}, producer.origin);
    output.value = graph.node(copy).outputs[0];
    taken.resize(graph.values.size(), true);
  }
}

Result<std::shared_ptr<const Plan>> make_plan(std::shared_ptr<const Graph> graph,
                                              const std::vector<Shape>& constant_strides) {
  return Planner(std::move(graph), constant_strides).run();
}

}  // namespace tendon::schedule
