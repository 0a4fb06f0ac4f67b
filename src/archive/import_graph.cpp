#include "archive/import_graph.h"

namespace tendon::archive {

namespace {

constexpr int kMaxGraphDepth = 32;
constexpr std::int64_t kStrided = 7;

/// Sizes, strides and offsets are never negative.
ir::Size extent(const Json& value, const char* what, SymbolRegistry& symbols) {
  ir::Size size = symbols.size(value);
  if (size.is_constant() && size.constant() < 0)
    throw FormatError(std::string(what) + " of " + std::to_string(size.constant()));
  return size;
}

void import_node(const Json& value, SymbolRegistry& symbols, Node& node) {
  node.target = import_target(member(value, "target"));
  if (const Json* name = optional_member(value, "name")) node.name = text_of(*name);
  const auto& inputs = member(value, "inputs").GetArray();
  node.inputs.reserve(inputs.Size());
  for (const Json& input : inputs) {
    std::string name = text_of(member(input, "name"));
    in_context([&] { return "argument '" + name + "'"; },
               [&] {
                 node.inputs.push_back({name, import_argument(member(input, "arg"), symbols)});
               });
  }
  for (const Json& output : member(value, "outputs").GetArray())
    node.outputs.push_back(import_argument(output, symbols));
  if (!node.name.empty() || node.outputs.empty()) return;
  if (const auto* tensor = std::get_if<TensorArgument>(&node.outputs[0])) node.name = tensor->name;
  if (const auto* symbol = std::get_if<SymbolArgument>(&node.outputs[0])) node.name = symbol->name;
}

}  // namespace

TensorMeta import_tensor_meta(const Json& value, SymbolRegistry& symbols) {
  TensorMeta meta;
  meta.dtype = import_dtype(member(value, "dtype"));
  if (const Json* layout = optional_member(value, "layout");
      layout != nullptr && integer_of(*layout) != kStrided) {
    throw FormatError("layout number " + std::to_string(integer_of(*layout)) +
                          " (sparse or mkldnn) is not supported",
                      StatusCode::kUnimplemented);
  }
  for (const Json& size : member(value, "sizes").GetArray())
    meta.sizes.push_back(extent(size, "a size", symbols));
  for (const Json& stride : member(value, "strides").GetArray())
    meta.strides.push_back(extent(stride, "a stride", symbols));
  if (meta.sizes.size() != meta.strides.size()) {
    throw FormatError(std::to_string(meta.sizes.size()) + " sizes and " +
                      std::to_string(meta.strides.size()) + " strides");
  }
  if (const Json* offset = optional_member(value, "storage_offset"))
    meta.storage_offset = extent(*offset, "a storage offset", symbols);
  if (const Json* device = optional_member(value, "device")) meta.device = import_device(*device);
  return meta;
}

std::shared_ptr<Graph> import_graph(const Json& value, SymbolRegistry& symbols) {
  struct Nested {
    explicit Nested(int& depth) : depth_(++depth) {}
    ~Nested() { --depth_; }
    int& depth_;
  } const nested(symbols.depth);
  if (symbols.depth > kMaxGraphDepth) throw FormatError("sub-graphs are nested too deep");
  auto graph = std::make_shared<Graph>();
  for (const auto& entry : member(value, "tensor_values").GetObject()) {
    const std::string name = text_of(entry.name);
    in_context([&] { return "tensor '" + name + "'"; },
               [&] { graph->tensors.emplace(name, import_tensor_meta(entry.value, symbols)); });
  }
  const auto scalars = [&](const char* name, std::unordered_map<std::string, ir::Size>& table) {
    const Json* values = optional_member(value, name);
    if (values == nullptr) return;
    for (const auto& entry : values->GetObject())
      table.emplace(text_of(entry.name), symbols.size(entry.value));
  };
  scalars("sym_int_values", graph->sym_ints);
  scalars("sym_bool_values", graph->sym_bools);
  if (const Json* values = optional_member(value, "sym_float_values")) {
    for (const auto& entry : values->GetObject()) {
      const Json* known = optional_member(entry.value, "as_float");
      graph->sym_floats.emplace(text_of(entry.name),
                                known != nullptr ? std::optional(number_of(*known)) : std::nullopt);
    }
  }
  for (const Json& input : member(value, "inputs").GetArray())
    graph->inputs.push_back(import_argument(input, symbols));
  for (const Json& output : member(value, "outputs").GetArray())
    graph->outputs.push_back(import_argument(output, symbols));
  const auto& nodes = member(value, "nodes").GetArray();
  graph->nodes.reserve(nodes.Size());
  for (const Json& entry : nodes) {
    Node& node = graph->nodes.emplace_back();
    const auto where = [&] {
      return "node " + std::to_string(graph->nodes.size() - 1) + " (" + node.target + ")";
    };
    in_context(where, [&] { import_node(entry, symbols, node); });
  }
  if (const Json* single = optional_member(value, "is_single_tensor_return"))
    graph->single_tensor_return = boolean_of(*single);
  return graph;
}

}  // namespace tendon::archive
