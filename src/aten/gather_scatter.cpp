// gather, take and the scatter family: positions from an index tensor of the data's own rank.
#include "aten/operator.h"
#include "aten/scatter_tools.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

/// gather and scatter treat a 0-d tensor as one of size 1.
Tensor at_least_1d(Builder& b, const Tensor& x) {
  return x.rank() == 0 ? reshape(b, x, {Size(1)}) : x;
}

std::string out_of_bounds(int axis) {
  return "index {index} is out of bounds for dimension " + std::to_string(axis) +
         " with size {size}";
}

bool has_no_elements(const Tensor& x) { return ir::element_count(x.shape) == Size(0); }

void check_shapes(Builder& b, const Tensor& self, const Tensor& index, const Tensor* src, int axis,
                  const char* name) {
  require_index_type(index, std::string(name) + "(): Expected dtype int32/int64 for index");
  if (index.rank() != self.rank()) {
    throw InvalidProgram("Index tensor must have the same number of dimensions as self tensor");
  }
  if (src != nullptr && src->rank() != self.rank()) {
    throw InvalidProgram("Index tensor must have the same number of dimensions as src tensor");
  }
  for (int k = 0; k < self.rank(); ++k) {
    if (k != axis) {
      require(b, ir::less_equal(index.size(k), self.size(k)),
              src == nullptr
                  ? "Size does not match at dimension " + std::to_string(k) + " expected index " +
                        shape_text(index.shape) + " to be no larger than self " +
                        shape_text(self.shape) + " apart from dimension " + std::to_string(axis)
                  : "Expected index " + shape_text(index.shape) + " to be no larger than self " +
                        shape_text(self.shape) + " apart from dimension " + std::to_string(axis) +
                        " and to be no larger size than src " + shape_text(src->shape));
    }
    if (src != nullptr) {
      require(b, ir::less_equal(index.size(k), src->size(k)),
              "Expected index " + shape_text(index.shape) + " to be no larger than self " +
                  shape_text(self.shape) + " apart from dimension " + std::to_string(axis) +
                  " and to be no larger size than src " + shape_text(src->shape));
    }
  }
}

/// `wrap`: negative positions count from the end.
Tensor gather(Builder& b, const Tensor& x, std::int64_t dim, const Tensor& where,
              bool wrap = false) {
  if (has_no_elements(where)) return full(b, where.shape, std::int64_t{0}, x.dtype);
  const Tensor self = at_least_1d(b, x), index = at_least_1d(b, where);
  const int axis = wrap_axis(dim, self.rank());
  require_index_type(index, "gather(): Expected dtype int32/int64 for index");
  if (index.rank() != self.rank()) {
    throw InvalidProgram("Index tensor must have the same number of dimensions as input tensor");
  }
  check_shapes(b, self, index, nullptr, axis, "gather");
  const auto a = static_cast<std::size_t>(axis);
  const Tensor result = rearrange(b, self, index.shape, [&](const Indices& at) {
    Indices positions = at;
    positions[a] = checked_element(b, index, at, self.shape[a], out_of_bounds(axis), wrap);
    return positions;
  });
  return reshape(b, result, where.shape);
}

/// The plan of scatter(self, dim, index, src); a null src stands for a 0-d `value`.
ScatterPlan plan_along(Builder& b, const Tensor& self, int axis, const Tensor& index,
                       const Tensor& source) {
  const auto a = static_cast<std::size_t>(axis);
  ScatterPlan plan;
  plan.domain = index.shape;
  plan.source = source;
  const Size size = self.shape[a];
  plan.target = [&b, a, index, size, axis](const Indices& at) {
    Indices positions = at;
    positions[a] = checked_element(b, index, at, size, out_of_bounds(axis));
    return positions;
  };
  const bool one_value = source.rank() == 0;
  plan.source_position = [one_value](const Indices& at) { return one_value ? Indices() : at; };
  return plan;
}

enum class Kind { kAssign, kReduce };

struct ScatterRequest {
  Kind kind = Kind::kAssign;
  Reduction reduction = Reduction::kSum;
  bool include_self = true;
};

Tensor scatter(Builder& b, const Arguments& arguments, const std::optional<Tensor>& src,
               const ScatterRequest& request) {
  const Tensor& target = arguments.tensor("self");
  const Tensor& where = arguments.tensor("index");
  if (has_no_elements(where)) return target;
  const Tensor self = at_least_1d(b, target), index = at_least_1d(b, where);
  const int axis = wrap_axis(arguments.integer("dim"), self.rank());
  Tensor source;
  if (src) {
    source = at_least_1d(b, *src);
    check_shapes(b, self, index, &source, axis, "scatter");
    if (source.dtype != self.dtype) {
      throw InvalidProgram("scatter(): Expected self.dtype to be equal to src.dtype");
    }
  } else {
    check_shapes(b, self, index, nullptr, axis, "scatter");
    source = scalar_tensor(b, arguments.scalar("value"), self.dtype);
  }
  const ScatterPlan plan = plan_along(b, self, axis, index, source);
  const Tensor result = request.kind == Kind::kAssign
                            ? scatter_plan(b, ir::ScatterOp::kAssign, self, plan)
                            : scatter_reduction(b, request.reduction, self, plan,
                                                request.include_self, HalfRounding::kOnce);
  return reshape(b, result, target.shape);
}

Reduction old_reduction(const std::string& name) {
  if (name == "add") return Reduction::kSum;
  if (name == "multiply") return Reduction::kProduct;
  throw InvalidProgram("reduce argument must be either add or multiply.");
}

Reduction new_reduction(const std::string& name) {
  if (name == "sum") return Reduction::kSum;
  if (name == "prod") return Reduction::kProduct;
  if (name == "mean") return Reduction::kMean;
  if (name == "amax") return Reduction::kMax;
  if (name == "amin") return Reduction::kMin;
  throw InvalidProgram("reduce argument must be either sum, prod, mean, amax or amin.");
}

const std::string kTakeMessage =
    "out of range: tried to access index {index} on a tensor of {size} elements.";

}  // namespace

OPERATOR(gather,
         "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor") {
  return gather(b, arguments.tensor("self"), arguments.integer("dim"), arguments.tensor("index"));
}
OPERATOR(take_along_dim, "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor& indices = arguments.tensor("indices");
  const auto dim = arguments.optional_integer("dim");
  if (!dim) return gather(b, flatten(b, self), 0, flatten(b, indices));
  if (self.rank() != indices.rank()) {
    throw InvalidProgram(
        "torch.take_along_dim(): input and indices should have the same number of dimensions, but "
        "got " +
        std::to_string(self.rank()) + " dimensions for input, and " +
        std::to_string(indices.rank()) + " dimensions for indices");
  }
  const int axis = wrap_axis(*dim, self.rank());
  if (self.rank() == 0) return gather(b, self, 0, indices, true);
  // Both broadcast along all other axes.
  const auto a = static_cast<std::size_t>(axis);
  Shape left = self.shape, right = indices.shape;
  left[a] = right[a] = Size(1);
  const std::vector<Shape> shapes = {left, right};
  Shape common = broadcast_shapes(b, shapes);
  common[a] = self.shape[a];
  const Tensor x = expand(b, self, common);
  common[a] = indices.shape[a];
  return gather(b, x, axis, expand(b, indices, common), true);
}
OPERATOR(take, "take(Tensor self, Tensor index) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor& index = arguments.tensor("index");
  if (index.dtype != DType::kInt64) {
    throw InvalidProgram("take(): Expected a long tensor for index, but got " +
                         scalar_type_name(index.dtype));
  }
  const Tensor flat = flatten(b, self);
  if (flat.size(0) == Size(0) && !has_no_elements(index)) {
    throw InvalidProgram("take(): tried to take from an empty tensor");
  }
  return rearrange(b, flat, index.shape, [&](const Indices& at) {
    return Indices{checked_element(b, index, at, flat.size(0), kTakeMessage, true)};
  });
}
OPERATOR(put, "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor flat = flatten(b, self);
  const Tensor index = flatten(b, arguments.tensor("index"));
  const Tensor source = flatten(b, arguments.tensor("source"));
  if (index.dtype != DType::kInt64) {
    throw InvalidProgram("put_(): Expected a long tensor for index, but got " +
                         scalar_type_name(index.dtype));
  }
  if (source.dtype != self.dtype) {
    throw InvalidProgram(
        "put_(): self and source expected to have the same dtype, but got self.dtype = " +
        scalar_type_name(self.dtype) + " and source.dtype = " + scalar_type_name(source.dtype));
  }
  require(b, ir::equal(index.size(0), source.size(0)),
          "put_(): Expected source and index to have the same number of elements, but got "
          "source.numel() = " +
              source.size(0).to_string() + ", index.numel() = " + index.size(0).to_string());
  if (flat.size(0) == Size(0) && !has_no_elements(index)) {
    throw InvalidProgram("put_(): Tried to put elements into an empty tensor");
  }
  ScatterPlan plan;
  plan.domain = index.shape;
  plan.target = [&](const Indices& at) {
    return Indices{checked_element(b, index, at, flat.size(0), kTakeMessage, true)};
  };
  plan.source = source;
  plan.source_position = [](const Indices& at) { return at; };
  const auto op = arguments.boolean("accumulate") ? ir::ScatterOp::kAdd : ir::ScatterOp::kAssign;
  return reshape(b, scatter_plan(b, op, flat, plan), self.shape);
}

OPERATOR(scatter, "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor") {
  return scatter(b, arguments, arguments.tensor("src"), {});
}
OPERATOR(scatter_value,
         "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor") {
  return scatter(b, arguments, std::nullopt, {});
}
OPERATOR(
    scatter_with_reduce,
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor") {
  return scatter(b, arguments, arguments.tensor("src"),
                 {Kind::kReduce, old_reduction(arguments.text("reduce")), true});
}
OPERATOR(scatter_value_reduce,
         "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> "
         "Tensor") {
  return scatter(b, arguments, std::nullopt,
                 {Kind::kReduce, old_reduction(arguments.text("reduce")), true});
}
OPERATOR(scatter_add, "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor") {
  return scatter(b, arguments, arguments.tensor("src"), {Kind::kReduce, Reduction::kSum, true});
}
OPERATOR(scatter_reduce,
         "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
         "include_self=True) -> Tensor") {
  return scatter(
      b, arguments, arguments.tensor("src"),
      {Kind::kReduce, new_reduction(arguments.text("reduce")), arguments.boolean("include_self")});
}

}  // namespace tendon::aten
