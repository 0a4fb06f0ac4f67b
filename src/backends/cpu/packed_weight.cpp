#include "backends/cpu/packed_weight.h"

#include <algorithm>
#include <cstdlib>

#include "base/status_macros.h"

namespace tendon::backends::cpu {

using dnnl::memory;

namespace {

Result<std::shared_ptr<void>> allocate(const memory::desc& layout) {
  std::shared_ptr<void> data(std::aligned_alloc(64, (layout.get_size() + 63) / 64 * 64), std::free);
  if (data == nullptr)
    return Status(StatusCode::kResourceExhausted, "no memory for a packed weight");
  return data;
}

}  // namespace

Result<std::shared_ptr<PackedWeight>> PackedWeight::of(SharedState& shared, int constant,
                                                       std::int64_t offset,
                                                       const memory::desc& view) {
  // The descriptor's bytes are its identity; one constant may be seen through several views.
  std::string key = "weight " + std::to_string(constant) + "+" + std::to_string(offset) + " ";
  key.append(reinterpret_cast<const char*>(&view.data), sizeof(view.data));
  TENDON_ASSIGN_OR_RETURN(
      std::shared_ptr<void> made, shared.packed(key, [&]() -> Result<std::shared_ptr<void>> {
        return std::shared_ptr<void>(
            std::shared_ptr<PackedWeight>(new PackedWeight(constant, offset, view)));
      }));
  return std::static_pointer_cast<PackedWeight>(made);
}

std::optional<memory::desc> PackedWeight::preferred() const {
  const std::lock_guard lock(mutex_);
  return forms_.empty() ? std::nullopt : std::optional(forms_.front().layout);
}

Result<PackedWeight::Placed> PackedWeight::in(const memory::desc& layout, SharedState& shared) {
  const std::lock_guard lock(mutex_);
  for (const Form& form : forms_) {
    if (form.layout == layout) return Placed{form.data, false};
  }
  const Tensor constant = shared.constant(constant_);
  const std::byte* original = nullptr;
  if (constant.view().data != nullptr) {
    original = constant.as<std::byte>() +
               offset_ * static_cast<std::int64_t>(dtype_size(constant.dtype()));
    if (layout == view_) {
      return Placed{std::shared_ptr<const void>(std::make_shared<Tensor>(constant), original),
                    true};
    }
  }
  TENDON_ASSIGN_OR_RETURN(std::shared_ptr<void> data, make(layout, original));
  forms_.push_back({layout, data});
  return Placed{std::move(data), false};
}

Result<std::shared_ptr<void>> PackedWeight::make(const memory::desc& layout,
                                                 const void* original) const {
  if (original != nullptr) {
    TENDON_ASSIGN_OR_RETURN(std::shared_ptr<void> data, allocate(layout));
    TENDON_RETURN_IF_ERROR(reorder(view_, original, layout, data.get()));
    return data;
  }
  if (forms_.empty())
    return Status(StatusCode::kInternal, "a weight was given back before it was packed");
  // By way of the plain view: the library need not know how to go between two packed layouts.
  TENDON_ASSIGN_OR_RETURN(const std::shared_ptr<void> plain, allocate(view_));
  TENDON_RETURN_IF_ERROR(
      reorder(forms_.front().layout, forms_.front().data.get(), view_, plain.get()));
  if (layout == view_) return plain;
  return make(layout, plain.get());
}

int constant_weight(const schedule::Plan& plan, const ir::Node& node) {
  const ir::ValueId value = node.inputs[1];
  const schedule::Storage& storage = plan.storage[static_cast<std::size_t>(value)];
  const schedule::Buffer& buffer = plan.buffers[static_cast<std::size_t>(storage.buffer)];
  const bool known = ir::is_constant(plan.graph->value(value).shape) &&
                     ir::is_constant(storage.strides) && storage.offset.is_constant();
  return buffer.kind == schedule::Buffer::Kind::kConstant && known ? buffer.index : -1;
}

bool reads_weight_once(const ir::Graph& graph, const ir::Node& node) {
  const ir::ValueId weight = node.inputs[1];
  if (std::count(node.inputs.begin(), node.inputs.end(), weight) != 1) return false;
  for (const ir::ExprId root : ir::expressions(node)) {
    if (root == ir::kNoExpr) continue;
    for (const ir::ExprId id : graph.pool.topological(root)) {
      const ir::ExprNode& expression = graph.pool.node(id);
      const bool load = expression.op == ir::Op::kLoad || expression.op == ir::Op::kMaskedLoad;
      if (load && static_cast<ir::ValueId>(expression.payload) == weight) return false;
    }
  }
  return true;
}

}  // namespace tendon::backends::cpu
