#include "archive/guards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "archive/program_text.h"

namespace tendon::archive {
namespace {

using namespace program_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kLeaf[] = R"({"type":null,"context":null,"children_spec":[]})";

std::string tree(const std::string& type, const std::string& context, const std::string& children) {
  return R"({"type":")" + type + R"(","context":)" + context + R"(,"children_spec":[)" + children +
         "]}";
}

/// Of forward(image, images, options, *, flag): a tensor, a list of two, a dict, an integer.
Text program() {
  Text text;
  const std::string leaf = kLeaf;
  const std::string positional =
      leaf + "," + tree("builtins.list", R"("null")", leaf + "," + leaf) + "," +
      tree("builtins.dict", R"("[\"mask\", 3]")",
           leaf + "," + tree("collections.OrderedDict", R"("[\"it's\"]")", leaf));
  text.in_spec = "[1," +
                 tree("builtins.tuple", R"("null")",
                      tree("builtins.tuple", R"("null")", positional) + "," +
                          tree("builtins.dict", R"("[\"count\"]")", leaf)) +
                 "]";
  text.names = R"(["image","images","options","count"])";
  text.tensors.clear();
  text.ranges = R"({"s0":{"min_val":1,"max_val":64},"s1":{"min_val":1,"max_val":64}})";
  int i = 0;
  for (const char* name : {"image", "images_0", "images_1", "mask", "its"}) {
    const std::string size = "s" + std::to_string(i++);
    text.tensors += (i > 1 ? ",\"" : "\"") + std::string(name) + "\":" +
                    meta_of(expr(size) + R"(,{"as_int":3})", R"({"as_int":3},{"as_int":1})");
    text.input_specs +=
        R"({"user_input":{"arg":{"as_tensor":{"name":")" + std::string(name) + R"("}}}},)";
  }
  text.input_specs += R"({"user_input":{"arg":{"as_sym_int":{"as_name":"count"}}}})";
  text.sym_ints = R"("count":)" + expr("s9");
  return text;
}

/// What a guard means, in the program above.
std::string meaning(const std::string& guard) {
  Text text = program();
  std::string escaped;
  for (const char c : guard) escaped += c == '"' ? "\\\"" : std::string(1, c);
  text.guards = "[\"" + escaped + "\"]";
  const auto imported = import(text);
  EXPECT_TRUE(imported.ok()) << imported.status().to_string();
  if (!imported.ok()) return "";
  if (!imported->warnings.empty()) return imported->warnings[0];
  EXPECT_EQ(imported->guards.at(0).second, guard);
  return imported->guards.at(0).first.to_string();
}

/// The same conditions written over symbols.
std::string condition(const std::string& text) {
  Text whole = program();
  whole.sym_bools = "\"b\":" + expr(text);
  return import(whole)->graph.sym_bools.at("b").to_string();
}

TEST(Guards, PathsFollowTheTreeOfInputs) {
  EXPECT_EQ(meaning("L['image'].size()[0] == L['images'][0].size()[0]"), condition("Eq(s0, s1)"));
  EXPECT_EQ(meaning("L['images'][1].size()[0] < 2*L['options']['mask'].size()[0]"),
            condition("s2 < 2*s3"));
  EXPECT_EQ(meaning("L['options'][3][\"it's\"].size()[0] > 5"), condition("s4 > 5"));
  EXPECT_EQ(meaning("L['count'] <= 100"), condition("s9 <= 100"));
  EXPECT_EQ(meaning("L['kwargs']['count'] <= 100"), condition("s9 <= 100"));
  EXPECT_EQ(meaning("L['image'].size()[-2] % 2 == 0"), condition("Eq(Mod(s0, 2), 0)"));
  EXPECT_EQ(meaning("L['image'].stride()[0] == 3"), "1");
  EXPECT_EQ(meaning("L['image'].ndim == 3"), "0");
  EXPECT_EQ(meaning("s0 >= 2"), condition("s0 >= 2"));
}

TEST(Guards, StarredParametersAreIndexed) {
  Text text;
  const std::string leaf = kLeaf;
  text.in_spec = "[1," +
                 tree("builtins.tuple", R"("null")",
                      tree("builtins.tuple", R"("null")", leaf + "," + leaf + "," + leaf) + "," +
                          tree("builtins.dict", R"("[]")", "")) +
                 "]";
  text.names = R"(["first","args_0","args_1"])";
  text.tensors.clear();
  for (const char* name : {"a", "b", "c"}) {
    text.tensors += (text.tensors.empty() ? "\"" : ",\"") + std::string(name) +
                    "\":" + meta_of(expr("s" + std::string(name)), R"({"as_int":1})");
    text.input_specs += (text.input_specs.empty() ? "" : ",") +
                        (R"({"user_input":{"arg":{"as_tensor":{"name":")" + std::string(name)) +
                        R"("}}}})";
  }
  text.guards = R"(["L['args'][0].size()[0] == L['args'][1].size()[0]",
                    "L['first'].size()[0] < L['args_1'].size()[0]"])";
  const auto imported = import(text);
  ASSERT_TRUE(imported.ok()) << imported.status().to_string();
  EXPECT_THAT(imported->warnings, IsEmpty());
  ASSERT_EQ(imported->guards.size(), 2u);
  const auto symbol = [&](const char* name) {
    return ir::Size::symbol(imported->symbols.at(name));
  };
  EXPECT_EQ(imported->guards[0].first, ir::equal(symbol("sb"), symbol("sc")));
  EXPECT_EQ(imported->guards[1].first, ir::less(symbol("sa"), symbol("sc")));
}

TEST(Guards, WhatCannotBeReadIsAWarning) {
  for (const char* guard : {"L['nobody'].size()[0] == 1", "L['image'].size()[2] == 1",
                            "L['images'].size()[0] == 1", "check_nothing(L['image'])",
                            "L['image'].dtype == torch.float32", "s77 > 1", "L['image'] is"}) {
    EXPECT_THAT(meaning(guard), HasSubstr("guard not checked: expression")) << guard;
  }
  Text text = program();
  text.guards = R"(["L['image'].size()[0] > 1"])";
  // The tree and the signature disagree: no path can be trusted.
  text.input_specs = R"({"user_input":{"arg":{"as_tensor":{"name":"image"}}}})";
  EXPECT_THAT(import(text)->warnings, ElementsAre(HasSubstr("no input at L['image']")));
}

TEST(Guards, TreesThatAreNotTreesAreErrors) {
  for (const char* spec : {"", "[]", "[1]", "[1,{}]", R"([1,{"type":"t","children_spec":[]}])"}) {
    Text text = program();
    text.guards = R"(["1 == 1"])";
    text.in_spec = spec;
    const auto imported = import(text);
    ASSERT_FALSE(imported.ok()) << spec;
    EXPECT_EQ(imported.status().code(), StatusCode::kDataLoss);
  }
  std::string deep = kLeaf;
  for (int i = 0; i < 1000; ++i) deep = tree("builtins.tuple", R"("null")", deep);
  Text text = program();
  text.guards = R"(["1 == 1"])";
  text.in_spec =
      "[1," +
      tree("builtins.tuple", R"("null")", tree("builtins.tuple", R"("null")", deep) + "," + kLeaf) +
      "]";
  EXPECT_THAT(import(text).status().message(), HasSubstr("nested too deep"));
}

}  // namespace
}  // namespace tendon::archive
