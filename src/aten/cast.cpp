// Conversions and copies. In value semantics a copy is the tensor itself; what may alias its
// argument in PyTorch aliases it here.
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

Outputs converted(Builder& b, const Arguments& arguments, std::optional<DType> dtype) {
  const Tensor& self = arguments.tensor("self");
  if (!dtype || *dtype == self.dtype) return Outputs::alias_of("self");
  return cast(b, self, *dtype);
}

}  // namespace

OPERATOR(to_dtype,
         "to.dtype(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
         "MemoryFormat? memory_format=None) -> Tensor",
         "to.device(Tensor self, Device device, ScalarType dtype, bool non_blocking=False, bool "
         "copy=False, MemoryFormat? memory_format=None) -> Tensor",
         "to.dtype_layout(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
         "device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, "
         "MemoryFormat? memory_format=None) -> Tensor",
         "to.prim_Device(Tensor self, Device? device, int? dtype=None, bool non_blocking=False, "
         "bool copy=False) -> Tensor") {
  if (arguments.boolean("copy")) {
    return cast(b, arguments.tensor("self"),
                arguments.dtype("dtype").value_or(arguments.tensor("self").dtype));
  }
  return converted(b, arguments, arguments.dtype("dtype"));
}

OPERATOR(to_other,
         "to.other(Tensor self, Tensor other, bool non_blocking=False, bool copy=False, "
         "MemoryFormat? memory_format=None) -> Tensor") {
  return converted(b, arguments, arguments.tensor("other").dtype);
}

OPERATOR(type_as, "type_as(Tensor self, Tensor other) -> Tensor") {
  return converted(b, arguments, arguments.tensor("other").dtype);
}

OPERATOR(
    to_copy,
    "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return cast(b, self, arguments.dtype("dtype").value_or(self.dtype));
}

OPERATOR(clone, "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
         "lift_fresh_copy(Tensor self) -> Tensor") {
  return arguments.tensor("self");
}

OPERATOR(contiguous,
         "contiguous(Tensor self, *, MemoryFormat memory_format=contiguous_format) -> Tensor",
         "lift_fresh(Tensor self) -> Tensor", "lift(Tensor self) -> Tensor",
         "resolve_conj(Tensor self) -> Tensor", "resolve_neg(Tensor self) -> Tensor",
         "positive(Tensor self) -> Tensor") {
  return Outputs::alias_of("self");
}

OPERATOR(copy, "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return expand(b, cast(b, arguments.tensor("src"), self.dtype), self.shape);
}

}  // namespace tendon::aten
