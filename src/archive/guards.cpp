#include "archive/guards.h"

#include <charconv>
#include <unordered_map>

#include "archive/symbolic_expression.h"

namespace tendon::archive {

namespace {

constexpr int kMaxTreeDepth = 64;

/// Where guards find the leaves of the flattened inputs: path, such as "['a'][0]", to position.
class LeafPaths {
 public:
  explicit LeafPaths(const Json& signature) {
    std::vector<std::string> names;
    if (const Json* list = optional_member(signature, "forward_arg_names")) {
      for (const Json& name : list->GetArray()) names.push_back(text_of(name));
    }
    rapidjson::Document spec;
    const std::string text = text_of(member(signature, "in_spec"));
    parse_json(spec, text);
    if (!spec.IsArray() || spec.Size() != 2) throw FormatError("in_spec is not [version, tree]");
    const auto& arguments = member(spec[1], "children_spec").GetArray();
    if (arguments.Size() != 2) throw FormatError("in_spec is not a tree of (args, kwargs)");
    const auto& positional = member(arguments[0], "children_spec").GetArray();
    for (rapidjson::SizeType i = 0; i < positional.Size(); ++i) {
      const std::string name = i < names.size() ? names[i] : std::to_string(i);
      add(positional[i], quoted(name), 0);
      positional_names_.push_back(name);
    }
    // Keyword arguments are locals of their own; their dict's keys are their names.
    add(arguments[1], "", 0);
    alias_starred();
  }

  std::size_t count() const { return leaves_; }
  std::optional<std::size_t> find(const std::string& path) const {
    if (const auto it = positions_.find(path); it != positions_.end()) return it->second;
    // L['kwargs']['x'] of a `**kwargs` parameter, whose name is not recorded.
    const std::size_t first = path.find(']');
    if (first == std::string::npos) return std::nullopt;
    const auto it = positions_.find(path.substr(first + 1));
    return it == positions_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  static std::string quoted(const std::string& key) { return "['" + key + "']"; }
  static std::string indexed(std::size_t index) { return "[" + std::to_string(index) + "]"; }

  /// The keys of a dict, as they appear in a path; none where its context says something else.
  static std::vector<std::string> keys_of(const Json& tree) try {
    std::vector<std::string> keys;
    rapidjson::Document list;
    parse_json(list, text_of(member(tree, "context")));
    for (const Json& key : list.GetArray()) {
      keys.push_back(key.IsString()  ? quoted(text_of(key))
                     : key.IsInt64() ? "[" + std::to_string(key.GetInt64()) + "]"
                                     : "");
    }
    return keys;
  } catch (const FormatError&) {
    return {};
  }

  void add(const Json& tree, const std::string& path, int depth) {
    if (depth > kMaxTreeDepth) throw FormatError("in_spec is nested too deep");
    const Json& type = member(tree, "type");
    if (type.IsNull()) {
      positions_.emplace(path, leaves_++);
      return;
    }
    const std::string kind = text_of(type);
    const bool is_dict =
        kind.find("dict") != std::string::npos || kind.find("Dict") != std::string::npos;
    const std::vector<std::string> keys = is_dict ? keys_of(tree) : std::vector<std::string>();
    const auto& children = member(tree, "children_spec").GetArray();
    for (rapidjson::SizeType i = 0; i < children.Size(); ++i) {
      add(children[i], path + (i < keys.size() ? keys[i] : indexed(i)), depth + 1);
    }
  }

  /// The values of a `*images` parameter are recorded as images_0, images_1, ...; guards write
  /// L['images'][0].
  void alias_starred() {
    std::unordered_map<std::string, std::string> aliases;  // prefix to prefix
    for (std::size_t i = 0; i < positional_names_.size(); ++i) {
      const std::string& name = positional_names_[i];
      const std::size_t split = name.rfind('_');
      if (split == std::string::npos) continue;
      std::size_t number = 0;
      const char* end = name.data() + name.size();
      const auto [stop, status] = std::from_chars(name.data() + split + 1, end, number);
      if (status != std::errc() || stop != end || number > i) continue;
      aliases.emplace(quoted(name), quoted(name.substr(0, split)) + indexed(number));
    }
    if (aliases.empty()) return;
    std::vector<std::pair<std::string, std::size_t>> added;
    for (const auto& [path, position] : positions_) {
      const std::size_t first = path.find(']') + 1;
      const auto alias = aliases.find(path.substr(0, first));
      if (alias != aliases.end()) added.emplace_back(alias->second + path.substr(first), position);
    }
    for (auto& [path, position] : added) positions_.emplace(std::move(path), position);
  }

  std::unordered_map<std::string, std::size_t> positions_;
  std::vector<std::string> positional_names_;
  std::size_t leaves_ = 0;
};

/// The inputs that the caller passes, in flattened order.
std::vector<const InputSpec*> passed_inputs(const Program& program) {
  std::vector<const InputSpec*> inputs;
  for (const InputSpec& spec : program.inputs) {
    const bool passed =
        spec.kind == InputSpec::Kind::kUserInput || spec.kind == InputSpec::Kind::kConstantInput;
    if (passed) inputs.push_back(&spec);
  }
  return inputs;
}

Result<ir::Size> value_of(const InputSpec& input, const Graph& graph) {
  if (const auto* symbol = std::get_if<SymbolArgument>(&input.argument)) {
    const auto& table =
        symbol->kind == SymbolArgument::Kind::kBool ? graph.sym_bools : graph.sym_ints;
    if (const auto it = table.find(symbol->name); it != table.end()) return it->second;
  }
  if (const auto* number = std::get_if<std::int64_t>(&input.argument)) return ir::Size(*number);
  if (const auto* flag = std::get_if<bool>(&input.argument)) return ir::Size(*flag ? 1 : 0);
  return Status(StatusCode::kUnimplemented, "not an integer input");
}

Result<ir::Size> number_of(const InputNumber& number, const InputSpec& input, const Graph& graph) {
  using Kind = InputNumber::Kind;
  if (number.kind == Kind::kValue) return value_of(input, graph);
  const auto meta = graph.tensors.find(input.name);
  if (meta == graph.tensors.end()) {
    return Status(StatusCode::kUnimplemented, "L" + number.path + " is not a tensor");
  }
  if (number.kind == Kind::kRank)
    return ir::Size(static_cast<std::int64_t>(meta->second.sizes.size()));
  if (number.kind == Kind::kStorageOffset) return meta->second.storage_offset;
  const ir::Shape& list = number.kind == Kind::kSize ? meta->second.sizes : meta->second.strides;
  const auto rank = static_cast<std::int64_t>(list.size());
  const std::int64_t axis = number.axis < 0 ? number.axis + rank : number.axis;
  if (axis < 0 || axis >= rank) {
    return Status(StatusCode::kDataLoss,
                  "L" + number.path + " has no axis " + std::to_string(number.axis));
  }
  return list[static_cast<std::size_t>(axis)];
}

}  // namespace

void import_guards(const Json& guards_code, const Json* signature, Program& program) {
  if (guards_code.Empty()) return;
  std::optional<LeafPaths> paths;
  if (signature != nullptr) paths.emplace(*signature);
  const std::vector<const InputSpec*> inputs = passed_inputs(program);
  SymbolicNames names;
  names.symbol = [&](const std::string& name) -> Result<ir::Size> {
    const auto it = program.symbols.find(name);
    if (it != program.symbols.end()) return ir::Size::symbol(it->second);
    return Status(StatusCode::kUnimplemented, "'" + name + "' is not known");
  };
  names.input = [&](const InputNumber& number) -> Result<ir::Size> {
    const auto position =
        paths && paths->count() == inputs.size() ? paths->find(number.path) : std::nullopt;
    if (!position) return Status(StatusCode::kUnimplemented, "no input at L" + number.path);
    return number_of(number, *inputs[*position], program.graph);
  };
  for (const Json& guard : guards_code.GetArray()) {
    const std::string text = text_of(guard);
    const auto condition = parse_symbolic(text, names);
    if (!condition.ok()) {
      program.warnings.push_back("guard not checked: " + condition.status().message());
    } else {
      program.guards.emplace_back(*condition, text);
    }
  }
}

}  // namespace tendon::archive
