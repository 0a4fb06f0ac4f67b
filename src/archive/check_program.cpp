#include "archive/check_program.h"

#include <string_view>
#include <unordered_set>

#include "base/status_macros.h"

namespace tendon::archive {

namespace {

Status data_loss(std::string message) { return Status(StatusCode::kDataLoss, std::move(message)); }

bool takes_weight(const InputSpec& spec) {
  return spec.kind == InputSpec::Kind::kParameter || spec.kind == InputSpec::Kind::kBuffer ||
         spec.kind == InputSpec::Kind::kTensorConstant;
}

/// The name of a tensor or symbol; "" for constants.
std::string_view name_of(const Argument& argument) {
  if (const auto* tensor = std::get_if<TensorArgument>(&argument)) return tensor->name;
  if (const auto* symbol = std::get_if<SymbolArgument>(&argument)) return symbol->name;
  if (const auto* object = std::get_if<CustomObjectArgument>(&argument)) return object->name;
  return "";
}

/// Follows a graph in the order of execution.
class TensorNames {
 public:
  explicit TensorNames(const Graph& graph) : graph_(graph) { made_.reserve(graph.tensors.size()); }

  Status check() {
    for (const Argument& input : graph_.inputs) TENDON_RETURN_IF_ERROR(make(input));
    for (const Node& node : graph_.nodes) {
      for (const NamedArgument& input : node.inputs) {
        TENDON_RETURN_IF_ERROR(use(input.value).with_context("node '" + node.name + "'"));
      }
      for (const Argument& output : node.outputs) {
        TENDON_RETURN_IF_ERROR(make(output).with_context("node '" + node.name + "'"));
      }
    }
    for (const Argument& output : graph_.outputs) {
      TENDON_RETURN_IF_ERROR(use(output).with_context("the graph's outputs"));
    }
    return {};
  }

 private:
  template <typename Visit>
  static Status for_each_tensor(const Argument& argument, Visit visit) {
    if (const auto* tensor = std::get_if<TensorArgument>(&argument)) return visit(tensor->name);
    if (const auto* list = std::get_if<TensorsArgument>(&argument)) {
      for (const auto& name : list->names) {
        if (name) TENDON_RETURN_IF_ERROR(visit(*name));
      }
    }
    return {};
  }
  Status make(const Argument& argument) {
    return for_each_tensor(argument, [this](const std::string& name) -> Status {
      if (name.empty()) return {};  // nobody uses it
      const auto meta = graph_.tensors.find(name);
      if (meta == graph_.tensors.end()) return data_loss("nothing describes tensor '" + name + "'");
      if (!made_.insert(meta->first).second) return data_loss("'" + name + "' is made twice");
      return {};
    });
  }
  Status use(const Argument& argument) const {
    if (const auto* sub = std::get_if<GraphArgument>(&argument)) {
      return TensorNames(*sub->graph).check().with_context("graph '" + sub->name + "'");
    }
    return for_each_tensor(argument, [this](const std::string& name) -> Status {
      if (made_.count(name) != 0) return {};
      return data_loss("'" + name + "' is used before it is made");
    });
  }

  const Graph& graph_;
  std::unordered_set<std::string_view> made_;
};

Status check_signature(const Program& program) {
  const auto count = [](const char* what, std::size_t signature, std::size_t graph) -> Status {
    if (signature == graph) return {};
    return data_loss("the signature has " + std::to_string(signature) + " " + what +
                     ", the graph " + std::to_string(graph));
  };
  TENDON_RETURN_IF_ERROR(count("inputs", program.inputs.size(), program.graph.inputs.size()));
  TENDON_RETURN_IF_ERROR(count("outputs", program.outputs.size(), program.graph.outputs.size()));
  const auto same = [](const char* what, std::size_t position, std::string_view signature,
                       std::string_view graph) -> Status {
    if (signature == graph) return {};
    return data_loss(std::string(what) + " " + std::to_string(position) + " is '" +
                     std::string(signature) + "' in the signature and '" + std::string(graph) +
                     "' in the graph");
  };
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const InputSpec& spec = program.inputs[i];
    if (spec.kind == InputSpec::Kind::kConstantInput || spec.kind == InputSpec::Kind::kToken) {
      continue;
    }
    TENDON_RETURN_IF_ERROR(same("input", i, spec.name, name_of(program.graph.inputs[i])));
    if (takes_weight(spec) && program.graph.tensors.count(spec.name) == 0) {
      return data_loss("input '" + spec.name + "' is not a tensor");
    }
  }
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    if (program.outputs[i].kind == OutputSpec::Kind::kToken) continue;
    TENDON_RETURN_IF_ERROR(
        same("output", i, name_of(program.outputs[i].argument), name_of(program.graph.outputs[i])));
  }
  return {};
}

}  // namespace

Status check_graph(const Program& program) {
  TENDON_RETURN_IF_ERROR(check_signature(program));
  return TensorNames(program.graph).check();
}

Status check_weights(Program& program) {
  for (const InputSpec& spec : program.inputs) {
    if (!takes_weight(spec)) continue;
    const auto weight = program.weights.find(spec.target);
    if (weight == program.weights.end()) {
      return data_loss("weight '" + spec.target + "' is missing");
    }
    weight->second.is_parameter = spec.kind == InputSpec::Kind::kParameter;
    const Tensor& tensor = weight->second.tensor;
    const TensorMeta& meta = program.graph.tensors.at(spec.name);
    bool same = tensor.dtype() == meta.dtype && tensor.sizes().size() == meta.sizes.size();
    for (std::size_t i = 0; same && i < meta.sizes.size(); ++i) {
      same = meta.sizes[i].as_constant().value_or(tensor.sizes()[i]) == tensor.sizes()[i];
    }
    if (!same) {
      return data_loss("weight '" + spec.target + "' is " + tensor.view().to_string() +
                       ", the program takes " + std::string(dtype_name(meta.dtype)) +
                       ir::to_string(meta.sizes));
    }
  }
  return {};
}

}  // namespace tendon::archive
