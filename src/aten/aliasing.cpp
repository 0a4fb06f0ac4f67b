#include "aten/aliasing.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace tendon::aten {
namespace {

constexpr std::array<std::string_view, 4> kReshaping = {
    "aten.reshape.default", "aten.reshape_as.default", "aten.flatten.using_ints",
    "aten.ravel.default"};

/// The value that sizes had at export, or some value: enough to compare layouts.
std::vector<std::int64_t> typical(const ir::Shape& shape) {
  std::vector<std::int64_t> values;
  for (const ir::Size& size : shape) {
    const auto value = size.evaluate([](const ir::Symbol& symbol) -> std::optional<std::int64_t> {
      if (symbol.hint) return *symbol.hint;
      return std::clamp<std::int64_t>(7, symbol.lower, symbol.upper);
    });
    values.push_back(value.value_or(7));
  }
  return values;
}

bool same_strides(const archive::TensorMeta& a, const archive::TensorMeta& b) {
  const auto sizes = typical(a.sizes), first = typical(a.strides), second = typical(b.strides);
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] > 1 && first[k] != second[k]) return false;
  }
  return true;
}

}  // namespace

bool may_copy(std::string_view target) {
  return std::find(kReshaping.begin(), kReshaping.end(), target) != kReshaping.end();
}

bool can_view(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
              std::span<const std::int64_t> shape) {
  std::size_t next = shape.size();  // axes of the new shape not yet placed
  std::int64_t run = 1;             // elements of the axes that are laid out as one
  std::int64_t placed = 1;          // elements of the new axes placed on them
  std::int64_t stride = sizes.empty() ? 1 : strides.back();
  for (std::size_t k = sizes.size(); k-- > 0;) {
    run *= sizes[k];
    const bool ends = k == 0 || (sizes[k - 1] != 1 && strides[k - 1] != run * stride);
    if (!ends) continue;
    while (next > 0 && (placed < run || shape[next - 1] == 1)) placed *= shape[--next];
    if (placed != run) return false;
    if (k > 0) stride = strides[k - 1];
    run = placed = 1;
  }
  return std::all_of(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(next),
                     [](std::int64_t size) { return size == 1; });
}

bool output_is_copy(const archive::Graph& graph, const archive::Node& node,
                    const std::string& base) {
  const auto* output =
      node.outputs.empty() ? nullptr : std::get_if<archive::TensorArgument>(&node.outputs[0]);
  if (output == nullptr) return false;
  const auto from = graph.tensors.find(base), to = graph.tensors.find(output->name);
  if (from == graph.tensors.end() || to == graph.tensors.end()) return false;
  const archive::TensorMeta &source = from->second, &result = to->second;
  if (source.strides.size() != source.sizes.size() ||
      result.strides.size() != result.sizes.size()) {
    return false;
  }
  const auto sizes = typical(source.sizes);
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return false;
  if (may_copy(node.target)) {
    return !can_view(sizes, typical(source.strides), typical(result.sizes));
  }
  // contiguous, to, ...: the same tensor, or one that is laid out in another way.
  return source.sizes.size() == result.sizes.size() && !same_strides(source, result);
}

}  // namespace tendon::aten
