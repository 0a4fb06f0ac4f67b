#include "backends/cpu/attention_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention_kernels.cpp"
#include "backends/cpu/kernel_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h.
#include "backends/cpu/exponential-inl.h"
#include "backends/cpu/kernel_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tendon::backends::cpu {
namespace HWY_NAMESPACE {
namespace {

/// e^x for x <= 0; what is less than the smallest normal number is 0. NaN stays.
HWY_INLINE hn::Vec<Tag<float>> exp_of_negative(Tag<float> d, hn::Vec<Tag<float>> x) {
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0f)), exp_moderate(x));
}
HWY_INLINE hn::Vec<Tag<double>> exp_of_negative(Tag<double> d, hn::Vec<Tag<double>> x) {
  HWY_ALIGN double values[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(x, d, values);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) values[i] = std::exp(values[i]);
  return hn::Load(d, values);
}

/// A vector of queries at a time.
template <typename T>
void weigh_block(const ScoreBlock<T>& block) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  for (std::int64_t query = 0; query < block.queries; query += lanes) {
    const auto count = static_cast<std::size_t>(std::min(lanes, block.queries - query));
    T* const begin = block.scores + query;
    T* const end = begin + block.keys * block.queries;
    const auto before = hn::LoadU(d, block.maximum + query);
    auto maximum = before;
    for (const T* s = begin; s != end; s += block.queries)
      maximum = hn::Max(maximum, hn::LoadU(d, s));
    // Where all is masked, nothing is subtracted from minus infinity. A score that is not a number
    // makes the whole sum so, whatever Max did with it.
    const auto subtracted = hn::IfThenElseZero(hn::Ne(maximum, lowest), maximum);
    auto sum = hn::Zero(d);
    const auto mask = hn::FirstN(d, count);
    const bool whole = count == static_cast<std::size_t>(lanes);
    for (T* s = begin; s != end; s += block.queries) {
      const auto weight = exp_of_negative(d, hn::Sub(hn::LoadU(d, s), subtracted));
      sum = hn::Add(sum, weight);
      if (whole) {
        hn::StoreU(weight, d, s);
      } else {
        hn::BlendedStore(weight, mask, d, s);
      }
    }
    const auto factor = exp_of_negative(d, hn::Sub(before, subtracted));
    const auto total = hn::MulAdd(hn::LoadU(d, block.total + query), factor, sum);
    hn::StoreU(maximum, d, block.maximum + query);
    hn::StoreU(total, d, block.total + query);
    hn::StoreU(factor, d, block.factor + query);
  }
}

}  // namespace

void weigh_floats(const ScoreBlock<float>& block) { weigh_block(block); }
void weigh_doubles(const ScoreBlock<double>& block) { weigh_block(block); }

}  // namespace HWY_NAMESPACE
}  // namespace tendon::backends::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tendon::backends::cpu {
HWY_EXPORT(weigh_floats);
HWY_EXPORT(weigh_doubles);
template <>
void weigh(const ScoreBlock<float>& block) {
  HWY_DYNAMIC_DISPATCH(weigh_floats)(block);
}
template <>
void weigh(const ScoreBlock<double>& block) {
  HWY_DYNAMIC_DISPATCH(weigh_doubles)(block);
}
}  // namespace tendon::backends::cpu
#endif
