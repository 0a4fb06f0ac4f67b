// Regions and control flow: operators whose arguments are graphs.
#include <algorithm>
#include <array>

#include "aten/lowering.h"
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// torch.autocast on the CPU: operators that run in the region's half type.
bool takes_half(std::string_view target) {
  constexpr std::array kNames = {"linear",
                                 "matmul",
                                 "mm",
                                 "bmm",
                                 "addmm",
                                 "addbmm",
                                 "baddbmm",
                                 "conv1d",
                                 "conv2d",
                                 "conv3d",
                                 "conv_transpose1d",
                                 "conv_transpose2d",
                                 "conv_transpose3d",
                                 "scaled_dot_product_attention"};
  if (target.substr(0, 5) != "aten.") return false;
  const std::string_view name = target.substr(5, target.find('.', 5) - 5);
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

const archive::Graph& graph_of(const archive::Node& node, std::size_t argument) {
  const auto* graph = argument < node.inputs.size()
                          ? std::get_if<archive::GraphArgument>(&node.inputs[argument].value)
                          : nullptr;
  if (graph == nullptr || graph->graph == nullptr) throw InvalidProgram("a sub-graph is missing");
  return *graph->graph;
}

const archive::Argument& argument_of(const archive::Node& node, std::size_t i) {
  if (i >= node.inputs.size())
    throw InvalidProgram("argument " + std::to_string(i) + " is missing");
  return node.inputs[i].value;
}

std::vector<std::pair<DType, Shape>> output_types(const ir::Graph& graph) {
  std::vector<std::pair<DType, Shape>> types;
  for (const ir::GraphOutput& output : graph.outputs) {
    types.emplace_back(graph.value(output.value).dtype, graph.value(output.value).shape);
  }
  return types;
}

std::vector<Tensor> tensors_among(const std::vector<Arguments::Value>& values) {
  std::vector<Tensor> tensors;
  for (const Arguments::Value& value : values) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) tensors.push_back(*tensor);
  }
  return tensors;
}

/// The outputs of a control-flow node, as exported: one list, or one tensor each.
std::vector<std::string> output_names(const archive::Node& node) {
  std::vector<std::string> names;
  for (const archive::Argument& output : node.outputs) {
    if (const auto* list = std::get_if<archive::TensorsArgument>(&output)) {
      for (const auto& name : list->names) names.push_back(name.value_or(""));
    } else if (const auto* tensor = std::get_if<archive::TensorArgument>(&output)) {
      names.push_back(tensor->name);
    }
  }
  return names;
}

void require_real(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    if (tensor.complex()) throw Unsupported("complex tensors through control flow");
  }
}

}  // namespace

std::vector<Arguments::Value> Lowering::operand_list(const archive::Argument& argument) {
  std::vector<Arguments::Value> values;
  if (const auto* list = std::get_if<archive::TensorsArgument>(&argument)) {
    for (const auto& name : list->names) {
      if (name) values.emplace_back(environment.read(*name));
    }
    return values;
  }
  Arguments::Value value = convert(argument, "Scalar[]");
  if (auto* scalars = std::get_if<std::vector<Scalar>>(&value)) {
    for (Scalar& scalar : *scalars) values.emplace_back(std::move(scalar));
  } else {
    values.push_back(std::move(value));
  }
  return values;
}

std::shared_ptr<const ir::Graph> Lowering::lower_subgraph(
    const archive::Graph& graph, const std::vector<Arguments::Value>& operands) {
  auto result = std::make_shared<ir::Graph>();
  Builder builder(*result);
  builder.name_prefix = b.name_prefix + "n" + std::to_string(b.graph().nodes.size()) + "_";
  builder.random_state = []() -> Tensor {
    throw Unsupported("random operators inside control flow");
  };
  Environment inner(builder);
  Lowering lowering(builder, inner, problems);
  lowering.autocast = autocast;
  if (graph.inputs.size() != operands.size()) {
    throw InvalidProgram("a sub-graph takes " + std::to_string(graph.inputs.size()) +
                         " operands and gets " + std::to_string(operands.size()));
  }
  int index = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto* tensor = std::get_if<Tensor>(&operands[i]);
    const auto* name = std::get_if<archive::TensorArgument>(&graph.inputs[i]);
    if (tensor != nullptr && name != nullptr) {
      const ir::NodeId node = result->add(ir::Input{index++}, {}, {{tensor->dtype, tensor->shape}});
      inner.define(name->name, Tensor{result->node(node).outputs[0], tensor->dtype, tensor->shape});
    } else if (const auto* symbol = std::get_if<archive::SymbolArgument>(&graph.inputs[i])) {
      const auto* scalar = std::get_if<Scalar>(&operands[i]);
      if (scalar == nullptr) throw InvalidProgram("a sub-graph operand is not a number");
      inner.define(symbol->name, *scalar);
    }
  }
  lowering.lower_nodes(graph);
  if (!problems.empty()) throw Unsupported("its sub-graph could not be lowered");
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    Tensor tensor;
    if (const auto* name = std::get_if<archive::TensorArgument>(&graph.outputs[i])) {
      tensor = inner.read(name->name);
    } else if (const auto* boolean = std::get_if<bool>(&graph.outputs[i])) {
      tensor = scalar_tensor(builder, Scalar(*boolean), DType::kBool);
    } else if (const auto* integer = std::get_if<std::int64_t>(&graph.outputs[i])) {
      tensor = scalar_tensor(builder, Scalar(*integer), DType::kInt64);
    } else if (const auto* symbol = std::get_if<archive::SymbolArgument>(&graph.outputs[i])) {
      const Scalar& scalar = inner.scalar(symbol->name);
      tensor = scalar_tensor(builder, scalar, scalar_type(scalar));
    } else {
      throw Unsupported("a sub-graph output that is neither a tensor nor a number");
    }
    if (tensor.complex()) throw Unsupported("complex tensors through control flow");
    result->outputs.push_back(
        {ir::GraphOutput::Kind::kUser, tensor.value, static_cast<int>(i), {}});
  }
  return result;
}

void Lowering::lower_region(const archive::Graph& outer, const archive::Node& node,
                            std::size_t graph_argument) {
  const archive::Graph& graph = graph_of(node, graph_argument);
  // The region's names are its own: bind its inputs to what the operands name, and lower in place.
  std::vector<std::string> names;
  for (std::size_t i = graph_argument + 1; i < node.inputs.size(); ++i) {
    for (const std::string& name : names_in(node.inputs[i].value)) names.push_back(name);
  }
  std::size_t next = 0;
  for (const archive::Argument& input : graph.inputs) {
    for (const std::string& inner : names_in(input)) {
      if (next >= names.size()) throw InvalidProgram("a region gets too few operands");
      const std::string& operand = names[next++];
      if (inner == operand) continue;
      if (environment.has_tensor(operand)) {
        environment.define_alias(inner, operand);
      } else {
        environment.define(inner, environment.scalar(operand));
      }
    }
  }
  lower_nodes(graph);
  std::vector<std::string> results;
  for (const archive::Argument& output : graph.outputs) {
    for (const std::string& name : names_in(output)) results.push_back(name);
  }
  std::vector<std::string> targets;
  for (const archive::Argument& output : node.outputs) {
    for (const std::string& name : names_in(output)) targets.push_back(name);
  }
  for (std::size_t i = 0; i < targets.size() && i < results.size(); ++i) {
    if (environment.poisoned(results[i])) {
      environment.poison(targets[i]);
    } else if (environment.has_tensor(results[i])) {
      environment.define_alias(targets[i], results[i]);
    } else {
      environment.define(targets[i], environment.scalar(results[i]));
    }
  }
  (void)outer;
}

void Lowering::lower_cond(const archive::Node& node) {
  const Arguments::Value predicate = convert(argument_of(node, 0), "Scalar");
  const std::vector<Arguments::Value> operands = operand_list(argument_of(node, 3));
  ir::Branch branch;
  branch.then_graph = lower_subgraph(graph_of(node, 1), operands);
  branch.else_graph = lower_subgraph(graph_of(node, 2), operands);
  std::vector<Tensor> inputs = tensors_among(operands);
  require_real(inputs);
  if (const auto* tensor = std::get_if<Tensor>(&predicate)) {
    Tensor flag = *tensor;
    if (flag.rank() != 0) flag = reshape(b, flag, {});
    inputs.insert(inputs.begin(), cast(b, flag, DType::kBool));
  } else if (const auto* scalar = std::get_if<Scalar>(&predicate)) {
    if (const auto* size = std::get_if<Size>(scalar)) {
      branch.condition = *size;
    } else if (const auto* known = std::get_if<bool>(scalar)) {
      branch.condition = Size(*known ? 1 : 0);
    } else if (const auto* number = std::get_if<Tensor>(scalar)) {
      inputs.insert(inputs.begin(), cast(b, *number, DType::kBool));
    }
  }
  const auto types = output_types(*branch.then_graph);
  if (output_types(*branch.else_graph).size() != types.size()) {
    throw InvalidProgram("the branches give different numbers of outputs");
  }
  const std::vector<Tensor> outputs = b.add(std::move(branch), inputs, types);
  const std::vector<std::string> names = output_names(node);
  for (std::size_t i = 0; i < names.size() && i < outputs.size(); ++i) {
    environment.define(names[i], outputs[i]);
  }
}

void Lowering::lower_while(const archive::Node& node) {
  std::vector<Arguments::Value> operands = operand_list(argument_of(node, 2));
  ir::While loop;
  // Numbers carried from turn to turn become 0-d tensors.
  for (Arguments::Value& operand : operands) {
    if (const auto* scalar = std::get_if<Scalar>(&operand)) {
      operand = scalar_tensor(b, *scalar, scalar_type(*scalar));
    }
  }
  loop.carried = static_cast<int>(operands.size());
  for (Arguments::Value& operand : operand_list(argument_of(node, 3))) {
    operands.push_back(std::move(operand));
  }
  loop.condition = lower_subgraph(graph_of(node, 0), operands);
  loop.body = lower_subgraph(graph_of(node, 1), operands);
  const std::vector<Tensor> inputs = tensors_among(operands);
  require_real(inputs);
  const std::vector<Tensor> outputs = b.add(loop, inputs, output_types(*loop.body));
  const std::vector<std::string> names = output_names(node);
  for (std::size_t i = 0; i < names.size() && i < outputs.size(); ++i) {
    environment.define(names[i], outputs[i]);
  }
}

void Lowering::lower_scan(const archive::Node& node, bool map) {
  // scan(combine graph, init, xs, additional); map_impl(graph, xs, additional).
  const std::vector<Arguments::Value> carried =
      map ? std::vector<Arguments::Value>{} : operand_list(argument_of(node, 1));
  const std::vector<Tensor> iterated = tensors_among(operand_list(argument_of(node, map ? 1 : 2)));
  const std::vector<Arguments::Value> additional =
      node.inputs.size() > (map ? 2u : 3u) ? operand_list(argument_of(node, map ? 2 : 3))
                                           : std::vector<Arguments::Value>{};
  if (iterated.empty()) throw Unsupported("nothing to iterate over");
  std::vector<Arguments::Value> operands = carried;
  std::vector<Tensor> inputs = tensors_among(carried);
  for (const Tensor& tensor : iterated) {
    operands.emplace_back(select(b, tensor, 0, 0));
    inputs.push_back(tensor);
  }
  for (const Arguments::Value& value : additional) operands.push_back(value);
  for (const Tensor& tensor : tensors_among(additional)) inputs.push_back(tensor);
  require_real(inputs);
  ir::Loop loop;
  loop.carried = static_cast<int>(carried.size());
  loop.iterated = static_cast<int>(iterated.size());
  loop.length = iterated[0].shape[0];
  loop.body = lower_subgraph(graph_of(node, 0), operands);
  auto types = output_types(*loop.body);
  for (std::size_t i = static_cast<std::size_t>(loop.carried); i < types.size(); ++i) {
    types[i].second.insert(types[i].second.begin(), loop.length);
  }
  const std::vector<Tensor> outputs = b.add(loop, inputs, types);
  const std::vector<std::string> names = output_names(node);
  for (std::size_t i = 0; i < names.size() && i < outputs.size(); ++i) {
    environment.define(names[i], outputs[i]);
  }
}

bool Lowering::lower_higher_order(const archive::Graph& graph, const archive::Node& node) {
  constexpr std::string_view kPrefix = "higher_order.";
  if (node.target.substr(0, kPrefix.size()) != kPrefix) {
    if (!autocast.enabled || !takes_half(node.target)) return false;
    // Inside torch.autocast: these operators take the half type.
    archive::Node copy = node;
    for (archive::NamedArgument& input : copy.inputs) {
      auto* tensor = std::get_if<archive::TensorArgument>(&input.value);
      if (tensor == nullptr || !environment.has_tensor(tensor->name)) continue;
      const Tensor value = environment.read(tensor->name);
      if (value.dtype != DType::kFloat32) continue;
      const std::string name = tensor->name + "@" + std::string(dtype_name(autocast.dtype));
      environment.define(name, cast(b, value, autocast.dtype));
      tensor->name = name;
    }
    const Autocast saved = std::exchange(autocast, Autocast{});
    lower_node(graph, copy);
    autocast = saved;
    return true;
  }
  const std::string_view name = std::string_view(node.target).substr(kPrefix.size());
  if (reads_poisoned(node)) {
    poison_outputs(node);
    return true;
  }
  if (name == "cond") {
    lower_cond(node);
  } else if (name == "while_loop") {
    lower_while(node);
  } else if (name == "scan" || name == "map_impl") {
    lower_scan(node, name == "map_impl");
  } else if (name == "wrap_with_set_grad_enabled") {
    lower_region(graph, node, 1);
  } else if (name == "wrap_with_autocast") {
    // (device, dtype, enabled, cache_enabled, graph, operands...)
    Autocast inner;
    const Arguments::Value dtype = convert(argument_of(node, 1), "ScalarType?");
    const Arguments::Value enabled = convert(argument_of(node, 2), "bool");
    if (const auto* type = std::get_if<DType>(&dtype)) inner.dtype = *type;
    if (const auto* flag = std::get_if<Scalar>(&enabled)) {
      inner.enabled = std::get_if<bool>(flag) != nullptr && std::get<bool>(*flag);
    }
    const Autocast saved = std::exchange(autocast, inner);
    lower_region(graph, node, 4);
    autocast = saved;
  } else {
    return false;
  }
  return true;
}

}  // namespace tendon::aten
