// Scaled dot product attention.
#include <cmath>
#include <limits>

#include "aten/toolbox.h"

namespace tendon::aten {

OPERATOR(scaled_dot_product_attention,
         "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
         "attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool "
         "enable_gqa=False) -> Tensor") {
  const Tensor& query = arguments.tensor("query");
  Tensor key = arguments.tensor("key"), value = arguments.tensor("value");
  if (arguments.real("dropout_p") > 0) throw Unsupported("dropout in attention");
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
  ir::Attention attributes;
  const auto width = q.size(-1).as_constant();
  if (!arguments.has("scale") && !width)
    throw Unsupported("a head width that is not known at load");
  attributes.scale = arguments.has("scale") ? arguments.real("scale")
                                            : 1.0 / std::sqrt(static_cast<double>(*width));
  attributes.causal = arguments.boolean("is_causal");
  const auto mask = arguments.optional_tensor("attn_mask");
  // A row of a bool mask that is false throughout attends to nothing: zeros.
  attributes.zero_masked_rows = mask.has_value();
  const DType compute = compute_type(q.dtype);
  Builder::Body bias;
  if (mask) {
    bias = [&](const Indices& i) {
      const Expr element = b.load_broadcast(*mask, i);
      if (element.dtype() != DType::kBool) return cast(compute, element);
      return select(element, b.constant(compute, 0.0),
                    b.constant(compute, -std::numeric_limits<double>::infinity()));
    };
  }
  const Tensor output = b.attention(q, key, value, attributes, bias);
  return query.rank() == 2 ? squeeze(b, output, {0}) : output;
}

}  // namespace tendon::aten
