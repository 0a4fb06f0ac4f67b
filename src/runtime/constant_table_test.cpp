#include "runtime/constant_table.h"

#include <gtest/gtest.h>

namespace tendon::runtime {
namespace {

Tensor tensor(bool& alive) {
  alive = true;
  Tensor owned = *Tensor::allocate(DType::kFloat32, {3});
  return Tensor(owned.view(),
                std::shared_ptr<void>(&alive, [owned](bool* flag) { *flag = false; }));
}

/// A plan in which the given constants are buffers.
schedule::Plan plan(const std::vector<int>& constants) {
  schedule::Plan result;
  for (const int index : constants) {
    schedule::Buffer buffer;
    buffer.kind = schedule::Buffer::Kind::kConstant;
    buffer.index = index;
    result.buffers.push_back(buffer);
  }
  return result;
}

TEST(ConstantTable, WhatNoPlanReadsIsDroppedOnceFoldingIsDone) {
  bool read = false, unread = false;
  ConstantTable table;
  table.add(tensor(read));
  table.add(tensor(unread));
  table.release(0);
  EXPECT_TRUE(read) << "folding may read everything";
  table.settle(plan({0}));
  EXPECT_TRUE(read);
  EXPECT_FALSE(unread);
}

TEST(ConstantTable, AReleasedConstantLivesAsLongAsSomebodyHoldsIt) {
  bool alive = false;
  ConstantTable table;
  table.add(tensor(alive));
  table.settle(plan({0}));
  {
    const Tensor held = table.constant(0);
    table.release(0);
    EXPECT_TRUE(alive);
    EXPECT_EQ(table.constant(0).view().data, nullptr);
  }
  EXPECT_FALSE(alive);
}

TEST(ConstantTable, AConstantOfSeveralPlansStays) {
  bool alive = false;
  ConstantTable table;
  table.add(tensor(alive));
  schedule::Plan outer = plan({0});
  outer.subplans.emplace_back(nullptr, std::make_shared<const schedule::Plan>(plan({0})));
  table.settle(outer);
  table.release(0);
  EXPECT_TRUE(alive);
}

}  // namespace
}  // namespace tendon::runtime
