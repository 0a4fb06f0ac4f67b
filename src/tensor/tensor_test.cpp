#include "tendon/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "base/checked_math.h"

namespace tendon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kHuge = std::int64_t{1} << 40;

TEST(Sizes, ProductsAreChecked) {
  EXPECT_EQ(element_count(Sizes{}), 1);
  EXPECT_EQ(element_count(Sizes{2, 3, 4}), 24);
  EXPECT_EQ(element_count(Sizes{kHuge, kHuge, 0}), 0);
  EXPECT_EQ(element_count(Sizes{kHuge, kHuge}), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(base::checked_product(Sizes{kHuge, kHuge}), std::nullopt);
  EXPECT_EQ(base::checked_product(Sizes{0, -1}), std::nullopt);
}

TEST(Sizes, ContiguousStrides) {
  EXPECT_THAT(contiguous_strides(Sizes{2, 3, 4}), ElementsAre(12, 4, 1));
  EXPECT_THAT(contiguous_strides(Sizes{2, 0, 4}), ElementsAre(4, 4, 1));
  EXPECT_THAT(contiguous_strides(Sizes{}), ElementsAre());
}

TEST(TensorView, ContiguityIgnoresAxesOfOne) {
  float data[6] = {};
  EXPECT_TRUE((TensorView{data, DType::kFloat32, {2, 3}, {3, 1}}.is_contiguous()));
  EXPECT_TRUE((TensorView{data, DType::kFloat32, {2, 1, 3}, {3, 77, 1}}.is_contiguous()));
  EXPECT_FALSE((TensorView{data, DType::kFloat32, {2, 3}, {1, 2}}.is_contiguous()));
  EXPECT_FALSE((TensorView{data, DType::kFloat32, {2, 3}, {0, 1}}.is_contiguous()));
  EXPECT_TRUE((TensorView{data, DType::kFloat32, {2, 0}, {9, 9}}.is_contiguous()));
  EXPECT_EQ((TensorView{data, DType::kBFloat16, {2, 3}, {3, 1}}.to_string()), "bfloat16[2, 3]");
}

TEST(Tensor, AllocateIsAlignedAndChecked) {
  auto tensor = Tensor::allocate(DType::kFloat32, {3, 5});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->view().data) % 64, 0u);
  auto empty = Tensor::allocate(DType::kInt64, {0, 4});
  ASSERT_TRUE(empty.ok());
  EXPECT_NE(empty->view().data, nullptr);
  EXPECT_EQ(Tensor::allocate(DType::kFloat32, {2, -1}).status().code(),
            StatusCode::kInvalidArgument);
  const Status huge = Tensor::allocate(DType::kFloat64, {kHuge, 1 << 20}).status();
  EXPECT_EQ(huge.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(huge.message(), HasSubstr("float64[1099511627776, 1048576]"));
}

template <typename T>
std::vector<T> values(const Tensor& tensor) {
  return {tensor.as<T>(), tensor.as<T>() + tensor.elements()};
}

TEST(Tensor, ContiguousCopyFollowsStrides) {
  std::vector<std::int16_t> data(24);
  std::iota(data.begin(), data.end(), std::int16_t{0});
  const auto copy = [&](Sizes sizes, Sizes strides, int offset = 0) {
    TensorView view{data.data() + offset, DType::kInt16, std::move(sizes), std::move(strides)};
    return values<std::int16_t>(*Tensor(view, nullptr).contiguous_copy());
  };
  EXPECT_THAT(copy({2, 3}, {1, 2}), ElementsAre(0, 2, 4, 1, 3, 5));                   // transposed
  EXPECT_THAT(copy({2, 3}, {0, 1}), ElementsAre(0, 1, 2, 0, 1, 2));                   // expanded
  EXPECT_THAT(copy({2, 2}, {-4, -1}, 10), ElementsAre(10, 9, 6, 5));                  // flipped
  EXPECT_THAT(copy({2, 2, 2}, {12, 4, 1}), ElementsAre(0, 1, 4, 5, 12, 13, 16, 17));  // sliced
  EXPECT_THAT(copy({}, {}, 7), ElementsAre(7));
  EXPECT_THAT(copy({1, 1}, {5, 5}, 3), ElementsAre(3));
  EXPECT_THAT(copy({2, 0}, {1, 1}), ElementsAre());
}

TEST(Tensor, ContiguousCopyOfEveryElementSize) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::size_t size = dtype_size(dtype);
    std::vector<unsigned char> bytes(6 * size);
    std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
    const TensorView view{bytes.data(), dtype, {3, 2}, {1, 3}};
    const auto copy = Tensor(view, nullptr).contiguous_copy();
    ASSERT_TRUE(copy.ok());
    const auto* got = copy->as<unsigned char>();
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t column = 0; column < 2; ++column) {
        for (std::size_t byte = 0; byte < size; ++byte) {
          ASSERT_EQ(got[(row * 2 + column) * size + byte], bytes[(column * 3 + row) * size + byte])
              << dtype_name(dtype);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tendon
