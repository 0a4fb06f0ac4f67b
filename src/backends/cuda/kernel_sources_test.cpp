// Kernels of small graphs compile for GPUs that are not here: sm_80, sm_90 and sm_120.
#include <gtest/gtest.h>

#include "backends/cpu/test_graphs.h"
#include "backends/cuda/compile_step.h"
#include "schedule/schedule.h"

namespace tendon::backends::cuda {
namespace {

using cpu::Positions;
using cpu::TestGraph;

/// The units of all steps of the graph.
std::vector<std::string> sources(TestGraph& test) {
  schedule::separate_outputs(test.graph);
  auto plan = schedule::make_plan(std::make_shared<const ir::Graph>(std::move(test.graph)), {});
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  KernelLibrary library;
  SymbolNumbers symbols;
  CheckTable checks;
  const CompileContext context{plan->get(), &library, &symbols, &checks, nullptr, "test"};
  std::vector<std::unique_ptr<Step>> steps;
  for (const schedule::Step& step : (*plan)->steps) {
    auto made = compile_step(context, step);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    if (made.ok()) steps.push_back(std::move(*made));
  }
  return library.units();
}

void expect_compiles(TestGraph& test) {
  const std::vector<std::string> units = sources(test);
  ASSERT_FALSE(units.empty());
  for (const std::string& unit : units) {
    for (const int capability : {80, 90, 120}) {
      const auto binary = compile_unit(unit, capability);
      ASSERT_TRUE(binary.ok()) << binary.status().to_string() << unit;
      EXPECT_GT(binary->size(), 100u);
    }
  }
}

ir::Size dynamic_size() {
  return ir::Size::symbol(std::make_shared<ir::Symbol>(ir::Symbol{"s0", 1, 64}));
}

TEST(KernelSources, WrongSourceIsRefusedWithTheCompilersWords) {
  const auto binary = compile_unit("__global__ void f() { nonsense; }", 90);
  ASSERT_FALSE(binary.ok());
  EXPECT_NE(binary.status().to_string().find("nonsense"), std::string::npos);
}

TEST(KernelSources, NormalisationOverHalves) {
  TestGraph test;
  const ir::Size rows = dynamic_size();
  const ir::ValueId x = test.input(DType::kBFloat16, {rows, 96});
  const auto as_float = [&](const Positions& at) {
    return test.graph.pool.cast(DType::kFloat32, test.load(x, at));
  };
  const auto moments = test.reduce(ir::ReduceOp::kMoments, {rows}, {96}, as_float);
  const ir::ValueId y = test.map({rows, 96}, [&](const Positions& at) {
    ir::ExprPool& pool = test.graph.pool;
    const ir::ExprId centred =
        pool.binary(ir::Op::kSubtract, as_float(at), test.load(moments[0], {at[0]}));
    const ir::ExprId scale = pool.unary(ir::Op::kRsqrt, test.load(moments[1], {at[0]}));
    return pool.cast(DType::kBFloat16, pool.binary(ir::Op::kMultiply, centred, scale));
  });
  test.output(y);
  expect_compiles(test);
}

TEST(KernelSources, EveryReductionOfEveryType) {
  using enum ir::ReduceOp;
  TestGraph test;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kUInt8}) {
    const ir::ValueId x = test.input(dtype, {33, 70});
    for (const ir::ReduceOp op : {kSum, kProduct, kMin, kMax, kArgMin, kArgMax}) {
      test.output(
          test.reduce(op, {33}, {70}, [&](const Positions& at) { return test.load(x, at); })[0]);
    }
  }
  const ir::ValueId flags = test.input(DType::kBool, {33, 70});
  for (const ir::ReduceOp op : {kAny, kAll}) {
    test.output(
        test.reduce(op, {33}, {70}, [&](const Positions& at) { return test.load(flags, at); })[0]);
  }
  expect_compiles(test);
}

TEST(KernelSources, EveryOperationOfFloats) {
  TestGraph test;
  const ir::ValueId x = test.input(DType::kFloat32, {100});
  const ir::ValueId y = test.map({100}, [&](const Positions& at) {
    ir::ExprPool& pool = test.graph.pool;
    ir::ExprId sum = test.load(x, at);
    for (int op = static_cast<int>(ir::Op::kNegate); op <= static_cast<int>(ir::Op::kSigmoid); ++op)
      sum = pool.binary(ir::Op::kAdd, sum, pool.unary(static_cast<ir::Op>(op), test.load(x, at)));
    for (int op = static_cast<int>(ir::Op::kAdd); op <= static_cast<int>(ir::Op::kMaximum); ++op)
      sum = pool.binary(ir::Op::kAdd, sum,
                        pool.binary(static_cast<ir::Op>(op), sum, test.load(x, at)));
    return sum;
  });
  test.output(y);
  expect_compiles(test);
}

TEST(KernelSources, MaskReadsSortsAndProducts) {
  TestGraph test;
  const ir::Size rows = dynamic_size();
  const ir::ValueId mask = test.input(DType::kBool, {rows});
  const auto count = std::make_shared<ir::Symbol>(ir::Symbol{"u0", 0, 64, true});
  const ir::Size selected = ir::Size::symbol(count);
  const ir::NodeId compact =
      test.graph.add(ir::Compact{count}, {mask}, {{DType::kInt64, {selected}}});
  const ir::ValueId positions = test.graph.node(compact).outputs[0];
  const ir::ValueId x = test.input(DType::kFloat32, {rows, 32});
  const ir::ValueId taken = test.map({selected, 32}, [&](const Positions& at) {
    const ir::ExprId row = test.graph.pool.check_index(test.load(positions, {at[0]}), {rows});
    return test.load(x, {row, at[1]});
  });
  const ir::ValueId weight = test.input(DType::kFloat32, {32, 24});
  const ir::NodeId product =
      test.graph.add(ir::Matmul{}, {taken, weight}, {{DType::kFloat32, {selected, 24}}});
  const ir::ValueId y = test.graph.node(product).outputs[0];
  const ir::NodeId sort = test.graph.add(
      ir::Sort{1, true}, {y}, {{DType::kFloat32, {selected, 24}}, {DType::kInt64, {selected, 24}}});
  test.output(test.graph.node(sort).outputs[0]);
  test.output(test.graph.node(sort).outputs[1]);
  expect_compiles(test);
}

}  // namespace
}  // namespace tendon::backends::cuda
