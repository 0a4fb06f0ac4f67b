// Scaled dot product attention.
#include <cmath>
#include <limits>

#include "aten/statistics.h"
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// Keys or values with as many heads as the query.
Tensor repeated_heads(Builder& b, const Tensor& q, const Tensor& t) {
  const auto heads = ir::divide_exactly(q.size(-3), t.size(-3));
  if (!heads) throw InvalidProgram("the query's heads are no multiple of the key's");
  Shape shape = t.shape;
  shape[shape.size() - 3] = q.size(-3);
  return b.map(shape, [&](const Indices& i) {
    Indices index = i;
    index[i.size() - 3] = floor_divide(i[i.size() - 3], b.size(*heads));
    return b.load(t, index);
  });
}

/// The scaled and masked products of queries with keys.
Tensor attention_scores(Builder& b, const Tensor& q, const Tensor& key,
                        const ir::Attention& attributes, const Builder::Body& bias) {
  const Tensor product = wide_matmul(b, q, transpose(b, repeated_heads(b, q, key), -2, -1));
  return b.map(product.shape, [&](const Indices& i) {
    Expr score = b.load(product, i) * attributes.scale;
    const Expr minus_infinity = like(score, -std::numeric_limits<double>::infinity());
    if (attributes.causal) {
      const Expr masked = i[i.size() - 1] > i[i.size() - 2];
      score = select(masked, minus_infinity, score);
    }
    return bias ? score + bias(i) : score;
  });
}

/// In steps, with some of the weights set to zero and the others scaled up.
Tensor attention_with_dropout(Builder& b, const Tensor& q, const Tensor& key, const Tensor& value,
                              const ir::Attention& attributes, const Builder::Body& bias,
                              double dropout) {
  const DType type = q.dtype, compute = compute_type(type);
  const Tensor scores = attention_scores(b, q, key, attributes, bias);
  const Tensor weights = softmax(b, scores, scores.rank() - 1, compute);
  const Tensor noise = uniform_numbers(b, weights.shape, DType::kFloat32);
  const Tensor kept = b.map(weights.shape, [&](const Indices& i) {
    const Expr weight = b.load(weights, i);
    const Expr scaled = dropout < 1 ? weight * (1 / (1 - dropout)) : like(weight, 0.0);
    return cast(type, select(b.load(noise, i) < dropout, like(weight, 0.0), scaled));
  });
  return matmul(b, kept, repeated_heads(b, q, value));
}

/// What is added to the scores; nothing where there is no mask.
Builder::Body mask_bias(Builder& b, const std::optional<Tensor>& mask, DType compute) {
  if (!mask) return {};
  return [&b, mask = *mask, compute](const Indices& i) {
    const Expr element = b.load_broadcast(mask, i);
    if (element.dtype() != DType::kBool) return cast(compute, element);
    return select(element, b.constant(compute, 0.0),
                  b.constant(compute, -std::numeric_limits<double>::infinity()));
  };
}

ir::Attention attributes_of(const Arguments& arguments, const Tensor& q) {
  ir::Attention attributes;
  const auto width = q.size(-1).as_constant();
  if (!arguments.has("scale") && !width) {
    throw Unsupported("a head width that is not known at load");
  }
  attributes.scale = arguments.has("scale") ? arguments.real("scale")
                                            : 1.0 / std::sqrt(static_cast<double>(*width));
  attributes.causal = arguments.boolean("is_causal");
  // A row of a bool mask that is false throughout attends to nothing: zeros.
  attributes.zero_masked_rows = arguments.has("attn_mask");
  return attributes;
}

}  // namespace

OPERATOR(scaled_dot_product_attention,
         "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
         "attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool "
         "enable_gqa=False) -> Tensor") {
  const Tensor& query = arguments.tensor("query");
  Tensor key = arguments.tensor("key"), value = arguments.tensor("value");
  Tensor q = query;
  // [batch..., heads, length, width]; a missing head axis counts as one head.
  const auto with_head = [&](const Tensor& t) { return t.rank() == 2 ? unsqueeze(b, t, 0) : t; };
  q = with_head(q);
  key = with_head(key);
  value = with_head(value);
  std::vector<Shape> batches;
  for (const Tensor* t : {&q, &key, &value})
    batches.emplace_back(t->shape.begin(), t->shape.end() - 3);
  Shape batch = broadcast_shapes(b, batches);
  const bool grouped = arguments.boolean("enable_gqa");
  if (!grouped) {
    batches.clear();
    for (const Tensor* t : {&q, &key, &value})
      batches.emplace_back(t->shape.begin(), t->shape.end() - 2);
    batch = broadcast_shapes(b, batches);
  }
  const auto widened = [&](const Tensor& t) {
    Shape shape = batch;
    if (grouped) shape.push_back(t.size(-3));
    shape.push_back(t.size(-2));
    shape.push_back(t.size(-1));
    return shape == t.shape ? t : expand(b, t, shape);
  };
  q = widened(q);
  key = widened(key);
  value = widened(value);
  const ir::Attention attributes = attributes_of(arguments, q);
  const Builder::Body bias =
      mask_bias(b, arguments.optional_tensor("attn_mask"), compute_type(q.dtype));
  const double dropout = arguments.real("dropout_p");
  const Tensor output = dropout > 0
                            ? attention_with_dropout(b, q, key, value, attributes, bias, dropout)
                            : b.attention(q, key, value, attributes, bias);
  return query.rank() == 2 ? squeeze(b, output, {0}) : output;
}

// What the operator above becomes where its decomposition for the CPU was exported.
OPERATOR(flash_attention_for_cpu,
         "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, "
         "float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? "
         "scale=None) -> (Tensor output, Tensor logsumexp)") {
  if (arguments.real("dropout_p") > 0) {
    throw InvalidProgram(
        "scaled_dot_product_attention_flash_attention: Currently do not support "
        "dropout > 0");
  }
  const Tensor &q = arguments.tensor("query"), &key = arguments.tensor("key");
  const ir::Attention attributes = attributes_of(arguments, q);
  const DType compute = compute_type(q.dtype);
  const Builder::Body bias = mask_bias(b, arguments.optional_tensor("attn_mask"), compute);
  // Dropped again where nobody reads it.
  const Tensor scores = attention_scores(b, q, key, attributes, bias);
  return {b.attention(q, key, arguments.tensor("value"), attributes, bias),
          logsumexp(b, scores, {scores.rank() - 1}, false)};
}

}  // namespace tendon::aten
