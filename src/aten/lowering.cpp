#include "aten/lowering.h"

#include "aten/aliasing.h"
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

/// Export's view of a tensor contradicts ours: a defect here, best found at load.
void check_against_export(const archive::Graph& graph, const std::string& name,
                          const Tensor& tensor, const Builder& b) {
  const auto it = graph.tensors.find(name);
  if (it == graph.tensors.end()) return;
  const archive::TensorMeta& meta = it->second;
  bool same = meta.dtype == tensor.dtype && meta.sizes.size() == tensor.shape.size();
  for (std::size_t i = 0; same && i < meta.sizes.size(); ++i) {
    same = ir::provably_equal(b.resolve(meta.sizes[i]), tensor.shape[i]).value_or(true);
  }
  if (!same) {
    throw Unsupported("gives " + std::string(dtype_name(tensor.dtype)) +
                      ir::to_string(tensor.shape) + " where the program says " +
                      std::string(dtype_name(meta.dtype)) + ir::to_string(meta.sizes));
  }
}

/// The parameter that input i of the node is for, or -1.
int parameter_of(const archive::Node& node, const Schema& schema, std::size_t i) {
  const std::string& name = node.inputs[i].name;
  if (const int at = name.empty() ? -1 : schema.find(name); at >= 0) return at;
  // In place it is always self, whatever the functional form calls it (dropout's is `input`).
  if (name == "self") return 0;
  // Operators without a schema of their own: by position.
  const bool positional = name.empty() || !node.target.starts_with("aten.");
  return positional && i < schema.parameters.size() ? static_cast<int>(i) : -1;
}

}  // namespace

std::string Problems::to_string() const {
  std::string text;
  if (!missing.empty()) {
    text += std::to_string(missing.size()) + " unsupported operator" +
            (missing.size() == 1 ? "" : "s") + ":";
    for (const auto& [target, use] : missing) {
      text += "\n  " + target + " (" + std::to_string(use.count) +
              (use.count == 1 ? " use" : " uses") + ", first at " + use.first_use + ")";
      const std::string nearest = nearest_target(target);
      if (!nearest.empty()) text += "; nearest supported: " + nearest;
    }
  }
  if (!unsupported.empty()) {
    if (!text.empty()) text += "\n";
    text += std::to_string(unsupported.size()) + " unsupported use" +
            (unsupported.size() == 1 ? "" : "s") + ":";
    for (const std::string& use : unsupported) text += "\n  " + use;
  }
  return text;
}

std::vector<std::string> names_in(const archive::Argument& argument) {
  std::vector<std::string> names;
  const auto add_symbols = [&](const auto& list) {
    for (const auto& value : list.values) {
      if (const auto* symbol = std::get_if<archive::SymbolArgument>(&value)) {
        names.push_back(symbol->name);
      }
    }
  };
  std::visit(Overloaded{
                 [&](const archive::TensorArgument& a) { names.push_back(a.name); },
                 [&](const archive::TensorsArgument& a) {
                   for (const auto& name : a.names) {
                     if (name) names.push_back(*name);
                   }
                 },
                 [&](const archive::SymbolArgument& a) { names.push_back(a.name); },
                 [&](const archive::IntsArgument& a) { add_symbols(a); },
                 [&](const archive::FloatsArgument& a) { add_symbols(a); },
                 [&](const archive::BoolsArgument& a) { add_symbols(a); },
                 [](const auto&) {},
             },
             argument);
  return names;
}

Arguments::Value Lowering::convert(const archive::Argument& argument, std::string_view type) {
  const auto list = [&](const auto& values) {
    std::vector<Scalar> scalars;
    for (const auto& value : values) {
      if (const auto* symbol = std::get_if<archive::SymbolArgument>(&value)) {
        scalars.push_back(environment.scalar(symbol->name));
      } else {
        scalars.push_back(Scalar(std::get<0>(value)));
      }
    }
    return Arguments::Value(std::move(scalars));
  };
  return std::visit(
      Overloaded{
          [](const archive::NoneArgument&) -> Arguments::Value { return std::monostate{}; },
          [&](const archive::TensorArgument& a) -> Arguments::Value {
            return environment.read(a.name);
          },
          [&](const archive::TensorsArgument& a) -> Arguments::Value {
            if (a.names.empty() && type.substr(0, 6) != "Tensor") return std::vector<Scalar>{};
            std::vector<std::optional<Tensor>> tensors;
            for (const auto& name : a.names) {
              tensors.push_back(name ? std::optional(environment.read(*name)) : std::nullopt);
            }
            return tensors;
          },
          [](std::int64_t a) -> Arguments::Value { return Scalar(a); },
          [](double a) -> Arguments::Value { return Scalar(a); },
          [](bool a) -> Arguments::Value { return Scalar(a); },
          [](const std::complex<double>& a) -> Arguments::Value { return Scalar(a); },
          [](const std::string& a) -> Arguments::Value { return a; },
          [&](const archive::SymbolArgument& a) -> Arguments::Value {
            return environment.scalar(a.name);
          },
          [&](const archive::IntsArgument& a) { return list(a.values); },
          [&](const archive::FloatsArgument& a) { return list(a.values); },
          [&](const archive::BoolsArgument& a) { return list(a.values); },
          [](DType a) -> Arguments::Value { return a; },
          [](archive::MemoryFormat a) -> Arguments::Value { return a; },
          [](const archive::LayoutArgument& a) -> Arguments::Value {
            if (a.layout != 7) throw Unsupported("a layout other than strided");
            return a;
          },
          [](const archive::DeviceArgument& a) -> Arguments::Value { return a; },
          [](const archive::GraphArgument& a) -> Arguments::Value { return a.graph; },
          [](const auto&) -> Arguments::Value {
            throw Unsupported("an argument that is a custom object, an operator or strings");
          },
      },
      argument);
}

Arguments Lowering::bind(const archive::Graph& graph, const archive::Node& node,
                         const Schema& schema) {
  Arguments arguments;
  for (const SchemaParameter& parameter : schema.parameters) {
    arguments.parameters.push_back({parameter.name, parameter.default_value});
  }
  std::vector<bool> given(schema.parameters.size(), false);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const archive::NamedArgument& input = node.inputs[i];
    const int at = parameter_of(node, schema, i);
    if (at < 0) {
      throw Unsupported("argument '" + input.name + "' is not in the schema known here");
    }
    const auto parameter = static_cast<std::size_t>(at);
    arguments.parameters[parameter].value = convert(input.value, schema.parameters[parameter].type);
    given[parameter] = true;
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const SchemaParameter& parameter = schema.parameters[i];
    if (!given[i] && !parameter.has_default && parameter.type.back() != '?') {
      throw InvalidProgram("argument '" + parameter.name + "' is missing");
    }
  }
  for (const archive::Argument& output : node.outputs) {
    std::optional<Shape> shape;
    std::optional<Size> scalar;
    if (const auto* tensor = std::get_if<archive::TensorArgument>(&output)) {
      if (const auto it = graph.tensors.find(tensor->name); it != graph.tensors.end()) {
        shape = b.resolve(it->second.sizes);
      }
    } else if (const auto* symbol = std::get_if<archive::SymbolArgument>(&output)) {
      const auto& table =
          symbol->kind == archive::SymbolArgument::Kind::kBool ? graph.sym_bools : graph.sym_ints;
      if (const auto it = table.find(symbol->name); it != table.end()) {
        scalar = b.resolve(it->second);
      }
    }
    arguments.expected_shapes_.push_back(std::move(shape));
    arguments.expected_scalars_.push_back(std::move(scalar));
  }
  return arguments;
}

void Lowering::define_output(const archive::Graph& graph, const archive::Argument& argument,
                             const Output& output, bool unlike_export) {
  if (const auto* named = std::get_if<archive::TensorArgument>(&argument)) {
    if (named->name.empty()) return;
    const auto* tensor = std::get_if<Tensor>(&output);
    if (tensor == nullptr) throw Unsupported("output '" + named->name + "' is not a tensor");
    if (!unlike_export) check_against_export(graph, named->name, *tensor, b);
    environment.define(named->name, *tensor);
  } else if (const auto* list = std::get_if<archive::TensorsArgument>(&argument)) {
    const auto* tensors = std::get_if<std::vector<Tensor>>(&output);
    if (tensors == nullptr || tensors->size() < list->names.size()) {
      throw Unsupported("a list output has too few tensors");
    }
    for (std::size_t i = 0; i < list->names.size(); ++i) {
      if (!list->names[i] || list->names[i]->empty()) continue;
      check_against_export(graph, *list->names[i], (*tensors)[i], b);
      environment.define(*list->names[i], (*tensors)[i]);
    }
  } else if (const auto* symbol = std::get_if<archive::SymbolArgument>(&argument)) {
    const auto* scalar = std::get_if<Scalar>(&output);
    if (scalar == nullptr) throw Unsupported("output '" + symbol->name + "' is not a number");
    environment.define(symbol->name, *scalar);
  }
}

void Lowering::define_outputs(const archive::Graph& graph, const archive::Node& node,
                              const Outputs& outputs) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (i >= outputs.size()) {
      if (names_in(node.outputs[i]).empty()) continue;
      throw Unsupported("output " + std::to_string(i) + " is not given");
    }
    define_output(graph, node.outputs[i], outputs[i], outputs.unlike_export);
  }
}

void Lowering::lower_operator(const archive::Graph& graph, const archive::Node& node,
                              const RegistryEntry& entry, bool in_place) {
  const Arguments arguments = bind(graph, node, entry.schema);
  const auto first_tensor = [&]() -> std::string {
    for (const archive::NamedArgument& input : node.inputs) {
      if (const auto* tensor = std::get_if<archive::TensorArgument>(&input.value))
        return tensor->name;
    }
    throw InvalidProgram("no tensor to work on");
  };
  if (entry.op->views != nullptr) {
    const std::vector<View> views = entry.op->views(b, arguments);
    std::vector<std::string> names;
    for (const archive::Argument& output : node.outputs) {
      if (const auto* list = std::get_if<archive::TensorsArgument>(&output)) {
        for (const auto& name : list->names) names.push_back(name.value_or(""));
      } else if (const auto* tensor = std::get_if<archive::TensorArgument>(&output)) {
        names.push_back(tensor->name);
      }
    }
    for (std::size_t i = 0; i < names.size() && i < views.size(); ++i) {
      if (names[i].empty()) continue;
      if (may_copy(node.target) && output_is_copy(graph, node, first_tensor())) {
        environment.define(names[i], b.read_view(environment.read(first_tensor()), views[i]));
      } else {
        environment.define_view(names[i], first_tensor(), views[i]);
      }
      check_against_export(graph, names[i], environment.read(names[i]), b);
    }
    return;
  }
  const Outputs outputs = entry.op->lower(b, arguments);
  for (const auto& [parameter, value] : outputs.writes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto* tensor = std::get_if<archive::TensorArgument>(&node.inputs[i].value);
      if (tensor == nullptr || node.inputs[i].name != parameter) continue;
      environment.write(tensor->name, cast(b, value, environment.read(tensor->name).dtype));
    }
  }
  if (!outputs.alias.empty()) {
    const auto* named =
        node.outputs.empty() ? nullptr : std::get_if<archive::TensorArgument>(&node.outputs[0]);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto* tensor = std::get_if<archive::TensorArgument>(&node.inputs[i].value);
      if (tensor == nullptr || named == nullptr || named->name.empty()) continue;
      if (parameter_of(node, entry.schema, i) != entry.schema.find(outputs.alias)) continue;
      if (output_is_copy(graph, node, tensor->name)) {
        environment.define(named->name, environment.read(tensor->name));
      } else {
        environment.define_alias(named->name, tensor->name);
      }
    }
    return;
  }
  if (!in_place) {
    define_outputs(graph, node, outputs);
    return;
  }
  const std::string self = first_tensor();
  const auto* result = outputs.empty() ? nullptr : std::get_if<Tensor>(&outputs[0]);
  if (result == nullptr) throw Unsupported("in place, without a tensor as its result");
  const Tensor before = environment.read(self);
  Tensor updated = *result;
  if (updated.shape != before.shape) updated = expand(b, updated, before.shape);
  environment.write(self, cast(b, updated, before.dtype));
  if (!node.outputs.empty()) {
    if (const auto* named = std::get_if<archive::TensorArgument>(&node.outputs[0]);
        named != nullptr && !named->name.empty()) {
      environment.define_alias(named->name, self);
    }
  }
}

bool Lowering::reads_poisoned(const archive::Node& node) const {
  for (const archive::NamedArgument& input : node.inputs) {
    for (const std::string& name : names_in(input.value)) {
      if (environment.poisoned(name)) return true;
    }
  }
  return false;
}

void Lowering::poison_outputs(const archive::Node& node) {
  for (const archive::Argument& output : node.outputs) {
    for (const std::string& name : names_in(output)) environment.poison(name);
  }
}

void Lowering::lower_node(const archive::Graph& graph, const archive::Node& node) {
  if (lower_higher_order(graph, node)) return;
  const RegistryEntry* entry = find_operator(node.target);
  const RegistryEntry* functional = entry == nullptr ? find_in_place(node.target) : nullptr;
  if (entry == nullptr && functional == nullptr) {
    Problems::Missing& missing = problems.missing[node.target];
    if (missing.count++ == 0) missing.first_use = "node " + node.name;
    poison_outputs(node);
    return;
  }
  if (reads_poisoned(node)) {
    poison_outputs(node);
    return;
  }
  lower_operator(graph, node, entry != nullptr ? *entry : *functional, entry == nullptr);
}

void Lowering::lower_nodes(const archive::Graph& graph) {
  for (const archive::Node& node : graph.nodes) {
    b.set_origin(static_cast<std::int32_t>(b.graph().origins.size()));
    b.graph().origins.push_back(node.target + (node.name.empty() ? "" : " (" + node.name + ")"));
    try {
      lower_node(graph, node);
    } catch (const Unsupported& error) {
      problems.unsupported.push_back(b.graph().origins.back() + ": " + error.what());
      poison_outputs(node);
    } catch (const InvalidProgram& error) {
      problems.unsupported.push_back(b.graph().origins.back() + ": " + error.what());
      poison_outputs(node);
    }
  }
}

}  // namespace tendon::aten
