#include "base/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace tendon::base {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Trace, NestedSpansLieInsideEachOther) {
  TraceSink sink;
  {
    ScopedSpan outer(&sink, "load", "outer");
    EXPECT_TRUE(outer.active());
    outer.argument("bytes", "12");
    ScopedSpan inner(&sink, "step", "inner");
  }
  const auto spans = sink.take();
  ASSERT_EQ(spans.size(), 2u);
  const TraceSpan &inner = spans[0], &outer = spans[1];
  EXPECT_EQ(inner.name, "inner");
  EXPECT_EQ(outer.category, "load");
  EXPECT_THAT(outer.arguments, ElementsAre(Pair("bytes", "12")));
  EXPECT_GE(inner.begin_ns, outer.begin_ns);
  EXPECT_LE(inner.begin_ns + inner.duration_ns, outer.begin_ns + outer.duration_ns);
  EXPECT_EQ(inner.thread, outer.thread);
  EXPECT_TRUE(sink.take().empty());
}

TEST(Trace, WithoutASinkNothingHappens) {
  ScopedSpan span(nullptr, "load", "nothing");
  EXPECT_FALSE(span.active());
  span.argument("key", "value");
}

TEST(Trace, ThreadsAreToldApart) {
  TraceSink sink;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&sink] {
        for (int j = 0; j < 100; ++j) ScopedSpan span(&sink, "step", "work");
      });
    }
  }
  auto spans = sink.take();
  EXPECT_EQ(spans.size(), 400u);
  std::vector<std::int64_t> threads;
  for (const auto& span : spans) threads.push_back(span.thread);
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  EXPECT_EQ(threads.size(), 4u);
}

}  // namespace
}  // namespace tendon::base
