// Rows of a table by their numbers: embedding, sums of them in bags, renormalised rows.
#include <cmath>

#include "aten/operator.h"
#include "aten/scatter_tools.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

const std::string kOutOfRange = "index out of range in self";

enum class BagMode { kSum = 0, kMean = 1, kMax = 2 };

struct Bags {
  Tensor indices;  // [n]
  Tensor bag;      // int64 [n]: the bag of each index
  Size count;      // bags
};

/// offsets[k] is where bag k begins.
Bags bags_of(Builder& b, const Tensor& indices, const Tensor& offsets, bool last_included) {
  if (indices.rank() != 1 || offsets.rank() != 1) {
    throw Unsupported("indices of rank " + std::to_string(indices.rank()) +
                      " and offsets of rank " + std::to_string(offsets.rank()));
  }
  Bags bags;
  bags.indices = cast(b, indices, DType::kInt64);
  bags.count = last_included ? offsets.size(0) - Size(1) : offsets.size(0);
  const Tensor begins = cast(b, offsets, DType::kInt64);
  bags.bag = b.reduce(ReduceOp::kSum, indices.shape, {bags.count}, [&](const Indices& i) {
    return cast(DType::kInt64, b.load(begins, {i[1]}) <= i[0]);
  });
  bags.bag = b.map(indices.shape,
                   [&, counted = bags.bag](const Indices& i) { return b.load(counted, i) - 1; });
  return bags;
}

/// How many indices each bag has, without the padding index.
Tensor bag_sizes(Builder& b, const Bags& bags, std::int64_t padding) {
  return b.reduce(ReduceOp::kSum, {bags.count}, {bags.indices.size(0)}, [&](const Indices& i) {
    const Expr mine = b.load(bags.bag, {i[1]}) == i[0];
    return cast(DType::kInt64,
                padding < 0 ? mine : mine && b.load(bags.indices, {i[1]}) != padding);
  });
}

Outputs embedding_bag(Builder& b, const Arguments& arguments, std::int64_t padding) {
  const Tensor& weight = arguments.tensor("weight");
  const auto mode = static_cast<BagMode>(arguments.integer("mode"));
  const Bags bags = bags_of(b, arguments.tensor("indices"), arguments.tensor("offsets"),
                            arguments.boolean("include_last_offset"));
  const std::optional<Tensor> factors = arguments.optional_tensor("per_sample_weights");
  if (factors && mode != BagMode::kSum) {
    throw InvalidProgram(
        "embedding_bag: per_sample_weights was not None. per_sample_weights is "
        "only supported for mode='sum'");
  }
  if (padding < 0) padding = -1;  // PyTorch has wrapped it by now; nothing else is negative
  const DType compute = compute_type(weight.dtype);
  const Size columns = weight.size(1);
  const Size n = bags.indices.size(0);
  const bool max = mode == BagMode::kMax;
  // Rows are added to their bags in order, in the type of the arithmetic.
  ScatterPlan plan;
  plan.domain = {n, columns};
  plan.source = b.map(plan.domain, [&](const Indices& i) {
    const Expr row = checked_element(b, bags.indices, {i[0]}, weight.size(0), kOutOfRange);
    const Expr value = cast(compute, b.load(weight, {row, i[1]}));
    return factors ? value * cast(compute, b.load(*factors, {i[0]})) : value;
  });
  plan.source_position = [](const Indices& i) { return i; };
  plan.target = [&](const Indices& i) {
    return Indices{checked_element(b, bags.bag, {i[0]}, bags.count, "offsets[0] has to be 0"),
                   i[1]};
  };
  if (padding >= 0) {
    plan.mask = [&](const Indices& i) { return b.load(bags.indices, {i[0]}) != padding; };
  }
  const Tensor start = b.map({bags.count, columns}, [&](const Indices&) {
    return max ? lowest(b, compute) : b.constant(compute, 0.0);
  });
  const Tensor total =
      scatter_plan(b, max ? ir::ScatterOp::kMax : ir::ScatterOp::kAdd, start, plan);
  const Tensor sizes = bag_sizes(b, bags, padding);
  const Tensor result = b.map({bags.count, columns}, [&](const Indices& i) {
    const Expr value = b.load(total, i);
    const Expr size = b.load(sizes, {i[0]});
    if (mode == BagMode::kSum) return cast(weight.dtype, value);
    const Expr divided =
        max ? value : value / cast(compute, maximum(size, b.constant(DType::kInt64, 1)));
    return cast(weight.dtype, select(size == 0, b.constant(compute, 0.0), divided));
  });
  // The other outputs serve the gradient only.
  Outputs outputs{result, bags.bag, sizes, sizes};
  outputs.unlike_export = true;
  return outputs;
}

}  // namespace

OPERATOR(embedding,
         "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
         "scale_grad_by_freq=False, bool sparse=False) -> Tensor") {
  const Tensor& weight = arguments.tensor("weight");
  const Tensor& indices = arguments.tensor("indices");
  if (weight.rank() != 2) throw InvalidProgram("'weight' must be 2-D");
  require_index_type(indices,
                     "Expected tensor for argument #1 'indices' to have one of the following "
                     "scalar types: Long, Int; but got " +
                         scalar_type_name(indices.dtype) + " instead");
  Shape shape = indices.shape;
  shape.push_back(weight.size(1));
  return rearrange(b, weight, shape, [&](const Indices& i) {
    const Indices at(i.begin(), i.end() - 1);
    return Indices{checked_element(b, indices, at, weight.size(0), kOutOfRange), i.back()};
  });
}
OPERATOR(
    embedding_bag,
    "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
    "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
    "bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)") {
  return embedding_bag(b, arguments, -1);
}
OPERATOR(
    embedding_bag_padding,
    "embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool "
    "scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool "
    "include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
    "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
    "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
    "bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    "_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool "
    "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
    "bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)") {
  return embedding_bag(b, arguments, arguments.optional_integer("padding_idx").value_or(-1));
}

// Rows that are used and longer than max_norm are scaled to it.
OPERATOR(embedding_renorm,
         "embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> "
         "Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor indices = flatten(b, arguments.tensor("indices"));
  const double norm_type = arguments.real("norm_type"), most = arguments.real("max_norm");
  const DType compute = compute_type(self.dtype);
  const bool infinite = std::isinf(norm_type);
  const Tensor sums = b.reduce(
      infinite ? ReduceOp::kMax : ReduceOp::kSum, {self.size(0)}, {self.size(1)},
      [&](const Indices& i) {
        const Expr x = unary(Op::kAbs, cast(compute, b.load(self, i)));
        if (infinite || norm_type == 1.0) return x;
        return norm_type == 2.0 ? x * x : binary(Op::kPow, x, b.constant(compute, norm_type));
      });
  ScatterPlan plan;
  plan.domain = indices.shape;
  plan.target = [&](const Indices& i) {
    return Indices{checked_element(b, indices, i, self.size(0), kOutOfRange)};
  };
  plan.source = full(b, {}, true, DType::kBool);
  plan.source_position = [](const Indices&) { return Indices(); };
  const Tensor used =
      scatter_plan(b, ir::ScatterOp::kAssign, full(b, {self.size(0)}, false, DType::kBool), plan);
  return b.map(self.shape, [&](const Indices& i) {
    Expr norm = b.load(sums, {i[0]});
    if (norm_type == 2.0) {
      norm = unary(Op::kSqrt, norm);
    } else if (!infinite && norm_type != 1.0) {
      norm = binary(Op::kPow, norm, b.constant(compute, 1.0 / norm_type));
    }
    const Expr element = b.load(self, i);
    const Expr scale = b.constant(compute, most) / (norm + 1e-7);
    return select(b.load(used, {i[0]}) && norm > most,
                  cast(self.dtype, cast(compute, element) * scale), element);
  });
}

}  // namespace tendon::aten
