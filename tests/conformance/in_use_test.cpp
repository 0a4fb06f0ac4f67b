// The operators that real models use: each has a program here, which the engines run with several
// batch sizes, and none is held back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "archive/json.h"
#include "archive/load.h"
#include "suite.h"

namespace tendon::conformance {
namespace {

std::set<std::string> listed_operators() {
  std::ifstream file(TENDON_OPERATORS_IN_USE);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  rapidjson::Document document;
  archive::parse_json(document, text);
  std::set<std::string> names;
  for (const auto& entry : archive::member(document, "operators").GetObject()) {
    names.insert(archive::text_of(entry.name));
  }
  return names;
}

bool contains(const archive::Program& program, const std::string& target) {
  return std::any_of(program.graph.nodes.begin(), program.graph.nodes.end(),
                     [&](const archive::Node& node) { return node.target == target; });
}

TEST(OperatorsInUse, HaveAProgramEachThatIsRunWithSeveralBatchSizes) {
  const auto cases = read_cases(TENDON_CONFORMANCE_DATA "/in_use.zip");
  ASSERT_TRUE(cases.ok()) << cases.status().to_string();
  std::set<std::string> covered;
  for (const Case& test : *cases) {
    SCOPED_TRACE(test.name);
    const auto program = archive::read_program(*test.program, test.program, test.name);
    ASSERT_TRUE(program.ok()) << program.status().to_string();
    // What takes a tensor out of a list is not a node of an archive.
    EXPECT_TRUE(contains(*program, test.name) || test.name.ends_with(".getitem"));
    EXPECT_GE(test.calls.size(), 2U);
    covered.insert(test.name);
  }
  EXPECT_EQ(covered, listed_operators());
}

TEST(OperatorsInUse, AreNotHeldBack) {
  for (const char* engine : {"oracle", "passes", "cpu"}) {
    const auto held_back = HeldBack::read(TENDON_HELD_BACK, engine);
    ASSERT_TRUE(held_back.ok()) << held_back.status().to_string();
    for (const std::string& name : listed_operators()) EXPECT_EQ(held_back->reason(name), nullptr);
  }
}

}  // namespace
}  // namespace tendon::conformance
