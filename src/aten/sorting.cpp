// Sorting, and searching in what is sorted.
#include "aten/sorting.h"

#include "aten/index_tools.h"
#include "aten/operator.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

std::pair<Tensor, Tensor> sorted(Builder& b, const Tensor& x, std::int64_t dim, bool descending,
                                 bool stable) {
  const int axis = wrap_axis(dim, x.rank());
  if (x.complex()) throw InvalidProgram("Sort does not support complex dtypes on CPU");
  if (x.rank() == 0) return {x, full(b, {}, std::int64_t{0}, DType::kInt64)};
  return b.sort(x, axis, descending, stable);
}

Outputs sorted_operator(Builder& b, const Arguments& arguments) {
  const bool stable = arguments.has("stable") && arguments.boolean("stable");
  const auto [values, positions] = sorted(b, arguments.tensor("self"), arguments.integer("dim"),
                                          arguments.boolean("descending"), stable);
  return {values, positions};
}

/// Which side of equal elements a search ends on.
bool search_right(const Arguments& arguments) {
  const bool right = arguments.boolean("right");
  const std::optional<std::string> side =
      arguments.has("side") ? arguments.optional_text("side") : std::nullopt;
  if (!side) return right;
  if (*side != "left" && *side != "right") {
    throw InvalidProgram("torch.searchsorted(): side can only be 'left' or 'right' but got " +
                         *side);
  }
  if (right && *side == "left") {
    throw InvalidProgram(
        "torch.searchsorted(): side and right can't be set to opposites, got side of left while "
        "right was True");
  }
  return *side == "right";
}

Tensor search(Builder& b, const Tensor& sequence, const Tensor& values, const Tensor* sorter,
              DType type, bool right) {
  if (sequence.rank() == 0) {
    throw InvalidProgram(
        "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 "
        "dimension");
  }
  const bool shared = sequence.rank() == 1;
  if (!shared && sequence.rank() != values.rank()) {
    throw InvalidProgram(
        "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions "
        "of boundaries tensor and input value tensor must match, but we got boundaries tensor " +
        shape_text(sequence.shape) + " and input value tensor " + shape_text(values.shape));
  }
  for (int k = 0; !shared && k + 1 < sequence.rank(); ++k) {
    require(b, ir::equal(sequence.size(k), values.size(k)),
            "torch.searchsorted(): the first N-1 dimensions of boundaries tensor and input value "
            "tensor must match");
  }
  const Tensor keys = cast(b, sequence, type), wanted = cast(b, values, type);
  const DType compute = compute_type(type);
  return b.map(values.shape, [&](const Indices& index) {
    Indices prefix;
    if (!shared) prefix.assign(index.begin(), index.end() - 1);
    const Expr value = cast(compute, b.load(wanted, index));
    return binary_search(b, sequence.size(-1), [&](Expr position, Expr inside) {
      Indices at = prefix;
      at.push_back(position);
      if (sorter != nullptr) {
        at.back() = b.check_index(
            b.masked_load(*sorter, inside, at), sequence.size(-1),
            {.wrap = false, .message = "torch.searchsorted(): sorter index out of range"});
      }
      const Expr key = cast(compute, b.masked_load(keys, inside, at));
      return right ? !(key > value) : !(key >= value);
    });
  });
}

Tensor as_output(Builder& b, const Tensor& positions, const Arguments& arguments) {
  return cast(b, positions, arguments.boolean("out_int32") ? DType::kInt32 : DType::kInt64);
}

}  // namespace

Expr binary_search(Builder& b, const Size& size,
                   const std::function<Expr(Expr position, Expr inside)>& before) {
  const ir::Bounds bounds = size.bounds();
  if (bounds.upper == ir::kUnbounded) {
    throw Unsupported("searching in a sequence whose length has no bound");
  }
  std::int64_t step = 1;
  while (step <= bounds.upper / 2) step *= 2;
  Expr found = b.constant(DType::kInt64, 0);
  for (; bounds.upper > 0 && step > 0; step /= 2) {
    const Expr next = found + step;
    const Expr inside = next <= b.size(size);
    const Expr position = select(inside, next - 1, b.constant(DType::kInt64, 0));
    found = select(inside && before(position, inside), next, found);
  }
  return found;
}

OPERATOR(sort,
         "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
         "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor "
         "values, Tensor indices)") {
  return sorted_operator(b, arguments);
}
OPERATOR(
    argsort, "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
    "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor") {
  return std::get<Tensor>(sorted_operator(b, arguments)[1]);
}
OPERATOR(msort, "msort(Tensor self) -> Tensor") {
  return sorted(b, arguments.tensor("self"), 0, false, true).first;
}
OPERATOR(topk,
         "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor "
         "values, Tensor indices)") {
  const Tensor& self = arguments.tensor("self");
  const Size k = arguments.size("k");
  const int axis = wrap_axis(arguments.integer("dim"), self.rank());
  const Size extent = self.rank() == 0 ? Size(1) : self.size(axis);
  require(b, ir::logical_and(ir::less_equal(Size(0), k), ir::less_equal(k, extent)),
          "selected index k out of range");
  if (self.rank() == 0) return {self, full(b, {}, std::int64_t{0}, DType::kInt64)};
  const auto [values, positions] =
      b.top_k(self, axis, arguments.boolean("largest"), k, arguments.boolean("sorted"));
  return {values, positions};
}

OPERATOR(searchsorted,
         "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool "
         "right=False, str? side=None, Tensor? sorter=None) -> Tensor") {
  const Tensor& sequence = arguments.tensor("sorted_sequence");
  const Tensor& self = arguments.tensor("self");
  const std::optional<Tensor> sorter = arguments.optional_tensor("sorter");
  return as_output(b,
                   search(b, sequence, self, sorter ? &*sorter : nullptr,
                          result_type({sequence, self}), search_right(arguments)),
                   arguments);
}
OPERATOR(searchsorted_scalar,
         "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool "
         "right=False, str? side=None, Tensor? sorter=None) -> Tensor") {
  const Tensor& sequence = arguments.tensor("sorted_sequence");
  const Scalar& self = arguments.scalar("self");
  const std::optional<Tensor> sorter = arguments.optional_tensor("sorter");
  const DType type = result_type({sequence, self});
  return as_output(b,
                   search(b, sequence, scalar_tensor(b, self, type), sorter ? &*sorter : nullptr,
                          type, search_right(arguments)),
                   arguments);
}
OPERATOR(bucketize,
         "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool "
         "right=False) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor& boundaries = arguments.tensor("boundaries");
  if (boundaries.rank() != 1) {
    throw InvalidProgram("boundaries tensor must be 1 dimension, but got dim(" +
                         std::to_string(boundaries.rank()) + ")");
  }
  return as_output(b,
                   search(b, boundaries, self, nullptr, result_type({boundaries, self}),
                          arguments.boolean("right")),
                   arguments);
}
OPERATOR(bucketize_scalar,
         "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool "
         "right=False) -> Tensor") {
  const Scalar& self = arguments.scalar("self");
  const Tensor& boundaries = arguments.tensor("boundaries");
  const DType type = result_type({boundaries, self});
  return as_output(b,
                   search(b, boundaries, scalar_tensor(b, self, type), nullptr, type,
                          arguments.boolean("right")),
                   arguments);
}

namespace {

/// Is each element among the test elements? Few of them are compared one by one, many are sorted
/// and searched.
Tensor is_in(Builder& b, const Tensor& elements, const Tensor& tests, DType type, bool invert) {
  constexpr std::int64_t kFew = 32;
  const DType compute = compute_type(type);
  const Tensor wanted = cast(b, elements, type);
  Tensor among = flatten(b, cast(b, tests, type));
  const Size count = among.size(0);
  const bool few = count.bounds().upper <= kFew;
  if (few) {
    const Tensor found =
        b.reduce(ReduceOp::kAny, elements.shape, {count}, [&](const Indices& index) {
          const Expr element =
              cast(compute, b.load(wanted, Indices(index.begin(), index.end() - 1)));
          return element == cast(compute, b.load(among, {index.back()}));
        });
    return invert ? b.map(found.shape, [&](const Indices& i) { return !b.load(found, i); }) : found;
  }
  among = b.sort(among, 0, false).first;
  return b.map(elements.shape, [&](const Indices& index) {
    const Expr element = cast(compute, b.load(wanted, index));
    const Expr position = binary_search(b, count, [&](Expr at, Expr inside) {
      return !(cast(compute, b.masked_load(among, inside, {at})) >= element);
    });
    const Expr inside = position < b.size(count);
    const Expr found = inside && cast(compute, b.masked_load(among, inside, {position})) == element;
    return invert ? !found : found;
  });
}

}  // namespace

OPERATOR(isin,
         "isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, "
         "bool invert=False) -> Tensor") {
  const Tensor& elements = arguments.tensor("elements");
  const Tensor& tests = arguments.tensor("test_elements");
  return is_in(b, elements, tests, result_type({elements, tests}), arguments.boolean("invert"));
}
OPERATOR(isin_tensor_scalar,
         "isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, "
         "bool invert=False) -> Tensor") {
  const Tensor& elements = arguments.tensor("elements");
  const Scalar& test = arguments.scalar("test_element");
  const DType type = result_type({elements, test});
  return is_in(b, elements, scalar_tensor(b, test, type), type, arguments.boolean("invert"));
}
OPERATOR(isin_scalar_tensor,
         "isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, "
         "bool invert=False) -> Tensor") {
  const Scalar& element = arguments.scalar("element");
  const Tensor& tests = arguments.tensor("test_elements");
  const DType type = result_type({element, tests});
  return is_in(b, scalar_tensor(b, element, type), tests, type, arguments.boolean("invert"));
}

}  // namespace tendon::aten
