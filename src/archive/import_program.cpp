#include "archive/import_program.h"

#include "archive/import_graph.h"

namespace tendon::archive {

namespace {

constexpr unsigned kParseFlags = rapidjson::kParseNanAndInfFlag | rapidjson::kParseIterativeFlag |
                                 rapidjson::kParseFullPrecisionFlag;

void parse_document(rapidjson::Document& document, std::span<const std::byte> json) {
  document.Parse<kParseFlags>(reinterpret_cast<const char*>(json.data()), json.size());
  if (document.HasParseError()) {
    throw FormatError("not JSON: error " + std::to_string(document.GetParseError()) + " at byte " +
                      std::to_string(document.GetErrorOffset()));
  }
  if (!document.IsObject()) throw FormatError("the JSON is not an object");
}

std::optional<std::int64_t> bound(const Json& range, const char* name) {
  const Json* value = optional_member(range, name);
  if (value == nullptr || !value->IsInt64()) return std::nullopt;
  return value->GetInt64();
}

bool is_symbol_name(const std::string& text) {
  for (char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0;
}

void import_ranges(const Json& root, SymbolRegistry& symbols) {
  const Json* constraints = optional_member(root, "range_constraints");
  if (constraints == nullptr) return;
  for (const auto& entry : constraints->GetObject()) {
    const std::string text = text_of(entry.name);
    if (is_symbol_name(text))
      symbols.ranges[text] = {bound(entry.value, "min_val"), bound(entry.value, "max_val")};
  }
}

void import_expression_ranges(const Json& root, SymbolRegistry& symbols, Program& program) {
  const Json* constraints = optional_member(root, "range_constraints");
  if (constraints == nullptr) return;
  for (const auto& entry : constraints->GetObject()) {
    const std::string text = text_of(entry.name);
    if (is_symbol_name(text)) continue;
    const ir::Bounds bounds{bound(entry.value, "min_val").value_or(-ir::kUnbounded),
                            bound(entry.value, "max_val").value_or(ir::kUnbounded)};
    program.range_constraints.emplace_back(symbols.expression(text), bounds);
  }
}

std::string argument_name(const Json& spec) { return text_of(member(member(spec, "arg"), "name")); }

InputSpec import_input_spec(const Json& value, SymbolRegistry& symbols) {
  InputSpec spec;
  using Kind = InputSpec::Kind;
  const auto named = [&](const char* tag, Kind kind, const char* target) {
    const Json* content = optional_member(value, tag);
    if (content == nullptr) return false;
    spec.kind = kind;
    spec.name = argument_name(*content);
    spec.target = text_of(member(*content, target));
    if (const Json* persistent = optional_member(*content, "persistent"))
      spec.persistent = persistent->GetBool();
    return true;
  };
  if (named("parameter", Kind::kParameter, "parameter_name") ||
      named("buffer", Kind::kBuffer, "buffer_name") ||
      named("tensor_constant", Kind::kTensorConstant, "tensor_constant_name") ||
      named("custom_obj", Kind::kCustomObject, "custom_obj_name")) {
    return spec;
  }
  if (const Json* content = optional_member(value, "user_input")) {
    spec.argument = import_argument(member(*content, "arg"), symbols);
    if (const auto* tensor = std::get_if<TensorArgument>(&spec.argument)) spec.name = tensor->name;
    if (const auto* symbol = std::get_if<SymbolArgument>(&spec.argument)) spec.name = symbol->name;
    const bool graph_input = !spec.name.empty();
    spec.kind = graph_input ? Kind::kUserInput : Kind::kConstantInput;
    return spec;
  }
  if (const Json* content = optional_member(value, "constant_input")) {
    spec.kind = Kind::kConstantInput;
    spec.name = text_of(member(*content, "name"));
    if (const Json* constant = optional_member(*content, "value"))
      spec.argument = import_argument(*constant, symbols);
    return spec;
  }
  if (value.HasMember("token")) {
    spec.kind = Kind::kToken;
    return spec;
  }
  throw FormatError("an input of an unknown kind");
}

OutputSpec import_output_spec(const Json& value, SymbolRegistry& symbols) {
  OutputSpec spec;
  using Kind = OutputSpec::Kind;
  const auto mutation = [&](const char* tag, Kind kind, const char* target) {
    const Json* content = optional_member(value, tag);
    if (content == nullptr) return false;
    spec.kind = kind;
    spec.argument = TensorArgument{argument_name(*content)};
    if (target != nullptr) spec.target = text_of(member(*content, target));
    return true;
  };
  if (mutation("buffer_mutation", Kind::kBufferMutation, "buffer_name") ||
      mutation("parameter_mutation", Kind::kParameterMutation, "parameter_name") ||
      mutation("user_input_mutation", Kind::kUserInputMutation, "user_input_name") ||
      mutation("loss_output", Kind::kLossOutput, nullptr)) {
    return spec;
  }
  if (const Json* content = optional_member(value, "user_output")) {
    spec.argument = import_argument(member(*content, "arg"), symbols);
    return spec;
  }
  if (value.HasMember("token")) {
    spec.kind = Kind::kToken;
    return spec;
  }
  throw FormatError("an output of an unknown kind");
}

/// The paths of the user inputs' leaves, as guards write them: "L['a'][0]".
void collect_paths(const Json& tree, const std::string& path, std::vector<std::string>& paths) {
  const Json& type = member(tree, "type");
  const auto& children = member(tree, "children_spec").GetArray();
  if (type.IsNull()) {
    paths.push_back(path);
    return;
  }
  const std::string kind = text_of(type);
  std::vector<std::string> keys;
  if (kind.find("dict") != std::string::npos || kind.find("Dict") != std::string::npos) {
    rapidjson::Document context;
    const Json& text = member(tree, "context");
    if (text.IsString()) context.Parse(text.GetString(), text.GetStringLength());
    if (!context.HasParseError() && context.IsArray()) {
      for (const Json& key : context.GetArray()) {
        keys.push_back(key.IsString()  ? "'" + text_of(key) + "'"
                       : key.IsInt64() ? std::to_string(key.GetInt64())
                                       : "?");
      }
    }
  }
  for (rapidjson::SizeType i = 0; i < children.Size(); ++i) {
    const std::string key = i < keys.size() ? keys[i] : std::to_string(i);
    collect_paths(children[i], path + "[" + key + "]", paths);
  }
}

/// Leaf paths in flattened order: arguments by their names in forward(), then keyword arguments.
std::vector<std::string> leaf_paths(const Json& signature, const std::string& in_spec) {
  std::vector<std::string> paths;
  rapidjson::Document spec;
  spec.Parse<kParseFlags>(in_spec.data(), in_spec.size());
  if (spec.HasParseError() || !spec.IsArray() || spec.Size() != 2) return paths;
  const auto& arguments = member(spec[1], "children_spec").GetArray();
  std::vector<std::string> names;
  if (const Json* list = optional_member(signature, "forward_arg_names")) {
    for (const Json& name : list->GetArray()) names.push_back(text_of(name));
  }
  if (arguments.Size() != 2) return paths;
  const auto& positional = member(arguments[0], "children_spec").GetArray();
  for (rapidjson::SizeType i = 0; i < positional.Size(); ++i) {
    const std::string name = i < names.size() ? names[i] : "?";
    collect_paths(positional[i], "L['" + name + "']", paths);
  }
  // Keyword arguments are locals of their own.
  std::vector<std::string> keyword;
  collect_paths(arguments[1], "L", keyword);
  paths.insert(paths.end(), keyword.begin(), keyword.end());
  return paths;
}

void import_guards(const Json& root, const std::vector<std::string>& paths, SymbolRegistry& symbols,
                   Program& program) {
  const Json* guards = optional_member(root, "guards_code");
  if (guards == nullptr) return;
  SymbolicNames names;
  names.symbol = [](const std::string& name) -> Result<ir::Size> {
    return Status(StatusCode::kUnimplemented, "guard on '" + name + "'");
  };
  // *args arrive as L['args'][i]; forward_arg_names then holds the name of the starred parameter
  // alone.
  names.input_size = [&](const std::string& text) -> Result<ir::Size> {
    const std::size_t call = text.find(".size()[");
    const std::string path = text.substr(0, call);
    const std::size_t axis = static_cast<std::size_t>(std::atoi(text.c_str() + call + 8));
    std::size_t leaf = 0;
    for (const InputSpec& spec : program.inputs) {
      if (spec.kind != InputSpec::Kind::kUserInput && spec.kind != InputSpec::Kind::kConstantInput)
        continue;
      const std::size_t index = leaf++;
      if (index >= paths.size()) break;
      const bool match = paths[index] == path || path == "L['args'][" + std::to_string(index) + "]";
      if (!match) continue;
      const auto meta = program.graph.tensors.find(spec.name);
      if (meta != program.graph.tensors.end() && axis < meta->second.sizes.size())
        return meta->second.sizes[axis];
    }
    // A starred parameter: L['a'][i] is the i-th leaf.
    const std::size_t open = path.rfind('[');
    const std::size_t index = static_cast<std::size_t>(std::atoi(path.c_str() + open + 1));
    leaf = 0;
    for (const InputSpec& spec : program.inputs) {
      if (spec.kind != InputSpec::Kind::kUserInput && spec.kind != InputSpec::Kind::kConstantInput)
        continue;
      if (leaf++ != index) continue;
      const auto meta = program.graph.tensors.find(spec.name);
      if (meta != program.graph.tensors.end() && axis < meta->second.sizes.size())
        return meta->second.sizes[axis];
    }
    return Status(StatusCode::kDataLoss, "no input at " + path);
  };
  for (const Json& guard : guards->GetArray()) {
    const std::string text = text_of(guard);
    auto condition = parse_symbolic(text, names);
    if (condition.ok()) {
      program.guards.emplace_back(*condition, text);
    } else {
      program.warnings.push_back("a guard is not checked: " + text);
    }
  }
  (void)symbols;
}

Program import_root(const Json& root) {
  Program program;
  if (const Json* version = optional_member(root, "schema_version")) {
    program.schema_major = member(*version, "major").GetInt();
    program.schema_minor = member(*version, "minor").GetInt();
  }
  if (program.schema_major != 8) {
    throw FormatError("the program has schema version " + std::to_string(program.schema_major) +
                      "." + std::to_string(program.schema_minor) + "; this build reads version 8");
  }
  if (const Json* torch = optional_member(root, "torch_version"))
    program.torch_version = text_of(*torch);
  SymbolRegistry symbols;
  import_ranges(root, symbols);
  const Json& module = member(root, "graph_module");
  program.graph = std::move(*import_graph(member(module, "graph"), symbols));
  const Json& signature = member(module, "signature");
  for (const Json& spec : member(signature, "input_specs").GetArray())
    program.inputs.push_back(import_input_spec(spec, symbols));
  for (const Json& spec : member(signature, "output_specs").GetArray())
    program.outputs.push_back(import_output_spec(spec, symbols));
  import_expression_ranges(root, symbols, program);
  std::vector<std::string> paths;
  if (const Json* calls = optional_member(module, "module_call_graph");
      calls != nullptr && calls->IsArray() && !calls->Empty()) {
    if (const Json* call = optional_member((*calls)[0], "signature")) {
      program.input_tree = text_of(member(*call, "in_spec"));
      program.output_tree = text_of(member(*call, "out_spec"));
      paths = leaf_paths(*call, program.input_tree);
    }
  }
  import_guards(root, paths, symbols, program);
  program.symbols = symbols.symbols();
  return program;
}

}  // namespace

Result<Program> import_program(std::span<const std::byte> json) try {
  rapidjson::Document document;
  parse_document(document, json);
  return import_root(document);
} catch (const FormatError& error) {
  return Status(StatusCode::kDataLoss, std::string("the program's JSON: ") + error.what());
}

Result<std::vector<PayloadEntry>> import_payload_config(std::span<const std::byte> json) try {
  rapidjson::Document document;
  parse_document(document, json);
  std::vector<PayloadEntry> entries;
  SymbolRegistry symbols;
  for (const auto& item : member(document, "config").GetObject()) {
    PayloadEntry entry;
    entry.name = text_of(item.name);
    entry.file = text_of(member(item.value, "path_name"));
    if (const Json* flag = optional_member(item.value, "is_param"))
      entry.is_parameter = flag->GetBool();
    if (const Json* flag = optional_member(item.value, "use_pickle"))
      entry.use_pickle = flag->GetBool();
    if (const Json* tensor = optional_member(item.value, "tensor_meta")) {
      const TensorMeta meta = import_tensor_meta(*tensor, symbols);
      entry.has_tensor = true;
      entry.dtype = meta.dtype;
      const auto number = [&](const ir::Size& size) {
        if (!size.is_constant())
          throw FormatError("weight '" + entry.name + "' has a symbolic size");
        return size.constant();
      };
      for (const ir::Size& size : meta.sizes) entry.sizes.push_back(number(size));
      for (const ir::Size& stride : meta.strides) entry.strides.push_back(number(stride));
      entry.storage_offset = number(meta.storage_offset);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
} catch (const FormatError& error) {
  return Status(StatusCode::kDataLoss, std::string("a weights config: ") + error.what());
}

}  // namespace tendon::archive
