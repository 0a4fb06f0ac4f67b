// Matmul, convolution and attention of the evaluator.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "base/status_macros.h"
#include "ir/evaluate_primitives.h"

namespace tendon::ir {

namespace {

// Products are summed in float64, or in unsigned integers, which wrap.
template <typename T>
using Summed = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

/// All elements of a tensor in the type products are summed in.
template <typename T>
std::vector<Summed<T>> widened(const Tensor& tensor) {
  std::vector<T> elements(static_cast<std::size_t>(tensor.elements()));
  load_elements(tensor.dtype(), tensor.view().data, elements.data(), tensor.elements());
  return std::vector<Summed<T>>(elements.begin(), elements.end());
}

template <typename T>
std::vector<T> rounded(const std::vector<Summed<T>>& sums) {
  std::vector<T> result;
  result.reserve(sums.size());
  for (Summed<T> sum : sums) result.push_back(static_cast<T>(sum));
  return result;
}

Status unsupported(DType dtype) {
  return Status(StatusCode::kInternal, "product of " + std::string(dtype_name(dtype)));
}

std::int64_t batch_count(const Sizes& sizes, std::size_t inner_axes) {
  return tendon::element_count(std::span(sizes).first(sizes.size() - inner_axes));
}

}  // namespace

Status evaluate_matmul(NodeEvaluation& e, const Matmul& matmul) {
  const Tensor& a = e.input(0);
  const Tensor& b = e.input(1);
  const std::size_t rank = a.sizes().size();
  if (rank < 2 || b.sizes().size() != rank || a.dtype() != b.dtype()) {
    return Status(StatusCode::kInternal,
                  "matmul of " + a.view().to_string() + " and " + b.view().to_string());
  }
  const std::int64_t m = a.sizes()[rank - 2];
  const std::int64_t k = a.sizes()[rank - 1];
  const std::int64_t n = b.sizes()[rank - 1];
  Sizes expected = a.sizes();
  expected[rank - 1] = n;
  Sizes expected_b = a.sizes();
  expected_b[rank - 2] = k;
  expected_b[rank - 1] = n;
  if (b.sizes() != expected_b || e.outputs[0].sizes() != expected) {
    return Status(StatusCode::kInternal, "matmul of " + a.view().to_string() + " and " +
                                             b.view().to_string() + " to " +
                                             e.outputs[0].view().to_string());
  }
  return visit_arithmetic_type(a.dtype(), [&](auto zero) -> Status {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) {
      return unsupported(a.dtype());
    } else {
      const auto x = widened<T>(a);
      const auto y = widened<T>(b);
      std::vector<Summed<T>> sums(static_cast<std::size_t>(e.outputs[0].elements()));
      for (std::int64_t batch = 0; batch < batch_count(a.sizes(), 2); ++batch) {
        for (std::int64_t i = 0; i < m; ++i) {
          Summed<T>* row = sums.data() + (batch * m + i) * n;
          for (std::int64_t p = 0; p < k; ++p) {
            const Summed<T> factor = x[static_cast<std::size_t>((batch * m + i) * k + p)];
            const Summed<T>* other = y.data() + (batch * k + p) * n;
            for (std::int64_t j = 0; j < n; ++j) row[j] += factor * other[j];
          }
        }
      }
      return e.finish(rounded<T>(sums).data(), matmul.epilogue);
    }
  });
}

// --- convolution ---------------------------------------------------------------------------------

namespace {

using Triple = std::array<std::int64_t, 3>;

/// A convolution over three axes; fewer are padded with axes of size 1.
struct ConvPlan {
  std::int64_t batch = 0, groups = 1;
  std::int64_t inputs = 0, outputs = 0;  // channels per group
  Triple input{1, 1, 1}, output{1, 1, 1}, window{1, 1, 1};
  Triple stride{1, 1, 1}, dilation{1, 1, 1}, padding{0, 0, 0};
  bool transposed = false;
};

Result<ConvPlan> plan_conv(const NodeEvaluation& e, const Conv& conv) {
  const Sizes& x = e.input(0).sizes();
  const Sizes& w = e.input(1).sizes();
  const Sizes& out = e.outputs[0].sizes();
  const auto wrong = [&] {
    return Status(StatusCode::kInternal, "convolution of " + e.input(0).view().to_string() +
                                             " with " + e.input(1).view().to_string() + " to " +
                                             e.outputs[0].view().to_string());
  };
  TENDON_ASSIGN_OR_RETURN(const Sizes before, e.sizes(conv.padding_before));
  TENDON_ASSIGN_OR_RETURN(const Sizes after, e.sizes(conv.padding_after));
  const std::size_t spatial = x.size() - 2;
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size() || out.size() != x.size() ||
      before.size() != spatial || after.size() != spatial || conv.stride.size() != spatial ||
      conv.dilation.size() != spatial || conv.groups < 1 ||
      e.input(0).dtype() != e.input(1).dtype()) {
    return wrong();
  }
  ConvPlan plan;
  plan.batch = x[0];
  plan.groups = conv.groups;
  plan.transposed = conv.transposed;
  plan.inputs = x[1] / conv.groups;
  plan.outputs = conv.transposed ? w[1] : w[0] / conv.groups;
  if (plan.inputs * conv.groups != x[1] || plan.outputs * conv.groups != out[1] ||
      (conv.transposed ? w[0] != x[1] : w[1] != plan.inputs) || out[0] != x[0]) {
    return wrong();
  }
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::size_t axis = 3 - spatial + i;
    plan.input[axis] = x[2 + i];
    plan.output[axis] = out[2 + i];
    plan.window[axis] = w[2 + i];
    plan.stride[axis] = conv.stride[i];
    plan.dilation[axis] = conv.dilation[i];
    plan.padding[axis] = before[i];
    const std::int64_t reach = conv.dilation[i] * (w[2 + i] - 1) + 1;
    const std::int64_t expected =
        conv.transposed ? (x[2 + i] - 1) * conv.stride[i] + reach - before[i] - after[i]
                        : (x[2 + i] + before[i] + after[i] - reach) / conv.stride[i] + 1;
    if (conv.stride[i] < 1 || expected != out[2 + i]) return wrong();
  }
  return plan;
}

std::int64_t volume(const Triple& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

/// Adds one window element's products to one output plane. A window element relates positions of a
/// short side (that is strided over) and a long one: long = short * stride - padding + tap *
/// dilation. The short side is the output, or the input if transposed.
template <typename S>
void add_tap(const ConvPlan& plan, const Triple& tap, S weight, const S* input, S* output) {
  const Triple& short_size = plan.transposed ? plan.input : plan.output;
  const Triple& long_size = plan.transposed ? plan.output : plan.input;
  const auto long_position = [&](std::size_t axis, std::int64_t i) {
    return i * plan.stride[axis] - plan.padding[axis] + tap[axis] * plan.dilation[axis];
  };
  for (std::int64_t i = 0; i < short_size[0]; ++i) {
    const std::int64_t u = long_position(0, i);
    if (u < 0 || u >= long_size[0]) continue;
    for (std::int64_t j = 0; j < short_size[1]; ++j) {
      const std::int64_t v = long_position(1, j);
      if (v < 0 || v >= long_size[1]) continue;
      const std::int64_t short_row = (i * short_size[1] + j) * short_size[2];
      const std::int64_t long_row = (u * long_size[1] + v) * long_size[2];
      for (std::int64_t k = 0; k < short_size[2]; ++k) {
        const std::int64_t w = long_position(2, k);
        if (w < 0 || w >= long_size[2]) continue;
        if (plan.transposed) {
          output[long_row + w] += weight * input[short_row + k];
        } else {
          output[short_row + k] += weight * input[long_row + w];
        }
      }
    }
  }
}

template <typename S>
void convolve(const ConvPlan& plan, const std::vector<S>& x, const std::vector<S>& weight,
              std::vector<S>& out) {
  const std::int64_t window = volume(plan.window);
  for (std::int64_t n = 0; n < plan.batch; ++n) {
    for (std::int64_t g = 0; g < plan.groups; ++g) {
      for (std::int64_t o = 0; o < plan.outputs; ++o) {
        S* plane = out.data() + ((n * plan.groups + g) * plan.outputs + o) * volume(plan.output);
        for (std::int64_t c = 0; c < plan.inputs; ++c) {
          const S* source =
              x.data() + ((n * plan.groups + g) * plan.inputs + c) * volume(plan.input);
          const std::int64_t kernel = plan.transposed ? (g * plan.inputs + c) * plan.outputs + o
                                                      : (g * plan.outputs + o) * plan.inputs + c;
          for (std::int64_t t = 0; t < window; ++t) {
            const Triple tap = {t / (plan.window[1] * plan.window[2]),
                                t / plan.window[2] % plan.window[1], t % plan.window[2]};
            add_tap(plan, tap, weight[static_cast<std::size_t>(kernel * window + t)], source,
                    plane);
          }
        }
      }
    }
  }
}

}  // namespace

Status evaluate_conv(NodeEvaluation& e, const Conv& conv) {
  TENDON_ASSIGN_OR_RETURN(const ConvPlan plan, plan_conv(e, conv));
  return visit_arithmetic_type(e.input(0).dtype(), [&](auto zero) -> Status {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) {
      return unsupported(e.input(0).dtype());
    } else {
      std::vector<Summed<T>> sums(static_cast<std::size_t>(e.outputs[0].elements()));
      convolve(plan, widened<T>(e.input(0)), widened<T>(e.input(1)), sums);
      return e.finish(rounded<T>(sums).data(), conv.epilogue);
    }
  });
}

// --- attention -----------------------------------------------------------------------------------

namespace {

/// Softmax in place; what a row that is masked whole becomes is up to the caller.
void softmax(std::span<double> scores, bool zero_masked) {
  double most = -std::numeric_limits<double>::infinity();
  bool has_nan = false;
  for (double score : scores) {
    most = std::max(most, score);
    has_nan |= std::isnan(score);
  }
  if (zero_masked && !has_nan && most == -std::numeric_limits<double>::infinity()) {
    std::fill(scores.begin(), scores.end(), 0.0);
    return;
  }
  double sum = 0;
  for (double& score : scores) {
    score = std::exp(score - most);
    sum += score;
  }
  for (double& score : scores) score /= sum;
}

}  // namespace

Status evaluate_attention(NodeEvaluation& e, const Attention& attention) {
  const Tensor& q = e.input(0);
  const Tensor& k = e.input(1);
  const Tensor& v = e.input(2);
  const Tensor& out = e.outputs[0];
  const std::size_t rank = q.sizes().size();
  const auto wrong = [&] {
    return Status(StatusCode::kInternal, "attention of " + q.view().to_string() + ", " +
                                             k.view().to_string() + ", " + v.view().to_string() +
                                             " to " + out.view().to_string());
  };
  if (rank < 3 || k.sizes().size() != rank || v.sizes().size() != rank || !is_floating(q.dtype()) ||
      k.dtype() != q.dtype() || v.dtype() != q.dtype()) {
    return wrong();
  }
  const std::int64_t heads = q.sizes()[rank - 3];
  const std::int64_t queries = q.sizes()[rank - 2];
  const std::int64_t depth = q.sizes()[rank - 1];
  const std::int64_t groups = k.sizes()[rank - 3];
  const std::int64_t keys = k.sizes()[rank - 2];
  const std::int64_t width = v.sizes()[rank - 1];
  const std::int64_t batches = batch_count(q.sizes(), 3);
  if (k.sizes()[rank - 1] != depth || v.sizes()[rank - 2] != keys ||
      v.sizes()[rank - 3] != groups || groups < 1 || heads % groups != 0 ||
      batch_count(k.sizes(), 3) != batches || batch_count(v.sizes(), 3) != batches ||
      out.elements() != batches * heads * queries * width) {
    return wrong();
  }
  TENDON_ASSIGN_OR_RETURN(const std::int64_t offset, e.context.size(attention.causal_offset));

  return visit_arithmetic_type(q.dtype(), [&](auto zero) -> Status {
    using T = decltype(zero);
    if constexpr (!std::is_floating_point_v<T>) {
      return wrong();
    } else {
      const auto qs = widened<T>(q);
      const auto ks = widened<T>(k);
      const auto vs = widened<T>(v);
      const std::int64_t rows = batches * heads * queries;
      const auto group_of = [&](std::int64_t row) {
        const std::int64_t head = row / queries % heads;
        return row / queries / heads * groups + head / (heads / groups);
      };
      std::vector<double> scores(static_cast<std::size_t>(rows * keys));
      for (std::int64_t row = 0; row < rows; ++row) {
        const double* query = qs.data() + row * depth;
        for (std::int64_t s = 0; s < keys; ++s) {
          const double* key = ks.data() + (group_of(row) * keys + s) * depth;
          double dot = 0;
          for (std::int64_t d = 0; d < depth; ++d) dot += query[d] * key[d];
          scores[static_cast<std::size_t>(row * keys + s)] = dot * attention.scale;
        }
      }
      if (attention.score != kNoExpr) {
        Sizes extents = q.sizes();
        extents[rank - 1] = keys;
        TENDON_ASSIGN_OR_RETURN(const Tensor seen,
                                e.expression(attention.score, extents, rounded<T>(scores).data()));
        scores = widened<T>(seen);
      }
      std::vector<double> results(static_cast<std::size_t>(out.elements()));
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::span<double> weights = std::span(scores).subspan(
            static_cast<std::size_t>(row * keys), static_cast<std::size_t>(keys));
        if (attention.causal) {
          const std::int64_t visible =
              std::clamp<std::int64_t>(row % queries + offset + 1, 0, keys);
          std::fill(weights.begin() + visible, weights.end(),
                    -std::numeric_limits<double>::infinity());
        }
        softmax(weights, attention.zero_masked_rows);
        double* result = results.data() + row * width;
        for (std::int64_t s = 0; s < keys; ++s) {
          const double weight = weights[static_cast<std::size_t>(s)];
          const double* value = vs.data() + (group_of(row) * keys + s) * width;
          for (std::int64_t d = 0; d < width; ++d) result[d] += weight * value[d];
        }
      }
      return e.finish(rounded<T>(results).data(), kNoExpr);
    }
  });
}

}  // namespace tendon::ir
