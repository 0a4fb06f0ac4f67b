// Losses with margins, and distances between all pairs of rows.
#include <cmath>
#include <limits>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// `reduction`: 0 none, 1 mean, 2 sum.
Tensor reduced(Builder& b, const Tensor& x, std::int64_t reduction) {
  const std::vector<int> axes = wrap_axes(std::nullopt, x.rank());
  if (reduction == 1) return mean(b, x, axes, false, x.dtype);
  if (reduction == 2) return sum(b, x, axes, false, x.dtype);
  return x;
}

Expr positive(Expr x) { return maximum(x, like(x, 0)); }

/// The p-norm of `terms` magnitudes over the last axis of the iteration space, in `compute`.
Tensor row_norm(Builder& b, const Shape& shape, const Size& width, double p,
                const std::function<Expr(const Indices&)>& difference) {
  const auto magnitude = [&](const Indices& i) { return unary(Op::kAbs, difference(i)); };
  const auto finish = [&](const Tensor& total, const std::function<Expr(Expr)>& body) {
    return b.map(shape, [&](const Indices& i) { return body(b.load(total, i)); });
  };
  if (p == 0) {
    return b.reduce(ReduceOp::kSum, shape, {width}, [&](const Indices& i) {
      const Expr x = magnitude(i);
      return cast(x.dtype(), x != 0);
    });
  }
  if (p == kInfinity) return b.reduce(ReduceOp::kMax, shape, {width}, magnitude);
  if (p == 1) return b.reduce(ReduceOp::kSum, shape, {width}, magnitude);
  const Tensor total = b.reduce(ReduceOp::kSum, shape, {width}, [&](const Indices& i) {
    const Expr x = magnitude(i);
    return p == 2 ? x * x : binary(Op::kPow, x, like(x, p));
  });
  return finish(total, [&](Expr x) {
    return p == 2 ? unary(Op::kSqrt, x) : binary(Op::kPow, x, like(x, 1 / p));
  });
}

/// PyTorch's pairwise_distance over the last axis.
Tensor pair_distance(Builder& b, const Tensor& x, const Tensor& y, double p, double eps) {
  const std::vector<Shape> shapes = {x.shape, y.shape};
  Shape shape = broadcast_shapes(b, shapes);
  const Size width = shape.back();
  shape.pop_back();
  const DType common = result_type({x, y}), type = to_floating(common);
  return cast(b,
              row_norm(b, shape, width, p,
                       [&](const Indices& i) {
                         const auto element = [&](const Tensor& t) {
                           return cast(compute_type(common), b.load_broadcast(t, i));
                         };
                         const Expr gap = cast(common, element(x) - element(y));
                         return cast(compute_type(type),
                                     cast(type, cast(compute_type(type), gap) + eps));
                       }),
              type);
}

Tensor combine(Builder& b, const Tensor& x, const Tensor& y,
               const std::function<Expr(Expr, Expr)>& body) {
  const DType result = result_type({x, y});
  return elementwise(b, {x, y}, compute_type(result), result,
                     [&](const std::vector<Expr>& e) { return body(e[0], e[1]); });
}

Tensor cosine_embedding(Builder& b, const Arguments& arguments) {
  const Tensor &first = arguments.tensor("input1"), &second = arguments.tensor("input2"),
               &target = arguments.tensor("target");
  const double margin = arguments.real("margin");
  constexpr double kEpsilon = 1e-12;
  const DType common = result_type({first, second}), type = to_floating(common);
  const DType compute = compute_type(type);
  const auto product = [&](const Tensor& x, const Tensor& y) {
    const Tensor products = combine(b, x, y, [](Expr p, Expr q) { return p * q; });
    const bool exact = is_floating(products.dtype);
    return sum(b, products, {products.rank() - 1}, false, exact ? products.dtype : DType::kInt64);
  };
  const Tensor along = product(first, second);
  const Tensor first_length = product(first, first), second_length = product(second, second);
  const Tensor cosine = elementwise(
      b, {along, first_length, second_length}, compute, type, [&](const std::vector<Expr>& e) {
        const auto rounded = [&](Expr x) { return cast(compute, cast(type, x)); };
        const Expr lengths = rounded(rounded(e[1] + kEpsilon) * rounded(e[2] + kEpsilon));
        return e[0] / rounded(unary(Op::kSqrt, lengths));
      });
  const Tensor losses =
      elementwise(b, {cosine, target}, compute, type, [&](const std::vector<Expr>& e) {
        const Expr zero = like(e[0], 0);
        return select(e[1] == 1, 1.0 - e[0], zero) +
               select(e[1] == -1, positive(e[0] - margin), zero);
      });
  return reduced(b, losses, arguments.integer("reduction"));
}

/// Classes along the last axis, one target class a row.
Tensor multi_margin(Builder& b, const Arguments& arguments) {
  const Tensor& self = arguments.tensor("self");
  const Tensor x = self.rank() == 0   ? reshape(b, self, {1, 1})
                   : self.rank() == 1 ? unsqueeze(b, self, 0)
                                      : self;
  const Tensor& given = arguments.tensor("target");
  const Tensor target = given.rank() == 0 ? unsqueeze(b, given, 0) : given;
  const auto weight = arguments.optional_tensor("weight");
  const double margin = arguments.real("margin");
  const std::int64_t p = arguments.integer("p");
  if (p != 1 && p != 2) throw InvalidProgram("only p == 1 and p == 2 supported");
  const Size classes = x.size(1);
  const DType compute = compute_type(x.dtype);
  const Tensor total = b.reduce(ReduceOp::kSum, {x.size(0)}, {classes}, [&](const Indices& i) {
    const Expr label = b.check_index(cast(DType::kInt64, b.load(target, {i[0]})), classes,
                                     {false, "target {index} is out of bounds."});
    Expr z =
        margin - cast(compute, b.load(x, {i[0], label})) + cast(compute, b.load(x, {i[0], i[1]}));
    const Expr counted = i[1] != label && z > 0;
    if (p == 2) z = z * z;
    if (weight) z = z * cast(compute, b.load(*weight, {label}));
    return select(counted, z, like(z, 0.0));
  });
  const Tensor losses = b.map(total.shape, [&](const Indices& i) {
    return cast(x.dtype, b.load(total, i) / cast(compute, b.size(classes)));
  });
  const std::int64_t reduction = arguments.integer("reduction");
  if (reduction == 0 && self.rank() < 2) return reshape(b, losses, {});
  return reduced(b, losses, reduction);
}

struct MultiLabel {
  Tensor losses, is_target;
};

/// Targets are the classes before the first -1 of each row.
MultiLabel multi_label_margin(Builder& b, const Arguments& arguments) {
  const Tensor& self = arguments.tensor("self");
  const auto as_matrix = [&](const Tensor& t) {
    return t.rank() == 0 ? reshape(b, t, {1, 1}) : t.rank() == 1 ? unsqueeze(b, t, 0) : t;
  };
  const Tensor x = as_matrix(self), target = as_matrix(arguments.tensor("target"));
  const Size rows = x.size(0), classes = x.size(1);
  const DType compute = compute_type(x.dtype);
  // How many of the row's targets count: those before the first negative one.
  const Tensor ended = b.scan(ir::ScanOp::kSum, 1, target.shape, [&](const Indices& i) {
    return cast(DType::kInt64, b.load(target, i) < 0);
  })[0];
  const auto label_at = [&](const Indices& i) {
    const Expr counts = b.load(ended, i) == 0;
    const Expr label =
        select(counts, cast(DType::kInt64, b.load(target, i)), b.constant(DType::kInt64, 0));
    return std::pair(b.check_index(label, classes), counts);
  };
  MultiLabel result;
  const Tensor zeros = full(b, x.shape, Scalar(0.0), compute);
  const Tensor marks =
      b.scatter(ir::ScatterOp::kAssign, zeros, target.shape, [&](const Indices& i) {
        const auto [label, counts] = label_at(i);
        return Builder::ScatterPoint{{i[0], label}, b.constant(compute, 1.0), counts};
      });
  const Tensor total = b.reduce(ReduceOp::kSum, {rows}, {classes, classes}, [&](const Indices& i) {
    const auto [label, counts] = label_at({i[0], i[1]});
    const Expr z =
        1.0 - cast(compute, b.load(x, {i[0], label})) + cast(compute, b.load(x, {i[0], i[2]}));
    const Expr other = b.load(marks, {i[0], i[2]}) == 0;
    return select(counts && other && z > 0, z, like(z, 0.0));
  });
  result.losses = b.map(total.shape, [&](const Indices& i) {
    return cast(x.dtype, b.load(total, i) / cast(compute, b.size(classes)));
  });
  const std::int64_t reduction = arguments.integer("reduction");
  result.losses = reduction == 0 && self.rank() < 2 ? reshape(b, result.losses, {})
                                                    : reduced(b, result.losses, reduction);
  result.is_target = reshape(b, cast(b, marks, x.dtype), arguments.tensor("target").shape);
  return result;
}

}  // namespace

OPERATOR(cosine_embedding_loss,
         "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int "
         "reduction=Mean) -> Tensor") {
  return cosine_embedding(b, arguments);
}
OPERATOR(triplet_margin_loss,
         "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, "
         "float p=2, float eps=1e-06, bool swap=False, int reduction=Mean) -> Tensor") {
  const Tensor &anchor = arguments.tensor("anchor"), &near = arguments.tensor("positive"),
               &far = arguments.tensor("negative");
  const double margin = arguments.real("margin"), p = arguments.real("p");
  const double eps = arguments.real("eps");
  const Tensor to_near = pair_distance(b, anchor, near, p, eps);
  Tensor to_far = pair_distance(b, anchor, far, p, eps);
  if (arguments.boolean("swap")) {
    to_far = combine(b, to_far, pair_distance(b, near, far, p, eps),
                     [](Expr x, Expr y) { return minimum(x, y); });
  }
  const DType type = to_near.dtype;
  const Tensor losses = combine(b, to_near, to_far, [&](Expr x, Expr y) {
    const Expr shifted = cast(compute_type(type), cast(type, x + margin));
    return positive(shifted - y);
  });
  return reduced(b, losses, arguments.integer("reduction"));
}
OPERATOR(multi_margin_loss,
         "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? "
         "weight=None, int reduction=Mean) -> Tensor") {
  return multi_margin(b, arguments);
}
OPERATOR(multilabel_margin_loss,
         "multilabel_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor") {
  return multi_label_margin(b, arguments).losses;
}
OPERATOR(multilabel_margin_loss_forward,
         "multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor "
         "output, Tensor is_target)") {
  const MultiLabel result = multi_label_margin(b, arguments);
  return {result.losses, result.is_target};
}
OPERATOR(pdist, "pdist(Tensor self, float p=2) -> Tensor",
         "_pdist_forward(Tensor self, float p=2) -> Tensor") {
  // The strict upper triangle of all distances, row after row.
  const Tensor& self = arguments.tensor("self");
  const double p = arguments.real("p");
  const auto rows = self.size(0).as_constant();
  if (!rows) throw Unsupported("a number of rows that is not known at load");
  const std::int64_t count = *rows * (*rows - 1) / 2;
  const DType compute = compute_type(self.dtype);
  if (count == 0) return full(b, {count}, Scalar(0.0), self.dtype);
  const auto starts = b.map({Size(*rows)}, [&](const Indices& i) {  // where a row's pairs begin
    return i[0] * (2 * *rows - 1) - i[0] * i[0];                    // twice, to stay whole
  });
  const Tensor row_of =
      b.reduce(ReduceOp::kSum, {Size(count)}, {Size(*rows - 1)}, [&](const Indices& i) {
        return cast(DType::kInt64, b.load(starts, {i[1] + 1}) <= i[0] * std::int64_t{2});
      });
  return cast(b,
              row_norm(b, {Size(count)}, self.size(1), p,
                       [&](const Indices& i) {
                         const Expr row = b.check_index(b.load(row_of, {i[0]}), *rows);
                         const Expr start = floor_divide(row * (2 * *rows - 1) - row * row,
                                                         b.constant(DType::kInt64, 2));
                         const Expr column = b.check_index(i[0] - start + row + 1, *rows);
                         return cast(compute, b.load(self, {row, i[1]})) -
                                cast(compute, b.load(self, {column, i[1]}));
                       }),
              self.dtype);
}

}  // namespace tendon::aten
