#include "archive/bare_graph.h"

#include <cmath>
#include <functional>

#include "base/half.h"
#include "base/parallel.h"
#include "base/status_macros.h"

namespace tendon::archive {

namespace {

/// Mixes a counter into 64 random bits (SplitMix64's finaliser, Steele et al., OOPSLA 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

/// A hash of the name that is the same everywhere (FNV-1a).
std::uint64_t stream_of(const std::string& name) {
  std::uint64_t h = 0xCBF29CE484222325ull;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return h;
}

/// Uniform with the standard deviation asked for: weights need the right scale, not the right
/// tails.
float drawn(std::uint64_t stream, std::int64_t i, float center, float deviation) {
  const auto bits = static_cast<float>(mixed(stream + static_cast<std::uint64_t>(i)) >> 40);
  return center + deviation * 1.7320508f * (bits * (2.0f / 16777216.0f) - 1.0f);
}

bool ends_with(const std::string& text, std::string_view suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

struct Distribution {
  float center = 0;
  float deviation = 0;
};

Distribution distribution_of(const std::string& name, const Sizes& sizes) {
  if (ends_with(name, "running_var")) return {1.0f, 0.1f};
  if (sizes.size() <= 1)
    return ends_with(name, "weight") ? Distribution{1.0f, 0.1f} : Distribution{0.0f, 0.1f};
  std::int64_t fan_in = 1;
  for (std::size_t i = 1; i < sizes.size(); ++i) fan_in *= sizes[i];
  return {0.0f, 1.0f / std::sqrt(static_cast<float>(std::max<std::int64_t>(fan_in, 1)))};
}

void fill(const TensorView& view, std::uint64_t stream, Distribution distribution) {
  constexpr std::int64_t kGrain = 1 << 16;
  base::parallel_for(view.elements(), kGrain, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float value = drawn(stream, i, distribution.center, distribution.deviation);
      switch (view.dtype) {
        case DType::kFloat32:
          view.as<float>()[i] = value;
          break;
        case DType::kFloat64:
          view.as<double>()[i] = value;
          break;
        case DType::kFloat16:
          view.as<std::uint16_t>()[i] = float_to_half(value);
          break;
        case DType::kBFloat16:
          view.as<std::uint16_t>()[i] = float_to_bfloat16(value);
          break;
        default:
          break;
      }
    }
  });
}

}  // namespace

Status draw_weights(Program& program, std::uint64_t seed) {
  for (const InputSpec& spec : program.inputs) {
    using Kind = InputSpec::Kind;
    if (spec.kind != Kind::kParameter && spec.kind != Kind::kBuffer &&
        spec.kind != Kind::kTensorConstant)
      continue;
    if (program.weights.count(spec.target) != 0) continue;
    const auto meta = program.graph.tensors.find(spec.name);
    if (meta == program.graph.tensors.end()) {
      return Status(StatusCode::kDataLoss, "no metadata for '" + spec.name + "'");
    }
    Sizes sizes;
    for (const ir::Size& size : meta->second.sizes) {
      if (!size.is_constant())
        return Status(StatusCode::kDataLoss, "weight '" + spec.target + "' has a symbolic size");
      sizes.push_back(size.constant());
    }
    TENDON_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(meta->second.dtype, sizes));
    if (is_floating(tensor.dtype())) {
      fill(tensor.view(), mixed(seed ^ stream_of(spec.target)),
           distribution_of(spec.target, sizes));
    } else if (tensor.view().bytes() > 0) {
      std::fill_n(tensor.as<std::uint8_t>(), tensor.view().bytes(), std::uint8_t{0});
    }
    program.weights[spec.target] = Weight{std::move(tensor), spec.kind == Kind::kParameter};
  }
  return {};
}

}  // namespace tendon::archive
