// Every operation on every type, against the definition of scalar arithmetic.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "backends/cpu/test_graph_runner.h"
#include "ir/scalar_math.h"

namespace tendon::backends::cpu {
namespace {

using ir::Op;

template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::kUInt8;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::kInt8;
  if constexpr (std::is_same_v<T, std::int16_t>) return DType::kInt16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::kInt32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::kInt64;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DType::kUInt16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DType::kUInt32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return DType::kUInt64;
  if constexpr (std::is_same_v<T, Float16>) return DType::kFloat16;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::kBFloat16;
  if constexpr (std::is_same_v<T, float>) return DType::kFloat32;
  return DType::kFloat64;
}

constexpr std::int64_t kCount = 3001;

/// Numbers of all magnitudes, and those where something special happens.
template <typename T>
std::vector<T> samples(unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(kCount);
  std::vector<double> special = {0, 1, -1, 2, -2, 3, 0.5, -0.5, 1.5, 2.5, 100, -100};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = random();
    if constexpr (std::is_same_v<T, bool>) {
      values[i] = (bits & 1) != 0;
    } else if constexpr (std::is_integral_v<T>) {
      // Any number, or a small one.
      values[i] = static_cast<T>((bits & 1) != 0 ? static_cast<std::int64_t>(bits >> 8)
                                                 : static_cast<std::int64_t>(bits >> 33) % 21 - 10);
      if (i % 50 == 0) values[i] = std::numeric_limits<T>::min();
      if (i % 50 == 1) values[i] = std::numeric_limits<T>::max();
    } else {
      const double unit = static_cast<double>(bits >> 11) * 0x1p-53 * 2 - 1;
      double x = unit * 4;
      if (i % 4 == 1) x = unit * std::exp2(static_cast<double>(bits % 60) - 30);
      if (i % 4 == 2) x = unit * 90;
      if (i % 40 == 3) x = special[bits % special.size()];
      if (i % 400 == 7) x = std::numeric_limits<double>::quiet_NaN();
      if (i % 400 == 11) x = std::numeric_limits<double>::infinity();
      if (i % 400 == 15) x = -std::numeric_limits<double>::infinity();
      if (i % 400 == 19) x = -0.0;
      if (i % 400 == 23) x = 1e-42;
      values[i] = static_cast<T>(static_cast<float>(x));
    }
  }
  return values;
}

template <typename T>
Tensor tensor_of(const std::vector<T>& values) {
  Tensor tensor = *Tensor::allocate(dtype_of<T>(), {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) tensor.as<T>()[i] = values[i];
  return tensor;
}

/// out[i] = body(inputs[i]...) by this backend.
template <typename Out, typename Build>
std::vector<Out> run_map(std::vector<Tensor> inputs, Build build) {
  ir::Graph graph;
  std::vector<ir::ExprId> loads;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    graph.add(ir::Input{static_cast<int>(i)}, {},
              {{inputs[i].dtype(), ir::Shape{ir::Size(kCount)}}});
  }
  const ir::Shape shape{ir::Size(kCount)};
  graph.pool.set_extents(shape);
  const ir::ExprId position[] = {graph.pool.index(0)};
  for (ir::ValueId input : graph.inputs) {
    loads.push_back(graph.pool.load(input, graph.value(input).dtype, position));
  }
  const ir::ExprId body = build(graph.pool, loads);
  const ir::NodeId node = graph.add(ir::Map{body}, {}, {{dtype_of<Out>(), shape}});
  graph.outputs.push_back({ir::GraphOutput::Kind::kUser, graph.node(node).outputs[0], 0, {}});
  auto runner = GraphRunner::make(std::move(graph), 1);
  EXPECT_TRUE(runner.ok()) << runner.status().to_string();
  if (!runner.ok()) return std::vector<Out>(kCount);
  auto outputs = (*runner)->run(std::move(inputs));
  EXPECT_TRUE(outputs.ok()) << outputs.status().to_string();
  if (!outputs.ok()) return std::vector<Out>(kCount);
  const Out* out = (*outputs)[0].template as<Out>();
  return std::vector<Out>(out, out + kCount);
}

/// How many floats of that type lie between two numbers.
template <typename T>
double units_between(T got, T expected) {
  if (got == expected || (got != got && expected != expected)) return 0;
  if (!std::isfinite(got) || !std::isfinite(expected)) {
    // An overflow one unit early or late.
    const T largest = std::numeric_limits<T>::max();
    if (std::isinf(got) && std::fabs(expected) > largest * T(0.999999)) return 1;
    if (std::isinf(expected) && std::fabs(got) > largest * T(0.999999)) return 1;
    return std::numeric_limits<double>::infinity();
  }
  const T unit = std::max(
      std::nextafter(std::fabs(expected), std::numeric_limits<T>::infinity()) - std::fabs(expected),
      std::numeric_limits<T>::denorm_min());
  return std::fabs(static_cast<double>(got) - static_cast<double>(expected)) /
         static_cast<double>(unit);
}

template <typename T>
bool matches(T got, T expected, double units) {
  if constexpr (std::is_floating_point_v<T>) {
    return units_between(got, expected) <= units;
  } else {
    return got == expected;
  }
}

/// Units in the last place that vector forms of float32 functions may be off.
double allowed_units(Op op, DType dtype) {
  if (dtype != DType::kFloat32) return 0;
  switch (op) {
    case Op::kExp:
    case Op::kExp2:
    case Op::kLog:
    case Op::kSin:
    case Op::kCos:
      return 2;
    case Op::kExpm1:
    case Op::kLog2:
    case Op::kLog10:
    case Op::kLog1p:
    case Op::kErf:
    case Op::kTanh:
    case Op::kSigmoid:
      return 3;
    default:
      return 0;
  }
}

template <typename T, Op op>
void check_operation() {
  const std::vector<T> a = samples<T>(1);
  const std::vector<T> b = samples<T>(2);
  if constexpr (ir::has_scalar_unary<T>(op)) {
    const std::vector<T> got = run_map<T>(
        {tensor_of(a)}, [](ir::ExprPool& pool, auto& loads) { return pool.unary(op, loads[0]); });
    for (std::size_t i = 0; i < got.size(); ++i) {
      const T expected = ir::scalar_unary<op, T>(a[i]);
      ASSERT_TRUE(matches(got[i], expected, allowed_units(op, dtype_of<T>())))
          << ir::op_name(op) << " of " << dtype_name(dtype_of<T>()) << " " << +a[i] << ": "
          << +got[i] << ", expected " << +expected;
    }
  } else if constexpr (ir::has_scalar_binary<T>(op)) {
    const std::vector<T> got = run_map<T>(
        {tensor_of(a), tensor_of(b)},
        [](ir::ExprPool& pool, auto& loads) { return pool.binary(op, loads[0], loads[1]); });
    for (std::size_t i = 0; i < got.size(); ++i) {
      const T expected = ir::scalar_binary<op, T>(a[i], b[i]);
      ASSERT_TRUE(matches(got[i], expected, allowed_units(op, dtype_of<T>())))
          << ir::op_name(op) << " of " << dtype_name(dtype_of<T>()) << " " << +a[i] << ", " << +b[i]
          << ": " << +got[i] << ", expected " << +expected;
    }
  } else if constexpr (ir::is_comparison(op)) {
    const std::vector<bool> got = run_map<bool>(
        {tensor_of(a), tensor_of(b)},
        [](ir::ExprPool& pool, auto& loads) { return pool.binary(op, loads[0], loads[1]); });
    for (std::size_t i = 0; i < got.size(); ++i) {
      const bool expected = ir::scalar_compare<op, T>(a[i], b[i]);
      ASSERT_EQ(got[i], expected) << ir::op_name(op) << " of " << dtype_name(dtype_of<T>()) << " "
                                  << +a[i] << ", " << +b[i];
    }
  }
}

template <typename T, std::size_t... kOps>
void check_operations(std::index_sequence<kOps...>) {
  (check_operation<T, static_cast<Op>(kOps)>(), ...);
}

template <typename T>
class Operations : public testing::Test {};
using NumberTypes =
    testing::Types<bool, std::uint8_t, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                   std::uint16_t, std::uint32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(Operations, NumberTypes);

TYPED_TEST(Operations, AreThoseOfScalarMath) {
  check_operations<TypeParam>(std::make_index_sequence<ir::kOpCount>());
}

TYPED_TEST(Operations, SelectsByCondition) {
  const std::vector<TypeParam> a = samples<TypeParam>(1);
  const std::vector<TypeParam> b = samples<TypeParam>(2);
  const std::vector<bool> c = samples<bool>(3);
  const std::vector<TypeParam> got = run_map<TypeParam>(
      {tensor_of(a), tensor_of(b), tensor_of(c)},
      [](ir::ExprPool& pool, auto& loads) { return pool.select(loads[2], loads[0], loads[1]); });
  for (std::size_t i = 0; i < got.size(); ++i) {
    const TypeParam expected = c[i] ? a[i] : b[i];
    ASSERT_TRUE(matches<TypeParam>(got[i], expected, 0));
  }
}

template <typename From, typename To>
void check_cast() {
  const std::vector<From> a = samples<From>(1);
  const std::vector<To> got = run_map<To>({tensor_of(a)}, [](ir::ExprPool& pool, auto& loads) {
    return pool.cast(dtype_of<To>(), loads[0]);
  });
  for (std::size_t i = 0; i < got.size(); ++i) {
    const To expected = ir::scalar_cast<To>(a[i]);
    if constexpr (ir::HalfType<To>) {
      ASSERT_EQ(To(got[i]).bits, expected.bits)
          << dtype_name(dtype_of<From>()) << " " << ir::scalar_cast<float>(a[i]);
    } else {
      ASSERT_TRUE(matches<To>(got[i], expected, 0))
          << dtype_name(dtype_of<From>()) << " " << +ir::scalar_cast<double>(a[i]) << " to "
          << dtype_name(dtype_of<To>()) << ": " << +got[i] << ", expected " << +expected;
    }
  }
}

template <typename From, typename... To>
void check_casts() {
  (check_cast<From, To>(), ...);
}

template <typename T>
class Casts : public testing::Test {};
using AllTypes =
    testing::Types<bool, std::uint8_t, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                   std::uint16_t, std::uint32_t, std::uint64_t, Float16, BFloat16, float, double>;
TYPED_TEST_SUITE(Casts, AllTypes);

TYPED_TEST(Casts, AreThoseOfScalarMath) {
  check_casts<TypeParam, bool, std::uint8_t, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
              std::uint16_t, std::uint32_t, std::uint64_t, Float16, BFloat16, float, double>();
}

TYPED_TEST(Casts, StayInRangeBetweenOperations) {
  // Narrow types are carried wider: what a cast drops must be gone before the next operation.
  if constexpr (std::is_integral_v<TypeParam> && !std::is_same_v<TypeParam, bool>) {
    const std::vector<std::int64_t> a = samples<std::int64_t>(5);
    const std::vector<std::int64_t> got =
        run_map<std::int64_t>({tensor_of(a)}, [](ir::ExprPool& pool, auto& loads) {
          const ir::ExprId narrow = pool.cast(dtype_of<TypeParam>(), loads[0]);
          const ir::ExprId sum = pool.binary(Op::kAdd, narrow, narrow);
          return pool.cast(DType::kInt64,
                           pool.binary(Op::kFloorDivide, sum,
                                       pool.constant(dtype_of<TypeParam>(), std::int64_t{3})));
        });
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto narrow = ir::scalar_cast<TypeParam>(a[i]);
      const auto sum = ir::scalar_binary<Op::kAdd, TypeParam>(narrow, narrow);
      ASSERT_EQ(got[i], static_cast<std::int64_t>(
                            ir::scalar_binary<Op::kFloorDivide, TypeParam>(sum, TypeParam(3))));
    }
  }
}

TEST(Casts, RoundHalfTypesBetweenOperations) {
  const std::vector<float> a = samples<float>(1);
  for (DType half : {DType::kFloat16, DType::kBFloat16}) {
    const std::vector<float> got =
        run_map<float>({tensor_of(a)}, [&](ir::ExprPool& pool, auto& loads) {
          const ir::ExprId rounded = pool.cast(DType::kFloat32, pool.cast(half, loads[0]));
          return pool.binary(Op::kAdd, rounded, pool.constant(DType::kFloat32, 1.0));
        });
    for (std::size_t i = 0; i < got.size(); ++i) {
      const float rounded = half == DType::kFloat16 ? half_to_float(float_to_half(a[i]))
                                                    : bfloat16_to_float(float_to_bfloat16(a[i]));
      ASSERT_TRUE(matches(got[i], rounded + 1.0f, 0)) << a[i];
    }
  }
}

}  // namespace
}  // namespace tendon::backends::cpu
