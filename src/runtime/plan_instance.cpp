#include "runtime/plan_instance.h"

#include <algorithm>

#include "backends/cpu/compile_step.h"
#include "base/status_macros.h"
#include "runtime/control_step.h"
#include "schedule/arena.h"

namespace tendon::runtime {

namespace {

using schedule::Buffer;
using schedule::LoopKernel;
using schedule::NodeKernel;

/// Calls visit for every Size that decides how the step runs.
void for_each_size(const schedule::Plan& plan, const schedule::Step& step,
                   const std::function<void(const ir::Size&)>& visit) {
  const ir::Graph& graph = *plan.graph;
  const auto visit_shape = [&](const ir::Shape& shape) {
    for (const ir::Size& size : shape) visit(size);
  };
  const auto visit_expression = [&](ir::ExprId root) {
    for (ir::ExprId id : graph.pool.topological(root)) {
      const ir::Op op = graph.pool.node(id).op;
      if (op == ir::Op::kSize) visit(graph.pool.size_of(id));
      if (op == ir::Op::kCheckIndex) visit(graph.pool.check_of(id).size);
    }
  };
  for (const auto* list : {&step.reads, &step.writes}) {
    for (ir::ValueId value : *list) {
      visit_shape(graph.value(value).shape);
      visit_shape(plan.storage[static_cast<std::size_t>(value)].strides);
      visit(plan.storage[static_cast<std::size_t>(value)].offset);
    }
  }
  if (const auto* loop = std::get_if<LoopKernel>(&step.kernel)) {
    visit_shape(loop->outer);
    for (const schedule::LoopNode& node : loop->nodes) {
      visit_shape(node.inner);
      visit_expression(node.body);
    }
    return;
  }
  const ir::Node& node = graph.node(std::get<NodeKernel>(step.kernel).node);
  for (const ir::Size& size : ir::sizes(graph, node)) visit(size);
}

bool has_control_flow(const schedule::Plan& plan, const schedule::Step& step) {
  const auto* kernel = std::get_if<NodeKernel>(&step.kernel);
  return kernel != nullptr && is_control_flow(plan.graph->node(kernel->node).primitive);
}

}  // namespace

Result<std::unique_ptr<PlanInstance>> PlanInstance::create(
    std::shared_ptr<const schedule::Plan> plan, backends::SharedState& shared, int threads) {
  std::unique_ptr<PlanInstance> instance(new PlanInstance(std::move(plan)));
  const schedule::Plan& p = *instance->plan_;
  backends::CompileContext context{&p, &shared, threads};
  for (const schedule::Step& step : p.steps) {
    const bool control = has_control_flow(p, step);
    auto compiled = control ? make_control_step(context, std::get<NodeKernel>(step.kernel).node)
                            : backends::cpu::compile_step(context, step);
    const std::string name =
        step.origin >= 0 ? p.graph->origins[static_cast<std::size_t>(step.origin)] : "copy";
    if (!compiled.ok()) return compiled.status().with_context(name);
    instance->steps_.push_back(std::move(*compiled));
    instance->names_.push_back(name);
    // Control flow looks at symbols inside its sub-graphs, too.
    bool symbols = control;
    bool data = control;
    for_each_size(p, step, [&](const ir::Size& size) {
      symbols = symbols || !size.is_constant();
      data = data || size.depends_on_data();
    });
    instance->depends_on_symbols_.push_back(symbols);
    instance->depends_on_data_.push_back(data);
  }
  instance->offsets_.resize(p.buffers.size(), 0);
  instance->addresses_.resize(p.buffers.size(), nullptr);
  instance->shared_ = &shared;
  instance->constants_.resize(p.buffers.size());
  for (std::size_t i = 0; i < p.buffers.size(); ++i) {
    const Buffer& buffer = p.buffers[i];
    instance->offsets_[i] = buffer.arena_offset;
    if (buffer.kind == Buffer::Kind::kConstant) {
      instance->constants_[i] = shared.constant(buffer.index);
      instance->addresses_[i] = instance->constants_[i].as<std::byte>();
    }
  }
  instance->constant_reads_.resize(p.steps.size());
  instance->constant_readers_.resize(p.buffers.size());
  for (std::size_t step = 0; step < p.steps.size(); ++step) {
    for (const ir::ValueId value : p.steps[step].reads) {
      const schedule::BufferId buffer = p.storage[static_cast<std::size_t>(value)].buffer;
      if (p.buffers[static_cast<std::size_t>(buffer)].kind != Buffer::Kind::kConstant) continue;
      instance->constant_reads_[step].push_back(buffer);
      instance->constant_readers_[static_cast<std::size_t>(buffer)].push_back(step);
    }
  }
  // One after the other those that read the same constant, so that it can be given back before the
  // next is packed.
  std::vector<bool> ordered(p.steps.size(), false);
  const auto order = [&](std::size_t step) {
    if (!ordered[step]) instance->bind_order_.push_back(step);
    ordered[step] = true;
  };
  for (std::size_t step = 0; step < p.steps.size(); ++step) {
    order(step);
    for (const schedule::BufferId buffer : instance->constant_reads_[step]) {
      for (const std::size_t reader : instance->constant_readers_[static_cast<std::size_t>(buffer)])
        order(reader);
    }
  }
  return instance;
}

Result<std::int64_t> PlanInstance::bound_bytes(schedule::BufferId id,
                                               const SymbolTable& symbols) const {
  const Buffer& buffer = plan_->buffers[static_cast<std::size_t>(id)];
  std::int64_t bytes = static_cast<std::int64_t>(dtype_size(buffer.dtype));
  for (const ir::Size& size : buffer.shape) {
    const auto upper = symbols.upper_bound(size);
    if (!upper || __builtin_mul_overflow(bytes, std::max<std::int64_t>(*upper, 0), &bytes)) {
      return Status(
          StatusCode::kResourceExhausted,
          "an intermediate value of shape " + ir::to_string(buffer.shape) + " has no upper bound");
    }
  }
  return bytes;
}

Status PlanInstance::layout_arena(const SymbolTable& symbols) {
  std::int64_t bytes = 0;
  if (plan_->arena_bytes) {
    bytes = *plan_->arena_bytes;
  } else {
    std::vector<schedule::Lifetime> lifetimes;
    std::vector<std::size_t> buffers;
    for (std::size_t i = 0; i < plan_->buffers.size(); ++i) {
      const Buffer& buffer = plan_->buffers[i];
      if (buffer.kind != Buffer::Kind::kArena || is_unbounded(i)) continue;
      TENDON_ASSIGN_OR_RETURN(const std::int64_t size,
                              bound_bytes(static_cast<schedule::BufferId>(i), symbols));
      lifetimes.push_back({size, buffer.first_step, buffer.last_step});
      buffers.push_back(i);
    }
    const schedule::ArenaLayout layout = schedule::plan_arena(lifetimes);
    for (std::size_t i = 0; i < buffers.size(); ++i) offsets_[buffers[i]] = layout.offsets[i];
    bytes = layout.bytes;
  }
  TENDON_RETURN_IF_ERROR(arena_.reserve(bytes));
  for (std::size_t i = 0; i < plan_->buffers.size(); ++i) {
    if (plan_->buffers[i].kind == Buffer::Kind::kArena && !is_unbounded(i)) {
      addresses_[i] = arena_.data() + offsets_[i];
    }
  }
  return {};
}

bool PlanInstance::is_unbounded(std::size_t buffer) const {
  return std::any_of(unbounded_.begin(), unbounded_.end(),
                     [&](const Unbounded& entry) { return entry.buffer == buffer; });
}

Status PlanInstance::place_unbounded(int step, const SymbolTable& symbols) {
  for (Unbounded& entry : unbounded_) {
    const Buffer& buffer = plan_->buffers[entry.buffer];
    if (buffer.first_step != step) continue;
    std::int64_t bytes = static_cast<std::int64_t>(dtype_size(buffer.dtype));
    for (const ir::Size& size : buffer.shape) {
      TENDON_ASSIGN_OR_RETURN(const std::int64_t extent, symbols.evaluate(size));
      if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(extent, 0), &bytes)) {
        return Status(StatusCode::kResourceExhausted,
                      "a value of shape " + ir::to_string(buffer.shape) + " is too large");
      }
    }
    TENDON_RETURN_IF_ERROR(entry.memory.reserve(std::max<std::int64_t>(bytes, 1)));
    addresses_[entry.buffer] = entry.memory.data();
  }
  return {};
}

bool PlanInstance::reads_constant(std::size_t step, schedule::BufferId buffer) const {
  const std::vector<ir::ValueId>& reads = plan_->steps[step].reads;
  return std::any_of(reads.begin(), reads.end(), [&](ir::ValueId value) {
    return plan_->storage[static_cast<std::size_t>(value)].buffer == buffer &&
           steps_[step]->reads_in_place(value);
  });
}

Status PlanInstance::bind_step(std::size_t step, const backends::Bindings& bindings) {
  if (Status status = steps_[step]->bind(bindings); !status.ok())
    return status.with_context(names_[step]);
  for (const schedule::BufferId id : constant_reads_[step]) {
    const auto buffer = static_cast<std::size_t>(id);
    const auto& readers = constant_readers_[buffer];
    if (constants_[buffer].view().data == nullptr ||
        std::any_of(readers.begin(), readers.end(),
                    [&](std::size_t reader) { return reads_constant(reader, id); })) {
      continue;
    }
    addresses_[buffer] = nullptr;
    constants_[buffer] = Tensor();
    shared_->release(plan_->buffers[buffer].index);
  }
  return {};
}

Status PlanInstance::bind(SymbolTable& symbols) {
  if (bound_once_ && bound_version_ == symbols.version()) return {};
  if (!bound_once_) {
    for (std::size_t i = 0; i < plan_->buffers.size(); ++i) {
      const Buffer& buffer = plan_->buffers[i];
      const bool ours = buffer.kind == Buffer::Kind::kArena || buffer.kind == Buffer::Kind::kOutput;
      const bool from_data =
          std::any_of(buffer.shape.begin(), buffer.shape.end(), [&](const ir::Size& size) {
            return size.depends_on_data() && !symbols.upper_bound(size);
          });
      if (ours && from_data) unbounded_.push_back({i, Reservation()});
    }
  }
  TENDON_RETURN_IF_ERROR(layout_arena(symbols));
  std::size_t scratch = 0;
  for (const std::size_t i : bind_order_) {
    if (depends_on_data_[i]) continue;  // bound when its sizes are known
    if (bound_once_ && !depends_on_symbols_[i]) {
      scratch = std::max(scratch, steps_[i]->scratch_bytes());
      continue;
    }
    TENDON_RETURN_IF_ERROR(bind_step(i, symbols));
    scratch = std::max(scratch, steps_[i]->scratch_bytes());
  }
  TENDON_RETURN_IF_ERROR(scratch_.reserve(static_cast<std::int64_t>(scratch)));
  bound_once_ = true;
  bound_version_ = symbols.version();
  return {};
}

Status PlanInstance::run(const RunMemory& memory, SymbolTable& symbols, FirstError& errors,
                         base::TraceSink* trace) {
  for (std::size_t i = 0; i < plan_->buffers.size(); ++i) {
    const Buffer& buffer = plan_->buffers[i];
    const auto index = static_cast<std::size_t>(buffer.index);
    if (buffer.kind == Buffer::Kind::kInput) addresses_[i] = memory.inputs[index];
    if (buffer.kind == Buffer::Kind::kState) addresses_[i] = memory.states[index];
    // Null: nobody has memory for an output without a bound; it gets some when its size is known.
    if (buffer.kind == Buffer::Kind::kOutput && memory.outputs[index] != nullptr) {
      addresses_[i] = memory.outputs[index];
    }
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const base::ScopedSpan span(trace, "step", names_[i]);
    if (!unbounded_.empty()) {
      if (Status status = place_unbounded(static_cast<int>(i), symbols); !status.ok()) {
        return status.with_context(names_[i]);
      }
    }
    if (depends_on_data_[i]) {
      TENDON_RETURN_IF_ERROR(bind_step(i, symbols));
      const auto needed = static_cast<std::int64_t>(steps_[i]->scratch_bytes());
      if (needed > scratch_.bytes()) TENDON_RETURN_IF_ERROR(scratch_.reserve(needed));
    }
    const backends::Frame frame{addresses_, &symbols, &errors, scratch_.data()};
    if (Status status = steps_[i]->run(frame); !status.ok()) return status.with_context(names_[i]);
    if (errors.any()) return errors.take().with_context(names_[i]);
    if (!symbols.range_error().empty()) {
      Status status(StatusCode::kAborted, symbols.range_error());
      symbols.clear_range_error();
      return status.with_context(names_[i]);
    }
  }
  // Sizes from data belong to this run only; the next run binds the steps that depend on them
  // again.
  bound_version_ = symbols.version();
  return {};
}

}  // namespace tendon::runtime
