// Whole slices along one axis by an index vector: index_select, index_add and their kin.
#include "aten/operator.h"
#include "aten/scatter_tools.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

Tensor as_vector(Builder& b, const Tensor& index) {
  return index.rank() == 0 ? reshape(b, index, {Size(1)}) : index;
}

/// What index_add, index_copy and index_reduce share: self and source with one axis at least, the
/// index as a vector.
struct Slices {
  Tensor self, source, index;
  int axis = 0;
};

Slices slices_of(Builder& b, const Arguments& arguments, const std::string& name) {
  const Tensor& self = arguments.tensor("self");
  const Tensor& source = arguments.tensor("source");
  const Tensor& index = arguments.tensor("index");
  if (index.rank() > 1) {
    throw InvalidProgram(name + "(): Index is supposed to be a vector, but got dim: " +
                         std::to_string(index.rank()));
  }
  if (source.dtype != self.dtype) {
    throw InvalidProgram(name +
                         "(): self and source expected to have the same dtype, but got "
                         "(self) " +
                         scalar_type_name(self.dtype) + " and (source) " +
                         scalar_type_name(source.dtype));
  }
  Slices slices{self.rank() == 0 ? reshape(b, self, {Size(1)}) : self, source, as_vector(b, index),
                0};
  slices.axis = wrap_axis(arguments.integer("dim"), slices.self.rank());
  if (source.rank() == 0) {
    require(b, ir::equal(slices.index.size(0), Size(1)),
            name + "(): When source is scalar, index should have one element (got " +
                slices.index.size(0).to_string() + ")");
    Shape ones(slices.self.shape.size(), Size(1));
    slices.source = reshape(b, source, ones);
  }
  if (slices.source.rank() != slices.self.rank()) {
    throw InvalidProgram(
        "source tensor shape must match self tensor shape, excluding the specified dimension. Got "
        "self.shape = " +
        shape_text(self.shape) + " source.shape = " + shape_text(source.shape));
  }
  for (int k = 0; k < slices.self.rank(); ++k) {
    if (k == slices.axis) {
      require(b, ir::equal(slices.index.size(0), slices.source.size(k)),
              name + "(): Number of indices (" + slices.index.size(0).to_string() +
                  ") should be equal to source.size(dim): (" + slices.source.size(k).to_string() +
                  "), for dim: " + std::to_string(slices.axis));
    } else {
      require(b, ir::equal(slices.self.size(k), slices.source.size(k)),
              "source tensor shape must match self tensor shape, excluding the specified "
              "dimension. Got self.shape = " +
                  shape_text(self.shape) + " source.shape = " + shape_text(source.shape));
    }
  }
  return slices;
}

/// Every element of the source, at the place along `axis` that the index vector says.
ScatterPlan plan_of(Builder& b, const Slices& slices, const std::string& message,
                    bool wrap = false) {
  const auto a = static_cast<std::size_t>(slices.axis);
  ScatterPlan plan;
  plan.domain = slices.source.shape;
  plan.source = slices.source;
  plan.source_position = [](const Indices& at) { return at; };
  plan.target = [&b, a, index = slices.index, size = slices.self.shape[a], message,
                 wrap](const Indices& at) {
    Indices positions = at;
    positions[a] = checked_element(b, index, {at[a]}, size, message, wrap);
    return positions;
  };
  return plan;
}

const std::string kOutOfRange = "index out of range in self";

Tensor index_fill(Builder& b, const Arguments& arguments, const Tensor& value) {
  const Tensor& target = arguments.tensor("self");
  const Tensor index = as_vector(b, arguments.tensor("index"));
  if (index.dtype != DType::kInt64) {
    throw InvalidProgram("index_fill_(): Expected dtype int64 for index.");
  }
  if (index.rank() > 1) throw InvalidProgram("Index has to be a vector/scalar");
  const Tensor self = target.rank() == 0 ? reshape(b, target, {Size(1)}) : target;
  const int axis = wrap_axis(arguments.integer("dim"), self.rank());
  Slices slices{self, value, index, axis};
  ScatterPlan plan =
      plan_of(b, slices, "index {index} is out of bounds for dimension 0 with size {size}", true);
  plan.domain = self.shape;
  plan.domain[static_cast<std::size_t>(axis)] = index.size(0);
  plan.source_position = [](const Indices&) { return Indices(); };
  return reshape(b, scatter_plan(b, ir::ScatterOp::kAssign, self, plan), target.shape);
}

}  // namespace

OPERATOR(index_select, "index_select(Tensor self, int dim, Tensor index) -> Tensor") {
  const Tensor& target = arguments.tensor("self");
  if (arguments.tensor("index").rank() > 1) {
    throw InvalidProgram("index_select(): Index is supposed to be a vector");
  }
  const Tensor index = as_vector(b, arguments.tensor("index"));
  require_index_type(index, "index_select(): Expected dtype int32 or int64 for index");
  const bool scalar = target.rank() == 0;
  const Tensor self = scalar ? reshape(b, target, {Size(1)}) : target;
  if (scalar) {
    require(b, ir::equal(index.size(0), Size(1)),
            "index_select(): Index to scalar can have only 1 value, got " +
                index.size(0).to_string() + " value(s)");
  }
  const auto axis = static_cast<std::size_t>(wrap_axis(arguments.integer("dim"), self.rank()));
  Shape shape = self.shape;
  shape[axis] = index.size(0);
  // PyTorch's words differ by axis.
  const std::string message =
      axis == 0 ? kOutOfRange : "INDICES element is out of DATA bounds, id={index} axis_dim={size}";
  const Tensor result = rearrange(b, self, shape, [&](const Indices& at) {
    Indices positions = at;
    positions[axis] = checked_element(b, index, {at[axis]}, self.shape[axis], message);
    return positions;
  });
  return scalar ? reshape(b, result, {}) : result;
}

OPERATOR(index_add,
         "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> "
         "Tensor") {
  const Tensor& self = arguments.tensor("self");
  Slices slices = slices_of(b, arguments, "index_add_");
  require_index_type(slices.index, "index_add_(): Expected dtype int32/int64 for index but got: " +
                                       scalar_type_name(slices.index.dtype));
  const Scalar& alpha = arguments.scalar("alpha");
  const auto* whole = std::get_if<std::int64_t>(&alpha);
  if (whole == nullptr || *whole != 1) {
    if (self.complex()) throw Unsupported("complex numbers with alpha");
    const DType compute = compute_type(self.dtype);
    slices.source =
        elementwise(b, {slices.source}, compute, self.dtype,
                    [&](const std::vector<Expr>& e) { return e[0] * b.scalar(alpha, compute); });
  }
  return reshape(b,
                 scatter_plan(b, ir::ScatterOp::kAdd, slices.self, plan_of(b, slices, kOutOfRange)),
                 self.shape);
}
OPERATOR(index_copy, "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor") {
  const Slices slices = slices_of(b, arguments, "index_copy_");
  if (slices.index.dtype != DType::kInt64) {
    throw InvalidProgram("index_copy_(): Expected a long tensor for index, but got " +
                         scalar_type_name(slices.index.dtype));
  }
  const std::string message = "index_copy_(): index {index} is out of bounds for dimension " +
                              std::to_string(slices.axis) + " with size {size}";
  return reshape(b,
                 scatter_plan(b, ir::ScatterOp::kAssign, slices.self, plan_of(b, slices, message)),
                 arguments.tensor("self").shape);
}
OPERATOR(index_reduce,
         "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool "
         "include_self=True) -> Tensor") {
  const std::string name = arguments.text("reduce");
  Reduction reduction = Reduction::kProduct;
  if (name == "mean") {
    reduction = Reduction::kMean;
  } else if (name == "amax") {
    reduction = Reduction::kMax;
  } else if (name == "amin") {
    reduction = Reduction::kMin;
  } else if (name != "prod") {
    throw InvalidProgram(
        "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got " + name +
        ".");
  }
  const Slices slices = slices_of(b, arguments, "index_reduce_");
  require_index_type(slices.index, "index_reduce_(): Expected dtype int32/int64 for index");
  return reshape(b,
                 scatter_reduction(b, reduction, slices.self, plan_of(b, slices, kOutOfRange),
                                   arguments.boolean("include_self"), HalfRounding::kEveryStep),
                 arguments.tensor("self").shape);
}
OPERATOR(index_fill_scalar,
         "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor") {
  return index_fill(b, arguments,
                    scalar_tensor(b, arguments.scalar("value"), arguments.tensor("self").dtype));
}
OPERATOR(index_fill_tensor,
         "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor") {
  const Tensor& value = arguments.tensor("value");
  if (value.rank() != 0) {
    throw InvalidProgram(
        "index_fill_ only supports a 0-dimensional value tensor, but got tensor with " +
        std::to_string(value.rank()) + " dimension(s).");
  }
  return index_fill(b, arguments, cast(b, value, arguments.tensor("self").dtype));
}

}  // namespace tendon::aten
