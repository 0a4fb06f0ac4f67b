#include "chrome_trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tendon::tools {
namespace {

TEST(ChromeTrace, TimesAreMicrosecondsFromTheEarliestSpan) {
  const auto json = nlohmann::json::parse(chrome_trace({
      {.name = "inner",
       .category = "step",
       .begin_ns = 5'000'001'500,
       .duration_ns = 2'500,
       .thread = 7,
       .arguments = {{"bytes", "12"}}},
      {.name = "outer",
       .category = "run",
       .begin_ns = 5'000'000'000,
       .duration_ns = 9'000,
       .thread = 7},
  }));
  const auto& events = json.at("traceEvents");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].at("ph"), "X");
  EXPECT_EQ(events[0].at("ts"), 1.5);
  EXPECT_EQ(events[0].at("dur"), 2.5);
  EXPECT_EQ(events[0].at("args").at("bytes"), "12");
  EXPECT_EQ(events[1].at("ts"), 0);
  EXPECT_EQ(events[1].at("cat"), "run");
  EXPECT_FALSE(events[1].contains("args"));
}

TEST(ChromeTrace, AnyNameGivesValidJson) {
  const std::string text = chrome_trace({{.name = "bad \xff \"quote\"\n", .category = "step"}});
  EXPECT_TRUE(nlohmann::json::accept(text));
  EXPECT_TRUE(nlohmann::json::accept(chrome_trace({})));
}

}  // namespace
}  // namespace tendon::tools
