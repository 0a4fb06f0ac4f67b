#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "backends/cpu/test_graph_runner.h"
#include "backends/cpu/test_graphs.h"

namespace tendon::backends::cpu {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kUntouched = -7;

/// Memory for `room` positions after the positions of a mask's true elements were stored there. The
/// size from data that is their number may be at most `limit`.
std::vector<std::int64_t> compact(const std::vector<bool>& mask, std::int64_t limit,
                                  std::size_t room, std::int64_t& count) {
  const auto elements = static_cast<std::int64_t>(mask.size());
  const auto symbol = std::make_shared<ir::Symbol>();
  symbol->name = "u0";
  symbol->upper = limit;
  symbol->from_data = true;
  const ir::Size size = ir::Size::symbol(symbol);
  TestGraph g;
  const ir::ValueId input = g.input(DType::kBool, {elements});
  const ir::NodeId node = g.graph.add(ir::Compact{symbol}, {input}, {{DType::kInt64, {size}}});
  g.output(g.graph.node(node).outputs[0]);
  const auto plan = schedule::make_plan(std::make_shared<const ir::Graph>(std::move(g.graph)), {});
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  const auto step = compile_step(CompileContext{plan->get(), nullptr, 1}, (*plan)->steps.at(0));
  EXPECT_TRUE(step.ok()) << step.status().to_string();

  TestBindings bindings;
  TestErrors errors;
  EXPECT_TRUE((*step)->bind(bindings).ok());
  Tensor flags = *Tensor::allocate(DType::kBool, {elements});
  std::copy(mask.begin(), mask.end(), flags.as<bool>());
  std::vector<std::int64_t> positions(room, kUntouched);
  std::vector<std::byte*> buffers;
  for (const schedule::Buffer& buffer : (*plan)->buffers) {
    buffers.push_back(buffer.kind == schedule::Buffer::Kind::kInput
                          ? flags.as<std::byte>()
                          : reinterpret_cast<std::byte*>(positions.data()));
  }
  std::vector<std::byte> scratch((*step)->scratch_bytes() + 64);
  void* aligned = scratch.data();
  std::size_t space = scratch.size();
  std::align(64, scratch.size() - 64, aligned, space);
  EXPECT_TRUE(
      (*step)->run(Frame{buffers, &bindings, &errors, static_cast<std::byte*>(aligned)}).ok());
  count = *bindings.evaluate(size);
  return positions;
}

TEST(CompactStep, StoresPositionsInOrder) {
  std::int64_t count = 0;
  EXPECT_THAT(compact({false, true, true, false, true}, 5, 5, count),
              ElementsAre(1, 2, 4, kUntouched, kUntouched));
  EXPECT_EQ(count, 3);
  EXPECT_THAT(compact({true, false, true}, 2, 3, count), ElementsAre(0, 2, kUntouched));
  EXPECT_EQ(count, 2);
}

// There is memory for as many as the program says; the run fails with the number that there are.
TEST(CompactStep, StoresNothingBehindTheLargestNumber) {
  std::int64_t count = 0;
  const std::vector<std::int64_t> positions = compact({true, true, true, true}, 2, 4, count);
  EXPECT_EQ(positions[2], kUntouched);
  EXPECT_EQ(positions[3], kUntouched);
  EXPECT_EQ(count, 4);
}

}  // namespace
}  // namespace tendon::backends::cpu
