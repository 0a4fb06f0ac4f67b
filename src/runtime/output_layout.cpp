#include "runtime/output_layout.h"

#include <string>

namespace tendon::runtime {

namespace {

Status set_extent(const ir::Size& size, const ir::SymbolLookup& lookup, std::int64_t& extent) {
  const auto value = size.evaluate(lookup);
  if (!value) {
    return Status(StatusCode::kInternal, "size " + size.to_string() + " of an output is not known");
  }
  extent = *value;
  return {};
}

Status invalid(std::string message) {
  return Status(StatusCode::kInvalidArgument, std::move(message));
}

}  // namespace

std::vector<OutputLayout> output_layouts(const aten::LoweredProgram& program,
                                         const schedule::Plan& plan) {
  std::vector<OutputLayout> layouts(program.outputs.size());
  for (const ir::GraphOutput& output : plan.graph->outputs) {
    if (output.kind != ir::GraphOutput::Kind::kUser) continue;
    const schedule::Storage& storage = plan.storage[static_cast<std::size_t>(output.value)];
    const aten::UserOutput& user = program.outputs[static_cast<std::size_t>(output.index)];
    OutputLayout& layout = layouts[static_cast<std::size_t>(output.index)];
    layout.buffer = storage.buffer;
    layout.shape = user.shape;
    for (std::size_t axis = 0; axis < user.shape.size(); ++axis) {
      const ir::Size& stride = storage.strides[axis];
      layout.strides.push_back(is_complex(user.dtype) ? ir::floor_div(stride, 2) : stride);
    }
  }
  return layouts;
}

std::vector<TensorView> empty_views(const std::vector<TensorInfo>& outputs) {
  std::vector<TensorView> views;
  for (const TensorInfo& info : outputs) {
    TensorView view;
    view.dtype = info.dtype;
    view.sizes.resize(info.axes.size());
    view.strides.resize(info.axes.size());
    views.push_back(std::move(view));
  }
  return views;
}

Status set_extents(const OutputLayout& layout, const ir::SymbolLookup& lookup, TensorView& view) {
  for (std::size_t axis = 0; axis < layout.shape.size(); ++axis) {
    Status status = set_extent(layout.shape[axis], lookup, view.sizes[axis]);
    if (status.ok()) status = set_extent(layout.strides[axis], lookup, view.strides[axis]);
    if (!status.ok()) return status;
  }
  return {};
}

Status check_output_memory(const std::vector<TensorInfo>& outputs, std::size_t index,
                           const void* data, std::size_t bytes) {
  if (index >= outputs.size()) {
    return invalid("there is no output " + std::to_string(index) + "; the program has " +
                   std::to_string(outputs.size()));
  }
  if (data == nullptr) return {};
  const TensorInfo& info = outputs[index];
  const std::string name = "output " + std::to_string(index) + " (" + info.to_string() + ")";
  const auto bound = info.upper_bound_bytes();
  if (!bound) return invalid(name + " has no finite upper bound and cannot be bound");
  if (bytes < static_cast<std::size_t>(*bound)) {
    return invalid("the buffer for " + name + " has " + std::to_string(bytes) +
                   " bytes, expected at least " + std::to_string(*bound));
  }
  return {};
}

}  // namespace tendon::runtime
