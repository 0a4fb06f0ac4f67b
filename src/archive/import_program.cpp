#include "archive/import_program.h"

#include <algorithm>
#include <cctype>

#include "archive/guards.h"
#include "archive/import_graph.h"
#include "archive/schema_fields.h"

namespace tendon::archive {

namespace {

void parse_document(rapidjson::Document& document, std::span<const std::byte> json) {
  parse_json(document, {reinterpret_cast<const char*>(json.data()), json.size()});
  if (!document.IsObject()) throw FormatError("the JSON is not an object");
}

/// Export writes "no bound" as null, as a number of no integer, or as the largest one less one.
std::optional<std::int64_t> bound(const Json& range, const char* name) {
  const Json* value = optional_member(range, name);
  if (value == nullptr || !value->IsInt64()) return std::nullopt;
  const std::int64_t number = value->GetInt64();
  if (number >= ir::kUnbounded - 1 || number <= -(ir::kUnbounded - 1)) return std::nullopt;
  return number;
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
    if (is_symbol_name(text)) {
      const SymbolRegistry::Range range{bound(entry.value, "min_val"),
                                        bound(entry.value, "max_val")};
      if (range.lower && range.upper && *range.lower > *range.upper)
        throw FormatError("the range of symbol '" + text + "' is empty");
      symbols.ranges[text] = range;
    }
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
  throw FormatError("an input of a kind that is not read", StatusCode::kUnimplemented);
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
  throw FormatError("an output of a kind that is not read", StatusCode::kUnimplemented);
}

Program import_root(const Json& root) {
  Program program;
  if (!root.HasMember("graph_module")) {
    throw FormatError("no 'graph_module': not an exported program", StatusCode::kInvalidArgument);
  }
  if (const Json* version = optional_member(root, "schema_version")) {
    program.schema_major = member(*version, "major").GetInt();
    program.schema_minor = member(*version, "minor").GetInt();
  }
  if (program.schema_major != kSchemaMajor) {
    throw FormatError("the program has schema version " + std::to_string(program.schema_major) +
                          "." + std::to_string(program.schema_minor) +
                          "; this build reads version " + std::to_string(kSchemaMajor),
                      StatusCode::kUnimplemented);
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
  const Json* call_signature = nullptr;
  if (const Json* calls = optional_member(module, "module_call_graph");
      calls != nullptr && calls->IsArray() && !calls->Empty()) {
    call_signature = optional_member((*calls)[0], "signature");
    if (call_signature != nullptr) {
      program.input_tree = text_of(member(*call_signature, "in_spec"));
      program.output_tree = text_of(member(*call_signature, "out_spec"));
    }
  }
  program.symbols = symbols.symbols();
  if (const Json* guards = optional_member(root, "guards_code"))
    import_guards(*guards, call_signature, program);
  if (program.schema_minor > kSchemaMinor) note_unknown_fields(root, program);
  return program;
}

void import_payload(const Json& value, SymbolRegistry& symbols, PayloadEntry& entry) {
  entry.file = text_of(member(value, "path_name"));
  if (const Json* flag = optional_member(value, "is_param")) entry.is_parameter = flag->GetBool();
  if (const Json* flag = optional_member(value, "use_pickle")) entry.use_pickle = flag->GetBool();
  const Json* tensor = optional_member(value, "tensor_meta");
  if (tensor == nullptr) return;
  const TensorMeta meta = import_tensor_meta(*tensor, symbols);
  const auto number = [](const ir::Size& size) {
    if (!size.is_constant()) throw FormatError("a symbolic size");
    return size.constant();
  };
  entry.has_tensor = true;
  entry.dtype = meta.dtype;
  for (const ir::Size& size : meta.sizes) entry.sizes.push_back(number(size));
  for (const ir::Size& stride : meta.strides) entry.strides.push_back(number(stride));
  entry.storage_offset = number(meta.storage_offset);
}

}  // namespace

Result<Program> import_program(std::span<const std::byte> json) try {
  rapidjson::Document document;
  parse_document(document, json);
  return import_root(document);
} catch (const FormatError& error) {
  return error.status().with_context("the program's JSON");
}

Result<std::vector<PayloadEntry>> import_payload_config(std::span<const std::byte> json) try {
  rapidjson::Document document;
  parse_document(document, json);
  std::vector<PayloadEntry> entries;
  SymbolRegistry symbols;
  for (const auto& item : member(document, "config").GetObject()) {
    PayloadEntry& entry = entries.emplace_back();
    entry.name = text_of(item.name);
    in_context([&] { return "'" + entry.name + "'"; },
               [&] { import_payload(item.value, symbols, entry); });
  }
  return entries;
} catch (const FormatError& error) {
  return error.status().with_context("a weights config");
}

}  // namespace tendon::archive
