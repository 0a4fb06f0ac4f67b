// Rules of numbers that are easy to get almost right, through whole programs of one operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "aten/lower.h"
#include "aten/schema.h"
#include "aten/toolbox.h"
#include "ir/evaluate.h"

namespace tendon::aten {
namespace {

using archive::Argument;
using archive::TensorArgument;

/// Builds and runs a program of one operator.
class Program {
 public:
  explicit Program(std::string target) { node_.target = std::move(target); }

  Program& input(const std::string& name, const tendon::Tensor& tensor) {
    archive::TensorMeta meta;
    meta.dtype = tensor.dtype();
    for (std::int64_t size : tensor.sizes()) meta.sizes.emplace_back(size);
    program_.graph.tensors[name] = meta;
    archive::InputSpec spec;
    spec.name = name;
    spec.argument = TensorArgument{name};
    program_.inputs.push_back(spec);
    program_.graph.inputs.emplace_back(TensorArgument{name});
    values_.push_back(tensor);
    return argument(name, TensorArgument{name});
  }
  Program& argument(const std::string& name, Argument value) {
    node_.inputs.push_back({name, std::move(value)});
    return *this;
  }
  /// The first output.
  tendon::Tensor run() {
    node_.name = "node";
    node_.outputs.emplace_back(TensorArgument{"result"});
    program_.graph.nodes.push_back(node_);
    archive::OutputSpec spec;
    spec.argument = TensorArgument{"result"};
    program_.outputs.push_back(spec);
    program_.graph.outputs.emplace_back(TensorArgument{"result"});
    auto lowered = lower(program_);
    if (!lowered.ok()) {
      ADD_FAILURE() << lowered.status().to_string();
      return {};
    }
    std::vector<TensorView> inputs;
    for (const tendon::Tensor& value : values_) inputs.push_back(value.view());
    auto outputs = ir::evaluate(lowered->graph, inputs);
    if (!outputs.ok()) {
      ADD_FAILURE() << outputs.status().to_string();
      return {};
    }
    return outputs->tensors.at(0);
  }

 private:
  archive::Program program_;
  archive::Node node_;
  std::vector<tendon::Tensor> values_;
};

template <typename T>
tendon::Tensor make(DType dtype, const std::vector<T>& values) {
  auto tensor = tendon::Tensor::allocate(dtype, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor->as<T>());
  return *tensor;
}
tendon::Tensor floats(const std::vector<float>& values) { return make(DType::kFloat32, values); }

template <typename T>
std::vector<T> elements(const tendon::Tensor& tensor) {
  return std::vector<T>(tensor.as<T>(), tensor.as<T>() + tensor.elements());
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Division, IntegersFloorAndTruncate) {
  const auto x = make<std::int32_t>(DType::kInt32, {7, -7, 7, -7});
  const auto y = make<std::int32_t>(DType::kInt32, {2, 2, -2, -2});
  const auto divided = [&](const std::string& mode) {
    return elements<std::int32_t>(Program("aten.div.Tensor_mode")
                                      .input("self", x)
                                      .input("other", y)
                                      .argument("rounding_mode", mode)
                                      .run());
  };
  EXPECT_THAT(divided("floor"), testing::ElementsAre(3, -4, -4, 3));
  EXPECT_THAT(divided("trunc"), testing::ElementsAre(3, -3, -3, 3));
}

TEST(Division, IntegersBecomeFloats) {
  const auto x = make<std::int64_t>(DType::kInt64, {1, 7});
  const auto y = make<std::int64_t>(DType::kInt64, {2, 0});
  const auto result = Program("aten.div.Tensor").input("self", x).input("other", y).run();
  EXPECT_EQ(result.dtype(), DType::kFloat32);
  EXPECT_THAT(elements<float>(result), testing::ElementsAre(0.5f, kInfinity));
}

TEST(Remainder, TakesTheDivisorsSign) {
  const auto result = Program("aten.remainder.Tensor")
                          .input("self", floats({5.5f, -5.5f, 5.5f, -5.5f}))
                          .input("other", floats({2, 2, -2, -2}))
                          .run();
  EXPECT_THAT(elements<float>(result), testing::ElementsAre(1.5f, 0.5f, -0.5f, -1.5f));
}

TEST(Sum, OfBoolsCounts) {
  const auto result =
      Program("aten.sum.default").input("self", make<std::uint8_t>(DType::kBool, {1, 1, 0})).run();
  EXPECT_EQ(result.dtype(), DType::kInt64);
  EXPECT_EQ(elements<std::int64_t>(result).at(0), 2);
}

TEST(Maximum, NanWinsButNotInFmax) {
  const auto x = floats({1, kNan, 3}), y = floats({kNan, 2, 1});
  const auto maximum =
      elements<float>(Program("aten.maximum.default").input("self", x).input("other", y).run());
  EXPECT_TRUE(std::isnan(maximum[0]) && std::isnan(maximum[1]));
  EXPECT_EQ(maximum[2], 3);
  EXPECT_THAT(
      elements<float>(Program("aten.fmax.default").input("self", x).input("other", y).run()),
      testing::ElementsAre(1, 2, 3));
}

TEST(Logsumexp, InfinitiesStayThemselves) {
  const auto of = [](const std::vector<float>& values) {
    archive::IntsArgument axes;
    axes.values.emplace_back(std::int64_t{0});
    return elements<float>(Program("aten.logsumexp.default")
                               .input("self", floats(values))
                               .argument("dim", axes)
                               .run())
        .at(0);
  };
  EXPECT_EQ(of({-kInfinity, -kInfinity}), -kInfinity);
  EXPECT_EQ(of({1, kInfinity}), kInfinity);
  EXPECT_FLOAT_EQ(of({1000, 1000}), 1000 + std::log(2.0f));
}

TEST(Frexp, GivesHalfToOneAndHandlesSubnormals) {
  const std::vector<float> values = {0, 1, -3, 1e-40f, 0.75f};
  const auto mantissa =
      elements<float>(Program("aten.frexp.Tensor").input("self", floats(values)).run());
  for (std::size_t i = 0; i < values.size(); ++i) {
    int exponent = 0;
    EXPECT_EQ(mantissa[i], std::frexp(values[i], &exponent)) << values[i];
  }
}

TEST(Nextafter, StepsThroughBfloat16) {
  const auto bits = [](std::uint16_t value) { return value; };
  const auto x = make<std::uint16_t>(DType::kBFloat16, {bits(0x3f80), bits(0x3f80), bits(0x0000)});
  const auto y = make<std::uint16_t>(DType::kBFloat16, {bits(0x4000), bits(0x0000), bits(0xbf80)});
  const auto result = Program("aten.nextafter.default").input("self", x).input("other", y).run();
  EXPECT_THAT(elements<std::uint16_t>(result), testing::ElementsAre(0x3f81, 0x3f7f, 0x8001));
}

TEST(Median, IsTheLowerOneAndNanPropagates) {
  const auto median = [](const std::vector<float>& values, const char* target) {
    return elements<float>(Program(target).input("self", floats(values)).run()).at(0);
  };
  EXPECT_EQ(median({4, 1, 3, 2}, "aten.median.default"), 2);
  EXPECT_TRUE(std::isnan(median({4, kNan, 3}, "aten.median.default")));
  EXPECT_EQ(median({4, kNan, 3}, "aten.nanmedian.default"), 3);
}

TEST(Bfloat16, ABiasMeetsTheProductBeforeItIsRounded) {
  const auto one = [](float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, 4);
    return static_cast<std::uint16_t>(bits >> 16);
  };
  auto x = tendon::Tensor::allocate(DType::kBFloat16, {1, 2});
  auto weight = tendon::Tensor::allocate(DType::kBFloat16, {1, 2});
  x->as<std::uint16_t>()[0] = one(1);
  x->as<std::uint16_t>()[1] = one(0.001953125f);  // 2^-9
  weight->as<std::uint16_t>()[0] = one(1);
  weight->as<std::uint16_t>()[1] = one(1);
  // The product, 1 + 2^-9, rounds to 1 on its own; with 1.5 * 2^-9 added to it before, it is nearer
  // to the next number, 1 + 2^-7.
  const auto bias = make<std::uint16_t>(DType::kBFloat16, {one(0.0029296875f)});
  const auto result = Program("aten.linear.default")
                          .input("input", *x)
                          .input("weight", *weight)
                          .input("bias", bias)
                          .run();
  EXPECT_EQ(elements<std::uint16_t>(result).at(0), one(1.0078125f));
}

TEST(Cumsum, OfUint8IsInt64) {
  const auto result = Program("aten.cumsum.default")
                          .input("self", make<std::uint8_t>(DType::kUInt8, {200, 100}))
                          .argument("dim", std::int64_t{0})
                          .run();
  EXPECT_THAT(elements<std::int64_t>(result), testing::ElementsAre(200, 300));
}

TEST(Registry, EverySchemaParsesAndNoTargetIsTakenTwice) {
  EXPECT_GT(operator_targets().size(), 500u);
  EXPECT_NE(find_operator("aten.add.Tensor"), nullptr);
  EXPECT_EQ(find_operator("aten.no_such_operator.default"), nullptr);
}

}  // namespace
}  // namespace tendon::aten
