#include "backends/cpu/node_body.h"

#include <fmt/format.h>

#include <numeric>

#include "backends/cpu/register_allocation.h"
#include "base/status_macros.h"

namespace tendon::backends::cpu {

Result<Location> buffer_location(const schedule::Plan& plan, ir::ValueId value) {
  const schedule::Storage& storage = plan.storage[static_cast<std::size_t>(value)];
  if (storage.buffer == schedule::kNoBuffer) {
    return Status(StatusCode::kInternal, fmt::format("value %{} has no buffer", value));
  }
  Location location;
  location.buffer = storage.buffer;
  location.offset = storage.offset;
  location.strides = storage.strides;
  location.dtype = plan.graph->value(value).dtype;
  return location;
}

Result<BoundLocation> BoundLocation::make(const schedule::Plan& plan, ir::ValueId value) {
  TENDON_ASSIGN_OR_RETURN(const Location location, buffer_location(plan, value));
  BoundLocation bound;
  bound.buffer = location.buffer;
  bound.dtype = location.dtype;
  bound.shape.resize(location.strides.size());
  bound.strides.resize(location.strides.size());
  return bound;
}

Status BoundLocation::bind(const schedule::Plan& plan, ir::ValueId value,
                           const Bindings& bindings) {
  const schedule::Storage& storage = plan.storage[static_cast<std::size_t>(value)];
  TENDON_ASSIGN_OR_RETURN(offset, bindings.evaluate(storage.offset));
  for (std::size_t k = 0; k < strides.size(); ++k) {
    TENDON_ASSIGN_OR_RETURN(strides[k], bindings.evaluate(storage.strides[k]));
    TENDON_ASSIGN_OR_RETURN(shape[k], bindings.evaluate(plan.graph->value(value).shape[k]));
  }
  return Status();
}

Result<std::unique_ptr<NodeBody>> NodeBody::make(const schedule::Plan& plan, const ir::Shape& space,
                                                 std::span<const ir::ExprId> roots,
                                                 std::span<const ir::ValueId> stores,
                                                 const ProgramOptions& options) {
  auto body = std::unique_ptr<NodeBody>(new NodeBody());
  TENDON_ASSIGN_OR_RETURN(body->program_, compile_program(plan.graph->pool, roots,
                                                          static_cast<int>(space.size()), options));
  TENDON_RETURN_IF_ERROR(body->finish(plan, space, stores));
  return body;
}

Result<std::unique_ptr<NodeBody>> NodeBody::make_copy(const schedule::Plan& plan, ir::ValueId from,
                                                      std::span<const ir::ValueId> stores) {
  auto body = std::unique_ptr<NodeBody>(new NodeBody());
  const ir::Value& value = plan.graph->value(from);
  VectorProgram& program = body->program_;
  program.axes = static_cast<int>(value.shape.size());
  program.index_axes.assign(value.shape.size(), false);
  Access access;
  access.value = from;
  access.dtype = value.dtype;
  access.constants.assign(value.shape.size(), ir::Size(0));
  for (int axis = 0; axis < program.axes; ++axis) access.terms.push_back({axis, axis, 1});
  program.accesses.push_back(std::move(access));
  Instruction instruction;
  instruction.kind = Instruction::Kind::kLoad;
  instruction.type = tile_type(value.dtype);
  instruction.result = 0;
  instruction.name = "load";
  instruction.memory_dtype = value.dtype;
  program.instructions.push_back(instruction);
  program.register_size.push_back(static_cast<std::uint8_t>(tile_type_size(instruction.type)));
  program.register_is_uniform.push_back(false);
  program.roots.push_back(0);
  program.root_types.push_back(instruction.type);
  program.root_dtypes.push_back(value.dtype);
  allocate_registers(program);
  TENDON_RETURN_IF_ERROR(body->finish(plan, value.shape, stores));
  return body;
}

Status NodeBody::finish(const schedule::Plan& plan, const ir::Shape& space,
                        std::span<const ir::ValueId> stores) {
  if (space.size() > static_cast<std::size_t>(kMaxAxes)) {
    return Status(
        StatusCode::kUnimplemented,
        fmt::format("a node over {} axes; at most {} are supported", space.size(), kMaxAxes));
  }
  space_ = space;
  std::vector<Location> loads;
  for (const Access& access : program_.accesses) {
    TENDON_ASSIGN_OR_RETURN(Location location, buffer_location(plan, access.value));
    loads.push_back(std::move(location));
  }
  std::vector<Location> store_locations;
  for (ir::ValueId value : stores) {
    TENDON_ASSIGN_OR_RETURN(Location location, buffer_location(plan, value));
    store_locations.push_back(std::move(location));
  }
  evaluator_ =
      std::make_unique<TileEvaluator>(program_, plan, std::move(loads), std::move(store_locations));
  extents_.resize(space.size());
  origin_.assign(space.size(), 0);
  order_.resize(space.size());
  std::iota(order_.begin(), order_.end(), 0);
  return Status();
}

Status NodeBody::bind(const Bindings& bindings) {
  for (std::size_t k = 0; k < extents_.size(); ++k) {
    TENDON_ASSIGN_OR_RETURN(extents_[k], bindings.evaluate(space_[k]));
  }
  TENDON_RETURN_IF_ERROR(evaluator_->bind_values(bindings));
  evaluator_->bind_space(origin_, extents_, order_);
  return Status();
}

void NodeBody::evaluate_and_store(TileWorkspace& workspace, std::size_t k, std::size_t s,
                                  std::int64_t begin, std::int64_t end) const {
  while (begin < end) {
    const std::int64_t count = evaluator_->tile_count(begin, end);
    evaluator_->evaluate(workspace, begin, count);
    evaluator_->store(workspace, s, evaluator_->root(workspace, k), program_.root_dtypes[k], begin,
                      count);
    begin += count;
  }
}

}  // namespace tendon::backends::cpu
