#include "archive/import_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "archive/program_text.h"

namespace tendon::archive {
namespace {

using namespace program_text;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The argument as a node's input.
Argument argument(const std::string& json) {
  Text text;
  text.nodes = R"({"target":"torch.ops.aten.f.default","inputs":[{"name":"a","kind":1,"arg":)" +
               json + R"(}],"outputs":[],"metadata":{}})";
  const auto program = import(text);
  EXPECT_TRUE(program.ok()) << program.status().to_string();
  return program.ok() ? program->graph.nodes.at(0).inputs.at(0).value : Argument{NoneArgument{}};
}

template <typename T>
T get(const std::string& json) {
  const Argument value = argument(json);
  EXPECT_TRUE(std::holds_alternative<T>(value)) << json;
  const T* content = std::get_if<T>(&value);
  return content != nullptr ? *content : T{};
}

TEST(Import, NumbersAndText) {
  EXPECT_EQ(get<std::int64_t>(R"({"as_int":-9223372036854775808})"),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(get<double>(R"({"as_float":0.1})"), 0.1);
  EXPECT_EQ(get<double>(R"({"as_float":-Infinity})"), -INFINITY);
  EXPECT_EQ(get<double>(R"({"as_float":"Infinity"})"), INFINITY);
  EXPECT_TRUE(std::isnan(get<double>(R"({"as_float":NaN})")));
  EXPECT_TRUE(std::isnan(get<double>(R"({"as_float":"NaN"})")));
  EXPECT_EQ(get<bool>(R"({"as_bool":true})"), true);
  EXPECT_EQ(get<std::string>(R"({"as_string":"\u00e9\n"})"), "\u00e9\n");
  EXPECT_EQ(get<std::complex<double>>(R"({"as_complex":{"real":1,"imag":-2.5}})"),
            std::complex<double>(1, -2.5));
  get<NoneArgument>(R"({"as_none":true})");
  get<NoneArgument>(R"({"as_tensor":null,"as_none":true})");
}

TEST(Import, TensorsAndTheirLists) {
  EXPECT_EQ(get<TensorArgument>(R"({"as_tensor":{"name":"x"}})").name, "x");
  EXPECT_EQ(get<TensorArgument>(R"({"as_optional_tensor":{"as_tensor":{"name":"x"}}})").name, "x");
  get<NoneArgument>(R"({"as_optional_tensor":{"as_none":true}})");
  EXPECT_THAT(get<TensorsArgument>(R"({"as_tensors":[{"name":"x"},{"name":""}]})").names,
              ElementsAre("x", ""));
  EXPECT_THAT(get<TensorsArgument>(
                  R"({"as_optional_tensors":[{"as_tensor":{"name":"x"}},{"as_none":true}]})")
                  .names,
              ElementsAre("x", std::nullopt));
  EXPECT_THAT(get<TensorsArgument>(R"({"as_tensors":[]})").names, IsEmpty());
}

TEST(Import, ListsOfNumbersAndSymbols) {
  const auto ints = get<IntsArgument>(R"({"as_sym_ints":[{"as_int":3},{"as_name":"sym_size"}]})");
  ASSERT_EQ(ints.values.size(), 2u);
  EXPECT_EQ(std::get<std::int64_t>(ints.values[0]), 3);
  EXPECT_EQ(std::get<SymbolArgument>(ints.values[1]).name, "sym_size");
  EXPECT_EQ(std::get<std::int64_t>(get<IntsArgument>(R"({"as_ints":[7,8]})").values.at(1)), 8);
  EXPECT_EQ(std::get<double>(get<FloatsArgument>(R"({"as_floats":[1,2.5]})").values.at(1)), 2.5);
  EXPECT_EQ(std::get<bool>(get<BoolsArgument>(R"({"as_bools":[false,true]})").values.at(1)), true);
  EXPECT_THAT(get<StringsArgument>(R"({"as_strings":["a","b"]})").values, ElementsAre("a", "b"));
  const auto symbol = get<SymbolArgument>(R"({"as_sym_bool":{"as_name":"ge"}})");
  EXPECT_EQ(symbol.name, "ge");
  EXPECT_EQ(symbol.kind, SymbolArgument::Kind::kBool);
  EXPECT_EQ(get<SymbolArgument>(R"({"as_sym_float":{"as_name":"f"}})").kind,
            SymbolArgument::Kind::kFloat);
  EXPECT_EQ(get<std::int64_t>(R"({"as_sym_int":{"as_int":5}})"), 5);
}

TEST(Import, TypesAndPlaces) {
  EXPECT_EQ(get<DType>(R"({"as_scalar_type":13})"), DType::kBFloat16);
  EXPECT_EQ(get<DType>(R"({"as_scalar_type":28})"), DType::kUInt16);
  EXPECT_EQ(get<MemoryFormat>(R"({"as_memory_format":2})"), MemoryFormat::kChannelsLast);
  EXPECT_EQ(get<LayoutArgument>(R"({"as_layout":7})").layout, 7);
  const auto device = get<DeviceArgument>(R"({"as_device":{"type":"cuda","index":1}})");
  EXPECT_EQ(device.type, "cuda");
  EXPECT_EQ(device.index, 1);
  EXPECT_EQ(get<DeviceArgument>(R"({"as_device":{"type":"cpu","index":null}})").index,
            std::nullopt);
  EXPECT_EQ(get<OperatorArgument>(R"({"as_operator":"torch.ops.aten.add.Tensor"})").target,
            "aten.add.Tensor");
  const auto object =
      get<CustomObjectArgument>(R"({"as_custom_obj":{"name":"o","class_fqn":"C"}})");
  EXPECT_EQ(object.name + object.class_name, "oC");
}

TEST(Import, SubGraphs) {
  const auto graph = get<GraphArgument>(
      R"({"as_graph":{"name":"true_graph_0","graph":{"inputs":[{"as_tensor":{"name":"a"}}],
          "outputs":[{"as_tensor":{"name":"a"}}],"nodes":[],"tensor_values":{"a":)" +
      std::string(kMeta) + R"(},"is_single_tensor_return":true}}})");
  EXPECT_EQ(graph.name, "true_graph_0");
  ASSERT_NE(graph.graph, nullptr);
  EXPECT_TRUE(graph.graph->single_tensor_return);
  EXPECT_EQ(graph.graph->tensors.count("a"), 1u);
}

TEST(Import, TargetsLoseTheirNamespaceAndNodesAreNamed) {
  Text text;
  for (const char* target : {"torch.ops.aten.add.Tensor", "torch.ops.higher_order.cond",
                             "_operator.mul", "torch.sym_max", "math.trunc"}) {
    if (!text.nodes.empty()) text.nodes += ",";
    text.nodes += R"({"target":")" + std::string(target) +
                  R"(","inputs":[],"outputs":[{"as_tensor":{"name":"out"}}],"metadata":{}})";
  }
  const auto program = import(text);
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  std::vector<std::string> targets;
  for (const Node& node : program->graph.nodes) {
    targets.push_back(node.target);
    EXPECT_EQ(node.name, "out");
  }
  EXPECT_THAT(targets, ElementsAre("aten.add.Tensor", "higher_order.cond", "_operator.mul",
                                   "torch.sym_max", "math.trunc"));
}

TEST(Import, SymbolsHaveRangesHintsAndOrigins) {
  Text text;
  text.ranges =
      R"({"s0":{"min_val":2,"max_val":8},"u0":{"min_val":0,"max_val":9223372036854775806},
          "2*s1":{"min_val":8,"max_val":64},"u1":{"min_val":null,"max_val":16}})";
  text.tensors =
      R"("x":)" +
      meta_of(expr("Mul(Integer(2), Symbol('s1', positive=True, integer=True))") + "," +
                  expr("Symbol('s1', positive=True, integer=True)", R"({"as_int":6})") + "," +
                  expr("Symbol('s0', positive=True, integer=True)", R"({"as_int":4})"),
              R"({"as_int":1},{"as_int":1},{"as_int":1})");
  text.sym_ints = R"("item":)" + expr("Symbol('u0', integer=True)") + R"(,"other":)" + expr("u1") +
                  R"(,"number":{"as_int":3})";
  text.sym_bools = R"("ge":)" + expr("GreaterThan(Symbol('u0', integer=True), Integer(4))") +
                   R"(,"yes":{"as_bool":true})";
  text.sym_floats = R"("f":{"as_float":2.5},"g":)" + expr("ToFloat(u0)");
  const auto program = import(text);
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  const auto& symbols = program->symbols;
  ASSERT_EQ(symbols.size(), 4u);
  EXPECT_EQ(symbols.at("s0")->lower, 2);
  EXPECT_EQ(symbols.at("s0")->upper, 8);
  EXPECT_FALSE(symbols.at("s0")->from_data);
  EXPECT_EQ(symbols.at("s0")->hint, 4);
  // Known from a later use than the first.
  EXPECT_EQ(symbols.at("s1")->hint, 6);
  EXPECT_EQ(symbols.at("s1")->lower, 0);
  EXPECT_TRUE(symbols.at("u0")->from_data);
  EXPECT_EQ(symbols.at("u0")->lower, 0);
  EXPECT_EQ(symbols.at("u0")->upper, ir::kUnbounded);
  EXPECT_EQ(symbols.at("u1")->lower, -ir::kUnbounded);
  EXPECT_EQ(symbols.at("u1")->upper, 16);
  ASSERT_EQ(program->range_constraints.size(), 1u);
  EXPECT_EQ(program->range_constraints[0].first, ir::Size::symbol(symbols.at("s1")) * 2);
  EXPECT_EQ(program->range_constraints[0].second.lower, 8);
  EXPECT_EQ(program->range_constraints[0].second.upper, 64);
  EXPECT_EQ(program->graph.sym_ints.at("number"), ir::Size(3));
  EXPECT_EQ(program->graph.sym_bools.at("ge"),
            ir::less_equal(4, ir::Size::symbol(symbols.at("u0"))));
  EXPECT_EQ(program->graph.sym_floats.at("f"), 2.5);
  EXPECT_EQ(program->graph.sym_floats.at("g"), std::nullopt);
  // One symbol is one object wherever it appears.
  EXPECT_EQ(program->graph.tensors.at("x").sizes[0], program->graph.tensors.at("x").sizes[1] * 2);
}

TEST(Import, IntegersThatOnlyFloatsGiveBecomeData) {
  Text text;
  text.sym_ints = R"("n":)" + expr("TruncToInt(OpaqueUnaryFn_sqrt(ToFloat(s0)))") + R"(,"m":)" +
                  expr("TruncToInt(OpaqueUnaryFn_sqrt(ToFloat(s0)))");
  const auto program = import(text);
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  EXPECT_TRUE(program->graph.sym_ints.at("n").depends_on_data());
  EXPECT_EQ(program->graph.sym_ints.at("n"), program->graph.sym_ints.at("m"));
}

TEST(Import, Signatures) {
  Text text;
  text.input_specs =
      R"({"parameter":{"arg":{"name":"p"},"parameter_name":"w.weight"}},
         {"buffer":{"arg":{"name":"b"},"buffer_name":"mean","persistent":false}},
         {"tensor_constant":{"arg":{"name":"c"},"tensor_constant_name":"lifted"}},
         {"custom_obj":{"arg":{"name":"o"},"custom_obj_name":"obj"}},
         {"token":{"arg":{"name":"t"}}},
         {"constant_input":{"name":"flag","value":{"as_bool":true}}},
         {"user_input":{"arg":{"as_tensor":{"name":"x"}}}},
         {"user_input":{"arg":{"as_sym_int":{"as_name":"n"}}}})";
  text.output_specs =
      R"({"buffer_mutation":{"arg":{"name":"add"},"buffer_name":"mean"}},
         {"parameter_mutation":{"arg":{"name":"add"},"parameter_name":"w.weight"}},
         {"user_input_mutation":{"arg":{"name":"add"},"user_input_name":"x"}},
         {"user_output":{"arg":{"as_tensor":{"name":"add"}}}},
         {"user_output":{"arg":{"as_none":true}}},
         {"loss_output":{"arg":{"name":"add"}}},
         {"token":{"arg":{"name":"t"}}})";
  const auto program = import(text);
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  std::vector<InputSpec::Kind> inputs;
  for (const InputSpec& spec : program->inputs) inputs.push_back(spec.kind);
  using In = InputSpec::Kind;
  EXPECT_THAT(inputs,
              ElementsAre(In::kParameter, In::kBuffer, In::kTensorConstant, In::kCustomObject,
                          In::kToken, In::kConstantInput, In::kUserInput, In::kUserInput));
  EXPECT_EQ(program->inputs[0].target, "w.weight");
  EXPECT_EQ(program->inputs[0].name, "p");
  EXPECT_FALSE(program->inputs[1].persistent);
  EXPECT_EQ(program->inputs[5].name, "flag");
  EXPECT_EQ(std::get<bool>(program->inputs[5].argument), true);
  EXPECT_EQ(program->inputs[7].name, "n");
  std::vector<OutputSpec::Kind> outputs;
  for (const OutputSpec& spec : program->outputs) outputs.push_back(spec.kind);
  using Out = OutputSpec::Kind;
  EXPECT_THAT(outputs,
              ElementsAre(Out::kBufferMutation, Out::kParameterMutation, Out::kUserInputMutation,
                          Out::kUserOutput, Out::kUserOutput, Out::kLossOutput, Out::kToken));
  EXPECT_EQ(program->outputs[2].target, "x");
  EXPECT_EQ(program->output_tree, "out");
}

TEST(Import, NewerMinorVersionsWarnOfFieldsThatAreIgnored) {
  Text text;
  text.extra = R"("sealed":true,"nothing":null,)";
  text.nodes = R"({"target":"f","inputs":[],"outputs":[],"metadata":{},"priority":1},
                  {"target":"f","inputs":[],"outputs":[],"metadata":{},"priority":2})";
  EXPECT_THAT(import(text)->warnings, IsEmpty());
  text.version = R"({"major":8,"minor":18})";
  EXPECT_THAT(import(text)->warnings,
              ElementsAre("the program has schema version 8.18, newer than 8.17; ignored fields: "
                          "ExportedProgram.sealed (1 time) Node.priority (2 times)"));
}

struct Wrong {
  const char* what;
  void (*change)(Text&);
  StatusCode code;
  const char* message;
};

class WrongPrograms : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongPrograms, AreRefusedWithPlaceAndReason) {
  Text text;
  GetParam().change(text);
  const auto program = import(text);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), GetParam().code) << program.status().to_string();
  EXPECT_THAT(program.status().message(), HasSubstr(GetParam().message));
}

void set_node(Text& text, const std::string& argument) {
  text.nodes = R"({"target":"torch.ops.aten.f.default","inputs":[{"name":"a","arg":)" + argument +
               R"(}],"outputs":[]})";
}

constexpr StatusCode kLoss = StatusCode::kDataLoss;
constexpr StatusCode kLater = StatusCode::kUnimplemented;

INSTANTIATE_TEST_SUITE_P(
    Import, WrongPrograms,
    ::testing::Values(
        Wrong{"OtherMajor", [](Text& t) { t.version = R"({"major":9,"minor":0})"; }, kLater,
              "schema version 9.0"},
        Wrong{"NoVersionNumbers", [](Text& t) { t.version = "{}"; }, kLoss, "'major' is missing"},
        Wrong{"NotJson", [](Text& t) { t.nodes = "}"; }, kLoss, "not JSON"},
        Wrong{
            "NegativeSize",
            [](Text& t) { t.tensors = R"("x":)" + meta_of(R"({"as_int":-3})", R"({"as_int":1})"); },
            kLoss, "tensor 'x': a size of -3"},
        Wrong{"StridesAndSizesDiffer",
              [](Text& t) { t.tensors = R"("x":)" + meta_of(R"({"as_int":3})", ""); }, kLoss,
              "tensor 'x': 1 sizes and 0 strides"},
        Wrong{"SizeWithoutValue",
              [](Text& t) { t.tensors = R"("x":)" + meta_of("{}", R"({"as_int":1})"); }, kLoss,
              "'as_expr' is missing"},
        Wrong{"BrokenExpression", [](Text& t) { t.sym_ints = R"("n":)" + expr("Add(s0,"); }, kLoss,
              "Add(s0,"},
        Wrong{"Float8", [](Text& t) { t.tensors = R"("x":{"dtype":29,"sizes":[],"strides":[]})"; },
              kLater, "tensor 'x': dtype number 29"},
        Wrong{"Sparse",
              [](Text& t) { t.tensors = R"("x":{"dtype":7,"layout":1,"sizes":[],"strides":[]})"; },
              kLater, "tensor 'x': layout number 1"},
        Wrong{"UnknownArgument", [](Text& t) { set_node(t, R"({"as_future":1})"); }, kLater,
              "node 0 (aten.f.default): argument 'a': an argument of the kind 'as_future'"},
        Wrong{"EmptyUnion", [](Text& t) { set_node(t, "{}"); }, kLoss, "argument 'a'"},
        Wrong{"TextForANumber", [](Text& t) { set_node(t, R"({"as_int":"1"})"); }, kLoss,
              "expected an integer"},
        Wrong{"HugeNumber", [](Text& t) { set_node(t, R"({"as_int":9223372036854775808})"); },
              kLoss, "expected an integer"},
        Wrong{"NumberForAList", [](Text& t) { set_node(t, R"({"as_ints":1})"); }, kLoss,
              "node 0 (aten.f.default)"},
        Wrong{"MemoryFormat", [](Text& t) { set_node(t, R"({"as_memory_format":9})"); }, kLoss,
              "memory format number 9"},
        Wrong{"UnknownInput", [](Text& t) { t.input_specs = R"({"future":{}})"; }, kLater,
              "an input of a kind"},
        Wrong{"UnknownOutput", [](Text& t) { t.output_specs = R"({"future":{}})"; }, kLater,
              "an output of a kind"},
        Wrong{"EmptyRange", [](Text& t) { t.ranges = R"({"s0":{"min_val":3,"max_val":2}})"; },
              kLoss, "'s0' is empty"}),
    [](const auto& info) { return std::string(info.param.what); });

TEST(Import, JsonThatIsNotAProgram) {
  for (const std::string json : {"{}", R"({"config":{}})"}) {
    const auto program = import_program(std::as_bytes(std::span(json.data(), json.size())));
    ASSERT_FALSE(program.ok());
    EXPECT_EQ(program.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(program.status().message(), HasSubstr("graph_module"));
  }
}

}  // namespace
}  // namespace tendon::archive
