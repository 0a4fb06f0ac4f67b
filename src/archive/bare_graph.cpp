#include "archive/bare_graph.h"

#include <algorithm>
#include <cmath>

#include "base/checked_math.h"
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
  float fan_in = 1;
  for (std::size_t i = 1; i < sizes.size(); ++i) fan_in *= static_cast<float>(sizes[i]);
  return {0.0f, 1.0f / std::sqrt(std::max(fan_in, 1.0f))};
}

/// 32 random bits of a counter (a multiply-xorshift finaliser): cheap, and compilers vectorise it.
constexpr std::uint32_t mixed32(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7FEB352Du;
  x = (x ^ (x >> 15)) * 0x846CA68Bu;
  return x ^ (x >> 16);
}

// Values are drawn in blocks, each from a seed of its own, so that they do not depend on how
// threads share the work.
constexpr std::int64_t kBlock = 1 << 16;

struct Drawing {
  Tensor tensor;
  std::uint64_t stream = 0;
  Distribution distribution;
  std::int64_t first_block = 0;  // counted over all drawings
};

/// Uniform with the standard deviation asked for: weights need the right scale, not the right
/// tails.
template <typename T, typename Convert>
void fill_block(const Drawing& drawing, std::int64_t block, Convert convert) {
  const float deviation = drawing.distribution.deviation;
  const float scale = deviation * 1.7320508f * (2.0f / 16777216.0f);
  const float shift = drawing.distribution.center - deviation * 1.7320508f;
  const auto seed =
      static_cast<std::uint32_t>(mixed(drawing.stream + static_cast<std::uint64_t>(block)) >> 32);
  T* const out = drawing.tensor.as<T>() + block * kBlock;
  const auto size =
      static_cast<std::uint32_t>(std::min(kBlock, drawing.tensor.elements() - block * kBlock));
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto bits = static_cast<std::int32_t>(mixed32(seed + i * 0x9E3779B9u) >> 8);
    out[i] = convert(shift + scale * static_cast<float>(bits));
  }
}

void fill_block(const Drawing& drawing, std::int64_t block) {
  switch (drawing.tensor.dtype()) {
    case DType::kFloat32:
      return fill_block<float>(drawing, block, [](float x) { return x; });
    case DType::kFloat64:
      return fill_block<double>(drawing, block, [](float x) { return static_cast<double>(x); });
    case DType::kFloat16:
      return fill_block<std::uint16_t>(drawing, block, [](float x) { return float_to_half(x); });
    case DType::kBFloat16:
      return fill_block<std::uint16_t>(drawing, block,
                                       [](float x) { return float_to_bfloat16(x); });
    default:
      return;
  }
}

/// All at once: a graph has many small tensors, and starting threads for each costs more than they
/// do.
void fill(const std::vector<Drawing>& drawings, std::int64_t blocks) {
  base::parallel_for(blocks, 4, 0, [&](std::int64_t begin, std::int64_t end) {
    auto next = std::upper_bound(
        drawings.begin(), drawings.end(), begin,
        [](std::int64_t block, const Drawing& drawing) { return block < drawing.first_block; });
    for (std::int64_t block = begin; block < end; ++block) {
      while (next != drawings.end() && next->first_block <= block) ++next;
      fill_block(next[-1], block - next[-1].first_block);
    }
  });
}

}  // namespace

Status allocate_weights(Program& program, std::uint64_t seed, std::uint64_t max_bytes) {
  std::uint64_t drawn_bytes = 0;
  std::vector<Drawing> drawings;
  std::int64_t blocks = 0;
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
    const auto count = base::checked_product(sizes);
    const auto bytes = count
                           ? base::checked_multiply(
                                 *count, static_cast<std::int64_t>(dtype_size(meta->second.dtype)))
                           : std::nullopt;
    if (!bytes)
      return Status(StatusCode::kDataLoss, "weight '" + spec.target + "' has impossible sizes");
    if (static_cast<std::uint64_t>(*bytes) > max_bytes - drawn_bytes) {
      return Status(StatusCode::kResourceExhausted,
                    "the graph's weights take more than " + std::to_string(max_bytes) + " bytes");
    }
    drawn_bytes += static_cast<std::uint64_t>(*bytes);
    TENDON_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(meta->second.dtype, sizes));
    if (is_floating(tensor.dtype())) {
      drawings.push_back({tensor, mixed(seed ^ stream_of(spec.target)),
                          distribution_of(spec.target, sizes), blocks});
      blocks += (*count + kBlock - 1) / kBlock;
    } else if (tensor.view().bytes() > 0) {
      std::fill_n(tensor.as<std::uint8_t>(), tensor.view().bytes(), std::uint8_t{0});
    }
    program.weights[spec.target] = Weight{std::move(tensor), spec.kind == Kind::kParameter};
  }
  program.draw_weights = [drawings = std::move(drawings), blocks] { fill(drawings, blocks); };
  return {};
}

}  // namespace tendon::archive
