#include "archive/schema_fields.h"

#include <algorithm>
#include <map>
#include <span>

namespace tendon::archive {

namespace {

using Fields = std::span<const std::string_view>;

constexpr std::string_view kExportedProgram[] = {
    "graph_module", "opset_version", "range_constraints", "schema_version",
    "verifiers",    "torch_version", "guards_code"};
constexpr std::string_view kGraphModule[] = {"graph", "signature", "module_call_graph", "metadata",
                                             "treespec_namedtuple_fields"};
constexpr std::string_view kSignature[] = {"input_specs", "output_specs"};
constexpr std::string_view kGraph[] = {
    "inputs",           "outputs",           "nodes",
    "tensor_values",    "sym_int_values",    "sym_bool_values",
    "sym_float_values", "custom_obj_values", "is_single_tensor_return"};
constexpr std::string_view kNode[] = {"target",   "inputs", "outputs",
                                      "metadata", "name",   "is_hop_single_tensor_return"};
constexpr std::string_view kNamedArgument[] = {"name", "arg", "kind"};
constexpr std::string_view kTensorMeta[] = {"dtype",  "sizes",         "strides", "storage_offset",
                                            "device", "requires_grad", "layout"};

class Survey {
 public:
  void note(const char* type, const Json& object, Fields known) {
    for (const auto& field : object.GetObject()) {
      const std::string_view name(field.name.GetString(), field.name.GetStringLength());
      if (!field.value.IsNull() && std::find(known.begin(), known.end(), name) == known.end())
        ++counts_[std::string(type) + "." + std::string(name)];
    }
  }

  void graph(const Json& value) {
    note("Graph", value, kGraph);
    for (const auto& entry : member(value, "tensor_values").GetObject())
      note("TensorMeta", entry.value, kTensorMeta);
    for (const Json& node : member(value, "nodes").GetArray()) {
      note("Node", node, kNode);
      for (const Json& input : member(node, "inputs").GetArray()) {
        note("NamedArgument", input, kNamedArgument);
        // As deep as the graphs that were imported before.
        if (const Json* sub_graph = optional_member(member(input, "arg"), "as_graph"))
          graph(member(*sub_graph, "graph"));
      }
    }
  }

  const std::map<std::string, int>& counts() const { return counts_; }

 private:
  std::map<std::string, int> counts_;
};

}  // namespace

void note_unknown_fields(const Json& exported_program, Program& program) {
  Survey survey;
  const Json& module = member(exported_program, "graph_module");
  survey.note("ExportedProgram", exported_program, kExportedProgram);
  survey.note("GraphModule", module, kGraphModule);
  survey.note("GraphSignature", member(module, "signature"), kSignature);
  survey.graph(member(module, "graph"));
  if (survey.counts().empty()) return;
  std::string warning = "the program has schema version " + std::to_string(program.schema_major) +
                        "." + std::to_string(program.schema_minor) + ", newer than " +
                        std::to_string(kSchemaMajor) + "." + std::to_string(kSchemaMinor) +
                        "; ignored fields:";
  for (const auto& [name, count] : survey.counts())
    warning += " " + name + " (" + std::to_string(count) + (count == 1 ? " time)" : " times)");
  program.warnings.push_back(std::move(warning));
}

}  // namespace tendon::archive
