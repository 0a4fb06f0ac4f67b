#include "archive/import_graph.h"

#include <limits>

namespace tendon::archive {

namespace {

constexpr int kMaxGraphDepth = 32;
constexpr std::int64_t kStrided = 7;
constexpr std::string_view kTorchOps = "torch.ops.";

std::string target_of(const Json& value) {
  std::string target = text_of(value);
  if (target.substr(0, kTorchOps.size()) == kTorchOps) target.erase(0, kTorchOps.size());
  return target;
}

std::string name_of(const Json& value) { return text_of(member(value, "name")); }

SymbolArgument symbol_name(const Json& value, SymbolArgument::Kind kind) {
  return SymbolArgument{kind, text_of(member(value, "as_name"))};
}

double number_of(const Json& value) {
  if (value.IsString()) {
    const std::string text = text_of(value);
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    throw FormatError("expected a number, got '" + text + "'");
  }
  if (!value.IsNumber()) throw FormatError("expected a number");
  return value.GetDouble();
}

std::int64_t integer_of(const Json& value) {
  if (!value.IsInt64()) throw FormatError("expected an integer");
  return value.GetInt64();
}

/// A list whose elements are numbers or symbols: {as_int} or {as_name}.
template <typename List, typename Number>
List symbolic_list(const Json& value, SymbolArgument::Kind kind, const char* tag, Number number) {
  List list;
  for (const Json& element : value.GetArray()) {
    if (const Json* plain = optional_member(element, tag)) {
      list.values.emplace_back(number(*plain));
    } else {
      list.values.emplace_back(symbol_name(element, kind));
    }
  }
  return list;
}

template <typename List, typename Number>
List plain_list(const Json& value, Number number) {
  List list;
  for (const Json& element : value.GetArray()) list.values.emplace_back(number(element));
  return list;
}

TensorsArgument tensors(const Json& value) {
  TensorsArgument result;
  for (const Json& element : value.GetArray()) {
    if (const Json* tensor = optional_member(element, "as_tensor")) {
      result.names.emplace_back(name_of(*tensor));
    } else if (element.HasMember("as_none")) {
      result.names.emplace_back(std::nullopt);
    } else {
      result.names.emplace_back(name_of(element));
    }
  }
  return result;
}

bool boolean_of(const Json& value) {
  if (!value.IsBool()) throw FormatError("expected true or false");
  return value.GetBool();
}

MemoryFormat memory_format_of(const Json& value) {
  const std::int64_t code = integer_of(value);
  if (code < 1 || code > 4)
    throw FormatError("memory format number " + std::to_string(code) + " is not known");
  return static_cast<MemoryFormat>(code);
}

/// The one tag of a union that is not null.
std::pair<std::string, const Json*> tag_of(const Json& value) {
  if (!value.IsObject()) throw FormatError("expected a tagged value");
  for (const auto& field : value.GetObject()) {
    if (!field.value.IsNull()) return {text_of(field.name), &field.value};
  }
  throw FormatError("a tagged value without a tag");
}

Argument symbolic_or_number(const Json& value, SymbolArgument::Kind kind) {
  if (optional_member(value, "as_name") != nullptr) return symbol_name(value, kind);
  if (const Json* integer = optional_member(value, "as_int")) return integer_of(*integer);
  if (const Json* boolean = optional_member(value, "as_bool")) return boolean_of(*boolean);
  if (const Json* real = optional_member(value, "as_float")) return number_of(*real);
  throw FormatError("a symbolic number that is neither a name nor a number");
}

}  // namespace

ir::Size SymbolRegistry::symbol(const std::string& name, std::optional<std::int64_t> hint) {
  auto it = symbols_.find(name);
  if (it == symbols_.end()) {
    auto symbol = std::make_shared<ir::Symbol>();
    symbol->name = name;
    symbol->from_data = !name.empty() && (name[0] == 'u' || name.substr(0, 2) == "zu");
    if (symbol->from_data) symbol->lower = -ir::kUnbounded;
    if (const auto range = ranges.find(name); range != ranges.end()) {
      symbol->lower = range->second.lower.value_or(symbol->lower);
      symbol->upper = range->second.upper.value_or(ir::kUnbounded);
    }
    it = symbols_.emplace(name, std::move(symbol)).first;
  }
  if (!it->second->hint) it->second->hint = hint;
  return ir::Size::symbol(it->second);
}

ir::Size SymbolRegistry::expression(const std::string& text) {
  const auto known = parsed_.find(text);
  if (known != parsed_.end()) return known->second;
  SymbolicNames names;
  names.symbol = [this](const std::string& name) -> Result<ir::Size> { return symbol(name); };
  auto size = parse_symbolic(text, names);
  if (!size.ok() && size.status().code() == StatusCode::kUnimplemented) {
    // Export knows an integer here that sizes cannot express. Only the program's own steps give it.
    auto unknown = std::make_shared<ir::Symbol>();
    unknown->name = "<" + text + ">";
    unknown->lower = -ir::kUnbounded;
    unknown->from_data = true;
    size = ir::Size::symbol(std::move(unknown));
  }
  if (!size.ok()) throw FormatError(size.status());
  parsed_.emplace(text, *size);
  return *size;
}

ir::Size SymbolRegistry::size(const Json& value) {
  if (const Json* integer = optional_member(value, "as_int")) return integer_of(*integer);
  if (const Json* boolean = optional_member(value, "as_bool")) return boolean_of(*boolean) ? 1 : 0;
  const Json& expr = member(value, "as_expr");
  const std::string text = text_of(member(expr, "expr_str"));
  if (const Json* hint = optional_member(expr, "hint")) {
    // A hint on a lone symbol is that symbol's value at export.
    if (const Json* integer = optional_member(*hint, "as_int");
        integer != nullptr && text.substr(0, 7) == "Symbol(") {
      const std::size_t begin = text.find('\''), end = text.find('\'', begin + 1);
      if (end != std::string::npos && text.find("Symbol(", 7) == std::string::npos) {
        symbol(text.substr(begin + 1, end - begin - 1), integer_of(*integer));
      }
    }
  }
  return expression(text);
}

DType import_dtype(const Json& value) {
  const std::int64_t code = integer_of(value);
  switch (code) {
    case 1:
      return DType::kUInt8;
    case 2:
      return DType::kInt8;
    case 3:
      return DType::kInt16;
    case 4:
      return DType::kInt32;
    case 5:
      return DType::kInt64;
    case 6:
      return DType::kFloat16;
    case 7:
      return DType::kFloat32;
    case 8:
      return DType::kFloat64;
    case 9:
      return DType::kComplex32;
    case 10:
      return DType::kComplex64;
    case 11:
      return DType::kComplex128;
    case 12:
      return DType::kBool;
    case 13:
      return DType::kBFloat16;
    case 28:
      return DType::kUInt16;
    default:
      throw FormatError("dtype number " + std::to_string(code) + " is not supported",
                        StatusCode::kUnimplemented);
  }
}

namespace {

DeviceArgument device_of(const Json& value) {
  DeviceArgument device{text_of(member(value, "type")), std::nullopt};
  if (const Json* index = optional_member(value, "index"))
    device.index = static_cast<int>(integer_of(*index));
  return device;
}

/// Sizes, strides and offsets are never negative.
ir::Size extent(const Json& value, const char* what, SymbolRegistry& symbols) {
  ir::Size size = symbols.size(value);
  if (size.is_constant() && size.constant() < 0)
    throw FormatError(std::string(what) + " of " + std::to_string(size.constant()));
  return size;
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
  if (const Json* device = optional_member(value, "device")) meta.device = device_of(*device);
  return meta;
}

Argument import_argument(const Json& value, SymbolRegistry& symbols) {
  const auto [tag, content] = tag_of(value);
  const Json& v = *content;
  using Kind = SymbolArgument::Kind;
  if (tag == "as_tensor") return TensorArgument{name_of(v)};
  if (tag == "as_int") return integer_of(v);
  if (tag == "as_float") return number_of(v);
  if (tag == "as_bool") return boolean_of(v);
  if (tag == "as_none") return NoneArgument{};
  if (tag == "as_ints") return plain_list<IntsArgument>(v, integer_of);
  if (tag == "as_tensors" || tag == "as_optional_tensors") return tensors(v);
  if (tag == "as_sym_ints") return symbolic_list<IntsArgument>(v, Kind::kInt, "as_int", integer_of);
  if (tag == "as_sym_int") return symbolic_or_number(v, Kind::kInt);
  if (tag == "as_sym_bool") return symbolic_or_number(v, Kind::kBool);
  if (tag == "as_sym_float") return symbolic_or_number(v, Kind::kFloat);
  if (tag == "as_floats") return plain_list<FloatsArgument>(v, number_of);
  if (tag == "as_sym_floats")
    return symbolic_list<FloatsArgument>(v, Kind::kFloat, "as_float", number_of);
  if (tag == "as_bools") return plain_list<BoolsArgument>(v, boolean_of);
  if (tag == "as_sym_bools")
    return symbolic_list<BoolsArgument>(v, Kind::kBool, "as_bool", boolean_of);
  if (tag == "as_string") return text_of(v);
  if (tag == "as_strings") return plain_list<StringsArgument>(v, text_of);
  if (tag == "as_scalar_type") return import_dtype(v);
  if (tag == "as_memory_format") return memory_format_of(v);
  if (tag == "as_layout") return LayoutArgument{static_cast<int>(integer_of(v))};
  if (tag == "as_device") return device_of(v);
  if (tag == "as_complex") {
    return std::complex<double>(number_of(member(v, "real")), number_of(member(v, "imag")));
  }
  if (tag == "as_optional_tensor") {
    const auto [inner, tensor] = tag_of(v);
    if (inner == "as_none") return NoneArgument{};
    return TensorArgument{name_of(*tensor)};
  }
  if (tag == "as_graph")
    return GraphArgument{name_of(v), import_graph(member(v, "graph"), symbols)};
  if (tag == "as_custom_obj") {
    const Json* class_name = optional_member(v, "class_fqn");
    return CustomObjectArgument{name_of(v), class_name != nullptr ? text_of(*class_name) : ""};
  }
  if (tag == "as_operator") return OperatorArgument{target_of(v)};
  throw FormatError("an argument of the kind '" + tag + "', which is not read",
                    StatusCode::kUnimplemented);
}

namespace {

void import_node(const Json& value, SymbolRegistry& symbols, Node& node) {
  node.target = target_of(member(value, "target"));
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
