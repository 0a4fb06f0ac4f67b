#include "tensor/random_fill.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "base/parallel.h"
#include "tensor/visit.h"

namespace tendon::tensor {

namespace {

constexpr std::int64_t kGrain = 16384;

// SplitMix64's finaliser: a bijection whose output bits all depend on all input bits.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// std::cmp_less and its like take no bool.
template <typename T>
using Number = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

class Generator {
 public:
  Generator(std::uint64_t seed, std::uint64_t stream)
      : key_(mix(seed + mix(stream + 0x9e3779b97f4a7c15u))) {}
  std::uint64_t bits(std::uint64_t index) const {
    return mix(key_ + (index + 1) * 0x9e3779b97f4a7c15u);
  }
  /// Elements 2 * pair and 2 * pair + 1 of a sequence of normal numbers (Box and Muller).
  std::pair<float, float> normals(std::uint64_t pair) const {
    const std::uint64_t random = bits(pair);
    const float uniform = static_cast<float>((random >> 40) + 1) * 0x1p-24f;  // in (0, 1]
    const float angle =
        static_cast<float>(random & 0xffffffu) * 0x1p-24f * (2.0f * std::numbers::pi_v<float>);
    const float radius = std::sqrt(-2.0f * std::log(uniform));
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

 private:
  std::uint64_t key_;
};

template <typename T>
void fill_normal_numbers(T* data, std::int64_t count, const Generator& generator, float scale) {
  base::parallel_for((count + 1) / 2, kGrain, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t pair = begin; pair < end; ++pair) {
      const auto [first, second] = generator.normals(static_cast<std::uint64_t>(pair));
      data[2 * pair] = static_cast<T>(first * scale);
      if (2 * pair + 1 < count) data[2 * pair + 1] = static_cast<T>(second * scale);
    }
  });
}

Status check_dense(const TensorView& view) {
  if (view.is_contiguous()) return {};
  return Status(StatusCode::kInvalidArgument, "only row-major tensors can be filled");
}

}  // namespace

Status fill_normal(const TensorView& view, std::uint64_t seed, std::uint64_t stream, double scale) {
  if (!is_floating(view.dtype) && !is_complex(view.dtype)) {
    return Status(StatusCode::kInvalidArgument,
                  "cannot fill " + view.to_string() + " with normal numbers");
  }
  if (Status status = check_dense(view); !status.ok()) return status;
  const Generator generator(seed, stream);
  const auto factor = static_cast<float>(scale);
  const bool complex = is_complex(view.dtype);
  const std::int64_t count = view.elements() * (complex ? 2 : 1);
  switch (complex ? complex_component(view.dtype) : view.dtype) {
    case DType::kFloat16:
      fill_normal_numbers(view.as<Float16>(), count, generator, factor);
      break;
    case DType::kBFloat16:
      fill_normal_numbers(view.as<BFloat16>(), count, generator, factor);
      break;
    case DType::kFloat32:
      fill_normal_numbers(view.as<float>(), count, generator, factor);
      break;
    default:
      fill_normal_numbers(view.as<double>(), count, generator, factor);
      break;
  }
  return {};
}

Status fill_integers(const TensorView& view, std::uint64_t seed, std::uint64_t stream,
                     std::int64_t low, std::int64_t high) {
  if (Status status = check_dense(view); !status.ok()) return status;
  const Generator generator(seed, stream);
  return visit_dtype(view.dtype, [&]<typename T>(std::type_identity<T>) -> Status {
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<Number<T>>;
      const bool fits = low < high && (std::is_same_v<T, bool>
                                           ? low >= 0 && high <= 2
                                           : std::cmp_greater_equal(low, Limits::min()) &&
                                                 std::cmp_less_equal(high - 1, Limits::max()));
      if (fits) {
        // The remainder's bias is below range / 2^64.
        const std::uint64_t range =
            static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
        T* data = view.as<T>();
        base::parallel_for(view.elements(), kGrain, 0, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const std::uint64_t offset = generator.bits(static_cast<std::uint64_t>(i)) % range;
            data[i] = static_cast<T>(static_cast<std::uint64_t>(low) + offset);
          }
        });
        return {};
      }
    }
    return Status(StatusCode::kInvalidArgument, "cannot fill " + view.to_string() +
                                                    " with integers of [" + std::to_string(low) +
                                                    ", " + std::to_string(high) + ")");
  });
}

}  // namespace tendon::tensor
