// Choosing between elements.
#include "aten/checked_conversion.h"
#include "aten/index_tools.h"
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

Tensor choose(Builder& b, const Tensor& condition, const Tensor& yes, const Tensor& no,
              DType result) {
  if (condition.dtype != DType::kBool && condition.dtype != DType::kUInt8) {
    throw InvalidProgram(
        "where expected condition to be a boolean tensor, but got a tensor with dtype " +
        scalar_type_name(condition.dtype));
  }
  if (is_complex(result)) {
    const Tensor x = cast(b, yes, result), y = cast(b, no, result);
    const DType part = complex_component(result);
    return make_complex(b, choose(b, condition, real_part(b, x), real_part(b, y), part),
                        choose(b, condition, imaginary_part(b, x), imaginary_part(b, y), part));
  }
  const std::vector<Shape> shapes = {condition.shape, yes.shape, no.shape};
  const Shape shape = broadcast_shapes(b, shapes);
  return b.map(shape, [&](const Indices& i) {
    return select(cast(DType::kBool, b.load_broadcast(condition, i)),
                  cast(result, b.load_broadcast(yes, i)), cast(result, b.load_broadcast(no, i)));
  });
}

Tensor masked_fill(Builder& b, const Tensor& self, const Tensor& mask, const Tensor& value) {
  if (mask.dtype != DType::kBool) {
    throw InvalidProgram("masked_fill_ only supports boolean masks, but got mask with dtype " +
                         std::string(dtype_name(mask.dtype)));
  }
  return choose(b, mask, value, self, self.dtype);
}

}  // namespace

OPERATOR(where, "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor& other = arguments.tensor("other");
  return choose(b, arguments.tensor("condition"), self, other, result_type({self, other}));
}
OPERATOR(where_scalar_other,
         "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const DType result = result_type({self, arguments.scalar("other")});
  return choose(b, arguments.tensor("condition"), self,
                scalar_tensor(b, arguments.scalar("other"), result), result);
}
OPERATOR(where_scalar_self,
         "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor") {
  const Tensor& other = arguments.tensor("other");
  const DType result = result_type({arguments.scalar("self"), other});
  return choose(b, arguments.tensor("condition"),
                scalar_tensor(b, arguments.scalar("self"), result), other, result);
}
OPERATOR(where_scalar, "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor") {
  const DType result = result_type({arguments.scalar("self"), arguments.scalar("other")});
  return choose(b, arguments.tensor("condition"),
                scalar_tensor(b, arguments.scalar("self"), result),
                scalar_tensor(b, arguments.scalar("other"), result), result);
}
OPERATOR(masked_fill_scalar,
         "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  require_fits(b, arguments.scalar("value"), self.dtype);
  return masked_fill(b, self, arguments.tensor("mask"),
                     scalar_tensor(b, arguments.scalar("value"), self.dtype));
}
OPERATOR(masked_fill_tensor,
         "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor& value = arguments.tensor("value");
  if (value.rank() != 0) {
    throw InvalidProgram(
        "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with " +
        std::to_string(value.rank()) + " dimension(s).");
  }
  require_fits(b, value, self.dtype);
  return masked_fill(b, self, arguments.tensor("mask"), cast(b, value, self.dtype));
}

}  // namespace tendon::aten
