// Who makes a matrix product: cuBLASLt, or a kernel of our own where it has no algorithm.
#include <gtest/gtest.h>

#include "backends/cpu/test_graphs.h"
#include "backends/cuda/math_libraries.h"
#include "backends/cuda/product_steps.h"
#include "schedule/schedule.h"

namespace tendon::backends::cuda {
namespace {

using cpu::TestGraph;

template <auto count>
cublasStatus_t choose(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                      cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                      cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t[],
                      int* found) {
  *found = count;
  return count > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

/// A library that has an algorithm for every product, or for none.
MathLibraries library(bool has_algorithms) {
  MathLibraries::Functions f;
  f.operation_create = [](cublasLtMatmulDesc_t*, cublasComputeType_t, cudaDataType_t) {
    return CUBLAS_STATUS_SUCCESS;
  };
  f.operation_destroy = [](cublasLtMatmulDesc_t) { return CUBLAS_STATUS_SUCCESS; };
  f.operation_set = [](cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void*,
                       std::size_t) { return CUBLAS_STATUS_SUCCESS; };
  f.layout_create = [](cublasLtMatrixLayout_t*, cudaDataType, std::uint64_t, std::uint64_t,
                       std::int64_t) { return CUBLAS_STATUS_SUCCESS; };
  f.layout_destroy = [](cublasLtMatrixLayout_t) { return CUBLAS_STATUS_SUCCESS; };
  f.layout_set = [](cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, const void*,
                    std::size_t) { return CUBLAS_STATUS_SUCCESS; };
  f.preference_create = [](cublasLtMatmulPreference_t*) { return CUBLAS_STATUS_SUCCESS; };
  f.preference_destroy = [](cublasLtMatmulPreference_t) { return CUBLAS_STATUS_SUCCESS; };
  f.preference_set = [](cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                        const void*, std::size_t) { return CUBLAS_STATUS_SUCCESS; };
  f.choose = has_algorithms ? choose<1> : choose<0>;
  return MathLibraries(f);
}

/// The sources of a product [rows, 96] by [96, 200] whose sizes are then `known`.
std::string source_of_product(const ir::Size& rows, MathLibraries* math, const KnownSizes& known) {
  TestGraph test;
  const ir::ValueId a = test.input(DType::kFloat32, {rows, 96});
  const ir::ValueId b = test.input(DType::kFloat32, {96, 200});
  const ir::NodeId product = test.graph.add(ir::Matmul{}, {a, b}, {{DType::kFloat32, {rows, 200}}});
  test.output(test.graph.node(product).outputs[0]);
  schedule::separate_outputs(test.graph);
  const auto plan =
      *schedule::make_plan(std::make_shared<const ir::Graph>(std::move(test.graph)), {});
  KernelLibrary library;
  SymbolNumbers symbols;
  CheckTable checks;
  CompileContext context;
  context.plan = plan.get();
  context.library = &library;
  context.symbols = &symbols;
  context.checks = &checks;
  context.math = math;
  const auto step =
      make_matmul_step(context, std::get<schedule::NodeKernel>(plan->steps[0].kernel).node);
  EXPECT_TRUE(step.ok()) << step.status().to_string();
  const Status bound = (*step)->bind(known);
  EXPECT_TRUE(bound.ok()) << bound.to_string();
  const auto units = library.units();
  return units.empty() ? "" : units[0];
}

constexpr const char* kTiled = "tiled_product<";

TEST(MatmulStep, WhatTheLibraryRefusesIsTiled) {
  MathLibraries none = library(false);
  EXPECT_NE(source_of_product(300, &none, {}).find(kTiled), std::string::npos);
}

TEST(MatmulStep, SizesThatBecomeKnownLaterMayBeRefused) {
  const auto symbol = std::make_shared<ir::Symbol>(ir::Symbol{"s0", 128, 4096});
  KnownSizes known;
  known.define(*symbol, 300);
  MathLibraries none = library(false);
  EXPECT_NE(source_of_product(ir::Size::symbol(symbol), &none, known).find(kTiled),
            std::string::npos);
}

TEST(MatmulStep, WithoutTheLibraryProductsAreTiled) {
  EXPECT_NE(source_of_product(300, nullptr, {}).find(kTiled), std::string::npos);
}

TEST(MatmulStep, WhatTheLibraryTakesIsNotCompiledTwice) {
  MathLibraries all = library(true);
  EXPECT_EQ(source_of_product(300, &all, {}), "");
}

}  // namespace
}  // namespace tendon::backends::cuda
