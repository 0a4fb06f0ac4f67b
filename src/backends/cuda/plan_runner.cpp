#include "backends/cuda/plan_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/compile_step.h"
#include "backends/cuda/control_step.h"
#include "base/status_macros.h"
#include "schedule/arena.h"

namespace tendon::backends::cuda {

namespace {

using schedule::Buffer;
using schedule::NodeKernel;

std::string name_of(const schedule::Plan& plan, const schedule::Step& step) {
  return step.origin >= 0 ? plan.graph->origins[static_cast<std::size_t>(step.origin)] : "copy";
}

const ir::Node* node_of(const schedule::Plan& plan, const schedule::Step& step) {
  const auto* kernel = std::get_if<NodeKernel>(&step.kernel);
  return kernel != nullptr ? &plan.graph->node(kernel->node) : nullptr;
}

const ir::Symbol* defined_by(const schedule::Plan& plan, const schedule::Step& step) {
  const ir::Node* node = node_of(plan, step);
  if (node == nullptr) return nullptr;
  if (const auto* compact = std::get_if<ir::Compact>(&node->primitive)) return compact->count.get();
  if (const auto* item = std::get_if<ir::Item>(&node->primitive)) return item->symbol.get();
  return nullptr;
}

bool is_ours(const Buffer& buffer) {
  return buffer.kind == Buffer::Kind::kArena || buffer.kind == Buffer::Kind::kOutput;
}

}  // namespace

Result<std::int64_t> bound_bytes(const Buffer& buffer, const KnownSizes& sizes) {
  TENDON_ASSIGN_OR_RETURN(std::int64_t bytes, sizes.upper_bound(buffer.shape));
  if (__builtin_mul_overflow(bytes, static_cast<std::int64_t>(dtype_size(buffer.dtype)), &bytes)) {
    return Status(StatusCode::kResourceExhausted,
                  "a value of shape " + ir::to_string(buffer.shape) + " is too large");
  }
  return bytes;
}

PlanRunner::PlanRunner(const CompileContext& context)
    : plan_(*context.plan), memory_(context.memory) {}

Result<std::unique_ptr<PlanRunner>> PlanRunner::create(const CompileContext& context) {
  std::unique_ptr<PlanRunner> runner(new PlanRunner(context));
  const schedule::Plan& plan = runner->plan_;
  std::vector<std::string> failures;
  for (const schedule::Step& step : plan.steps) {
    CompileContext of_step = context;
    of_step.origin = name_of(plan, step);
    auto compiled = is_control_flow(plan, step)
                        ? make_control_step(of_step, std::get<NodeKernel>(step.kernel).node)
                        : compile_step(of_step, step);
    if (!compiled.ok()) {
      if (compiled.status().code() != StatusCode::kUnimplemented)
        return compiled.status().with_context(of_step.origin);
      failures.push_back(of_step.origin + ": " + compiled.status().message());
      continue;
    }
    runner->steps_.push_back(std::move(*compiled));
    runner->names_.push_back(of_step.origin);
  }
  if (!failures.empty()) {
    return Status(StatusCode::kUnimplemented,
                  fmt::format("not possible on CUDA yet:\n  {}", fmt::join(failures, "\n  ")));
  }
  runner->addresses_.resize(plan.buffers.size(), nullptr);
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.kind == Buffer::Kind::kConstant && !context.constants.empty())
      runner->addresses_[i] = context.constants[static_cast<std::size_t>(buffer.index)];
  }
  return runner;
}

/// A mask has no more true elements than elements.
void PlanRunner::limit_count(std::size_t step, KnownSizes& sizes) const {
  const ir::Node* node = node_of(plan_, plan_.steps[step]);
  const auto* compact = node != nullptr ? std::get_if<ir::Compact>(&node->primitive) : nullptr;
  if (compact == nullptr) return;
  const auto elements = sizes.upper_bound(plan_.graph->value(node->inputs[0]).shape);
  if (elements.ok()) sizes.limit(*compact->count, *elements);
}

bool PlanRunner::is_growing(std::size_t buffer) const {
  return std::any_of(growing_.begin(), growing_.end(),
                     [&](const GrowingBuffer& entry) { return entry.buffer == buffer; });
}

Status PlanRunner::grow(Block& block, std::int64_t bytes) {
  if (block.data() != nullptr && block.bytes() >= bytes) return {};
  block = Block();
  TENDON_ASSIGN_OR_RETURN(block, memory_->allocate(bytes, "intermediate values"));
  return {};
}

Status PlanRunner::layout_memory() {
  std::vector<schedule::Lifetime> lifetimes;
  std::vector<std::size_t> buffers;
  growing_.clear();
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    if (!is_ours(buffer)) continue;
    const auto bytes = bound_bytes(buffer, sizes_);
    if (!bytes.ok()) {
      growing_.push_back({i, Block()});
    } else if (buffer.kind == Buffer::Kind::kArena) {
      lifetimes.push_back({*bytes, buffer.first_step, buffer.last_step});
      buffers.push_back(i);
    }
  }
  const schedule::ArenaLayout layout = schedule::plan_arena(lifetimes);
  TENDON_RETURN_IF_ERROR(grow(arena_, layout.bytes));
  for (std::size_t i = 0; i < buffers.size(); ++i)
    addresses_[buffers[i]] = arena_.data() + layout.offsets[i];
  return {};
}

Status PlanRunner::bind_steps() {
  bound_late_.assign(steps_.size(), false);
  std::size_t scratch = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const schedule::Step& step = plan_.steps[i];
    for (const auto* values : {&step.reads, &step.writes}) {
      for (const ir::ValueId value : *values) {
        const auto& storage = plan_.storage[static_cast<std::size_t>(value)];
        if (is_growing(static_cast<std::size_t>(storage.buffer))) bound_late_[i] = true;
      }
    }
    if (bound_late_[i]) continue;
    const Status status = steps_[i]->bind(sizes_);
    if (status.code() == StatusCode::kResourceExhausted) {
      bound_late_[i] = true;
      continue;
    }
    if (!status.ok()) return status.with_context(names_[i]);
    scratch = std::max(scratch, steps_[i]->scratch_bytes());
  }
  return grow(scratch_, static_cast<std::int64_t>(scratch));
}

void PlanRunner::make_segments() {
  segments_.clear();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const bool host = bound_late_[i] || !steps_[i]->host_reason().empty();
    if (host || segments_.empty() || segments_.back().needs_host) {
      segments_.emplace_back();
      segments_.back().first = i;
      segments_.back().needs_host = host;
    }
    segments_.back().last = i + 1;
    if (const ir::Symbol* symbol = defined_by(plan_, plan_.steps[i]))
      segments_.back().defines.push_back(symbol);
  }
}

Status PlanRunner::bind(const KnownSizes& sizes) {
  sizes_ = sizes;
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) limit_count(i, sizes_);
  TENDON_RETURN_IF_ERROR(layout_memory());
  TENDON_RETURN_IF_ERROR(bind_steps());
  make_segments();
  return {};
}

void PlanRunner::place(const PlanMemory& memory) {
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    const auto index = static_cast<std::size_t>(buffer.index);
    if (buffer.kind == Buffer::Kind::kInput) addresses_[i] = memory.inputs[index];
    if (buffer.kind == Buffer::Kind::kState) addresses_[i] = memory.states[index];
    if (buffer.kind == Buffer::Kind::kOutput && !is_growing(i))
      addresses_[i] = memory.outputs[index];
  }
}

std::optional<std::int64_t> PlanRunner::output_bound(int index) const {
  for (const Buffer& buffer : plan_.buffers) {
    if (buffer.kind != Buffer::Kind::kOutput || buffer.index != index) continue;
    const auto bytes = bound_bytes(buffer, sizes_);
    return bytes.ok() ? std::optional(*bytes) : std::nullopt;
  }
  return 0;
}

std::string PlanRunner::host_reason() const {
  for (const Segment& segment : segments_) {
    if (!segment.needs_host) continue;
    if (bound_late_[segment.first])
      return names_[segment.first] + ": sizes of data have no upper bound";
    return names_[segment.first] + ": " + steps_[segment.first]->host_reason();
  }
  return {};
}

Launch PlanRunner::own(const Launch& launch) const {
  Launch result = launch;
  result.buffers = addresses_;
  result.scratch = scratch_.data();
  result.host = nullptr;
  return result;
}

Status PlanRunner::enqueue_stretch(const Segment& segment, const Launch& launch) {
  for (std::size_t i = segment.first; i < segment.last; ++i) {
    if (Status status = steps_[i]->enqueue(launch); !status.ok())
      return status.with_context(names_[i]);
  }
  return {};
}

Status PlanRunner::run_host_step(std::size_t index, const Launch& launch) {
  HostAccess& host = *launch.host;
  Launch own_launch = own(launch);
  own_launch.host = &host;
  if (bound_late_[index]) {
    TENDON_RETURN_IF_ERROR(host.learn_sizes());
    limit_count(index, host.sizes());
    for (GrowingBuffer& entry : growing_) {
      const Buffer& buffer = plan_.buffers[entry.buffer];
      if (buffer.first_step != static_cast<int>(index)) continue;
      TENDON_ASSIGN_OR_RETURN(const std::int64_t bytes, bound_bytes(buffer, host.sizes()));
      TENDON_RETURN_IF_ERROR(grow(entry.memory, bytes));
      addresses_[entry.buffer] = entry.memory.data();
    }
    if (Status status = steps_[index]->bind(host.sizes()); !status.ok())
      return status.with_context(names_[index]);
    TENDON_RETURN_IF_ERROR(
        grow(late_scratch_, static_cast<std::int64_t>(steps_[index]->scratch_bytes())));
    own_launch.scratch = late_scratch_.data();
  }
  return steps_[index]->enqueue(own_launch);
}

Status PlanRunner::enqueue(const Launch& launch) {
  for (Segment& segment : segments_) {
    if (segment.needs_host) {
      if (launch.host == nullptr)
        return Status(StatusCode::kInternal, names_[segment.first] + " ran without a host");
      TENDON_RETURN_IF_ERROR(run_host_step(segment.first, launch));
    } else if (launch.host != nullptr && segment.work.captured()) {
      TENDON_RETURN_IF_ERROR(segment.work.launch(launch.stream));
    } else {
      TENDON_RETURN_IF_ERROR(enqueue_stretch(segment, own(launch)));
    }
    if (launch.host != nullptr) launch.host->define(segment.defines);
  }
  return {};
}

Status PlanRunner::capture(const Launch& launch) {
  Status first;
  for (Segment& segment : segments_) {
    Status status;
    if (!segment.needs_host) {
      status = segment.work.capture(launch.stream,
                                    [&] { return enqueue_stretch(segment, own(launch)); });
    } else if (!bound_late_[segment.first]) {
      status = steps_[segment.first]->capture(own(launch));
    }
    if (first.ok()) first = status;
  }
  return first;
}

int PlanRunner::pieces() const {
  return static_cast<int>(std::count_if(segments_.begin(), segments_.end(),
                                        [](const Segment& s) { return s.work.captured(); }));
}

std::int64_t PlanRunner::memory_bytes() const {
  std::int64_t bytes = arena_.bytes() + scratch_.bytes() + late_scratch_.bytes();
  for (const GrowingBuffer& entry : growing_) bytes += entry.memory.bytes();
  return bytes;
}

}  // namespace tendon::backends::cuda
