// For tests: programs as JSON text, made of the parts that a test cares about.
#pragma once

#include <span>
#include <string>

#include "archive/import_program.h"

namespace tendon::archive::program_text {

inline constexpr char kMeta[] =
    R"({"dtype":7,"sizes":[],"strides":[],"storage_offset":{"as_int":0},"layout":7,
        "device":{"type":"cpu","index":null},"requires_grad":false})";

/// The parts of a program that a test replaces.
struct Text {
  std::string version = R"({"major":8,"minor":17})";
  std::string ranges = "{}";
  std::string guards = "[]";
  std::string extra;  // fields of the program, ending in a comma
  std::string inputs, outputs, nodes;
  std::string tensors = std::string(R"("x":)") + kMeta;
  std::string sym_ints, sym_bools, sym_floats;
  std::string input_specs, output_specs;
  std::string names = "[]";
  std::string in_spec = R"([1,{"type":"builtins.tuple","context":"null","children_spec":[)"
                        R"({"type":"builtins.tuple","context":"null","children_spec":[]},)"
                        R"({"type":"builtins.dict","context":"[]","children_spec":[]}]}])";

  std::string to_string() const {
    std::string quoted;
    for (const char c : in_spec)
      quoted += c == '"' ? "\\\"" : c == '\\' ? "\\\\" : std::string(1, c);
    return "{" + extra + R"("schema_version":)" + version + R"(,"torch_version":"2.11.0",)" +
           R"("opset_version":{"aten":10},"verifiers":[],"range_constraints":)" + ranges +
           R"(,"guards_code":)" + guards + R"(,"graph_module":{"graph":{"inputs":[)" + inputs +
           R"(],"outputs":[)" + outputs + R"(],"nodes":[)" + nodes + R"(],"tensor_values":{)" +
           tensors + R"(},"sym_int_values":{)" + sym_ints + R"(},"sym_bool_values":{)" + sym_bools +
           R"(},"sym_float_values":{)" + sym_floats +
           R"(},"custom_obj_values":{},"is_single_tensor_return":false},)" +
           R"("signature":{"input_specs":[)" + input_specs + R"(],"output_specs":[)" +
           output_specs + R"(]},"module_call_graph":[{"fqn":"","signature":{"inputs":[],)" +
           R"("outputs":[],"in_spec":")" + quoted + R"(","out_spec":"out","forward_arg_names":)" +
           names + R"(}}],"metadata":{},"treespec_namedtuple_fields":{}}})";
  }
};

inline Result<Program> import(const Text& text) {
  const std::string json = text.to_string();
  return import_program(std::as_bytes(std::span(json.data(), json.size())));
}

inline std::string meta_of(const std::string& sizes, const std::string& strides) {
  return R"({"dtype":7,"sizes":[)" + sizes + R"(],"strides":[)" + strides +
         R"(],"storage_offset":{"as_int":0},"layout":7,"device":{"type":"cpu","index":null}})";
}

inline std::string expr(const std::string& text, const std::string& hint = "null") {
  return R"({"as_expr":{"expr_str":")" + text + R"(","hint":)" + hint + "}}";
}

}  // namespace tendon::archive::program_text
