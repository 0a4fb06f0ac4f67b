#include "backends/cpu/packed_weight.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

namespace tendon::backends::cpu {
namespace {

using dnnl::memory;

constexpr std::int64_t kRows = 5, kColumns = 70;

/// One constant, [rows, columns], with element i at i.
class OneConstant final : public SharedState {
 public:
  OneConstant() {
    constant_ = *Tensor::allocate(DType::kFloat32, {kRows, kColumns});
    std::iota(constant_.as<float>(), constant_.as<float>() + constant_.elements(), 0.0f);
  }
  Tensor constant(int) const override { return constant_; }
  void release(int) override { constant_ = Tensor(); }
  Result<std::shared_ptr<void>> packed(
      const std::string& key, const std::function<Result<std::shared_ptr<void>>()>& make) override {
    auto& entry = packed_[key];
    if (entry == nullptr) entry = *make();
    return entry;
  }

 private:
  Tensor constant_;
  std::map<std::string, std::shared_ptr<void>> packed_;
};

memory::desc row_major() {
  return {{kRows, kColumns}, memory::data_type::f32, memory::format_tag::ab};
}
memory::desc column_major() {
  return {{kRows, kColumns}, memory::data_type::f32, memory::format_tag::ba};
}
memory::desc blocked() {
  return {{kRows, kColumns}, memory::data_type::f32, memory::format_tag::BA16a64b};
}

std::vector<float> elements(const PackedWeight::Placed& placed, const memory::desc& layout) {
  std::vector<float> result(kRows * kColumns);
  EXPECT_TRUE(reorder(layout, placed.data.get(), row_major(), result.data()).ok());
  return result;
}

std::vector<float> counted() {
  std::vector<float> result(kRows * kColumns);
  std::iota(result.begin(), result.end(), 0.0f);
  return result;
}

TEST(PackedWeight, LaidOutAsWantedItStaysInPlace) {
  OneConstant shared;
  const auto weight = *PackedWeight::of(shared, 0, 0, row_major());
  const auto placed = weight->in(row_major(), shared);
  ASSERT_TRUE(placed.ok());
  EXPECT_TRUE(placed->in_place);
  EXPECT_EQ(placed->data.get(), shared.constant(0).view().data);
  EXPECT_FALSE(weight->preferred());
}

TEST(PackedWeight, ALayoutIsMadeOnceForAll) {
  OneConstant shared;
  const auto weight = *PackedWeight::of(shared, 0, 0, row_major());
  const auto placed = weight->in(blocked(), shared);
  ASSERT_TRUE(placed.ok()) << placed.status().to_string();
  EXPECT_FALSE(placed->in_place);
  EXPECT_EQ(elements(*placed, blocked()), counted());
  EXPECT_EQ(weight->preferred(), blocked());
  const auto same = *PackedWeight::of(shared, 0, 0, row_major());
  EXPECT_EQ(same->in(blocked(), shared)->data, placed->data);
  EXPECT_NE(*PackedWeight::of(shared, 0, 0, column_major()), weight);
}

TEST(PackedWeight, OtherLayoutsAreMadeFromAPackedOneOnceTheConstantIsGone) {
  OneConstant shared;
  const auto weight = *PackedWeight::of(shared, 0, 0, row_major());
  ASSERT_TRUE(weight->in(blocked(), shared).ok());
  shared.release(0);
  for (const memory::desc& layout : {column_major(), row_major()}) {
    const auto placed = weight->in(layout, shared);
    ASSERT_TRUE(placed.ok()) << placed.status().to_string();
    EXPECT_FALSE(placed->in_place);
    EXPECT_EQ(elements(*placed, layout), counted());
  }
  EXPECT_EQ(weight->preferred(), blocked());
}

TEST(PackedWeight, WithoutConstantAndCopyThereIsAnError) {
  OneConstant shared;
  const auto weight = *PackedWeight::of(shared, 0, 0, row_major());
  shared.release(0);
  EXPECT_EQ(weight->in(blocked(), shared).status().code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace tendon::backends::cpu
