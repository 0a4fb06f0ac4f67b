// Tensors from nothing.
#include <cmath>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

DType dtype_or(const Arguments& arguments, DType fallback) {
  return arguments.dtype("dtype").value_or(fallback);
}

Outputs filled_like(Builder& b, const Arguments& arguments, const Scalar& value) {
  const Tensor& self = arguments.tensor("self");
  return full(b, self.shape, value, dtype_or(arguments, self.dtype));
}

/// Number of elements of arange, and element i as start + i * step, in the type PyTorch computes it
/// in.
Outputs arange(Builder& b, const Scalar& start, const Scalar& end, const Scalar& step,
               std::optional<DType> dtype) {
  const auto integral = [](const Scalar& s) {
    return std::holds_alternative<std::int64_t>(s) || std::holds_alternative<Size>(s) ||
           std::holds_alternative<bool>(s);
  };
  const auto as_size = [](const Scalar& s) -> Size {
    if (const auto* size = std::get_if<Size>(&s)) return *size;
    if (const auto* flag = std::get_if<bool>(&s)) return *flag ? 1 : 0;
    return std::get<std::int64_t>(s);
  };
  if (integral(start) && integral(end) && integral(step)) {
    const Size first = as_size(start), stride = as_size(step);
    Size count =
        ir::floor_div(as_size(end) - first + stride -
                          (stride.is_constant() && stride.constant() < 0 ? Size(-1) : Size(1)),
                      stride);
    count = ir::max(count, 0);
    const DType result = dtype.value_or(DType::kInt64);
    return b.map({count}, [&](const Indices& i) {
      return cast(result, b.size(first) + i[0] * b.size(stride));
    });
  }
  const double first = scalar_as_double(start), last = scalar_as_double(end),
               stride = scalar_as_double(step);
  const auto count = static_cast<std::int64_t>(std::ceil((last - first) / stride));
  const DType result = dtype.value_or(DType::kFloat32);
  // PyTorch's kernel: accumulate in double for floats (float types), in int64 for integers.
  return b.map({Size(std::max<std::int64_t>(count, 0))}, [&](const Indices& i) {
    if (!is_floating(result)) {
      return cast(result,
                  i[0] * static_cast<std::int64_t>(stride) + static_cast<std::int64_t>(first));
    }
    return cast(result, cast(DType::kFloat64, i[0]) * stride + first);
  });
}

}  // namespace

OPERATOR(zeros,
         "zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
         "device=None, bool? pin_memory=None) -> Tensor") {
  return full(b, arguments.sizes("size"), Scalar(std::int64_t{0}),
              dtype_or(arguments, DType::kFloat32));
}
OPERATOR(ones,
         "ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
         "bool? pin_memory=None) -> Tensor") {
  return full(b, arguments.sizes("size"), Scalar(std::int64_t{1}),
              dtype_or(arguments, DType::kFloat32));
}
OPERATOR(empty,
         "empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
         "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
         "empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? "
         "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
         "empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? "
         "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor") {
  return full(b, arguments.sizes("size"), Scalar(std::int64_t{0}),
              dtype_or(arguments, DType::kFloat32));
}
OPERATOR(full,
         "full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
         "Device? device=None, bool? pin_memory=None) -> Tensor") {
  const Scalar& value = arguments.scalar("fill_value");
  return full(b, arguments.sizes("size"), value, dtype_or(arguments, scalar_type(value)));
}
OPERATOR(scalar_tensor,
         "scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? "
         "device=None, bool? pin_memory=None) -> Tensor") {
  const Scalar& value = arguments.scalar("s");
  return scalar_tensor(b, value, dtype_or(arguments, scalar_type(value)));
}
OPERATOR(zeros_like,
         "zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
         "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
         "empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
         "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor") {
  return filled_like(b, arguments, Scalar(std::int64_t{0}));
}
OPERATOR(ones_like,
         "ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
         "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor") {
  return filled_like(b, arguments, Scalar(std::int64_t{1}));
}
OPERATOR(
    full_like,
    "full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor") {
  return filled_like(b, arguments, arguments.scalar("fill_value"));
}
OPERATOR(new_zeros,
         "new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
         "Device? device=None, bool? pin_memory=None) -> Tensor",
         "new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
         "Device? device=None, bool? pin_memory=None) -> Tensor") {
  return full(b, arguments.sizes("size"), Scalar(std::int64_t{0}),
              dtype_or(arguments, arguments.tensor("self").dtype));
}
OPERATOR(new_ones,
         "new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
         "Device? device=None, bool? pin_memory=None) -> Tensor") {
  return full(b, arguments.sizes("size"), Scalar(std::int64_t{1}),
              dtype_or(arguments, arguments.tensor("self").dtype));
}
OPERATOR(new_full,
         "new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, "
         "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor") {
  return full(b, arguments.sizes("size"), arguments.scalar("fill_value"),
              dtype_or(arguments, arguments.tensor("self").dtype));
}
OPERATOR(fill_scalar, "fill.Scalar(Tensor self, Scalar value) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return full(b, self.shape, arguments.scalar("value"), self.dtype);
}
OPERATOR(fill_tensor, "fill.Tensor(Tensor self, Tensor value) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return expand(b, cast(b, arguments.tensor("value"), self.dtype), self.shape);
}
OPERATOR(zero, "zero(Tensor self) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return full(b, self.shape, Scalar(std::int64_t{0}), self.dtype);
}
OPERATOR(arange,
         "arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
         "bool? pin_memory=None) -> Tensor") {
  return arange(b, Scalar(std::int64_t{0}), arguments.scalar("end"), Scalar(std::int64_t{1}),
                arguments.dtype("dtype"));
}
OPERATOR(arange_start,
         "arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, "
         "Device? device=None, bool? pin_memory=None) -> Tensor") {
  return arange(b, arguments.scalar("start"), arguments.scalar("end"), Scalar(std::int64_t{1}),
                arguments.dtype("dtype"));
}
OPERATOR(arange_step,
         "arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, "
         "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor") {
  return arange(b, arguments.scalar("start"), arguments.scalar("end"), arguments.scalar("step"),
                arguments.dtype("dtype"));
}
OPERATOR(eye,
         "eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
         "pin_memory=None) -> Tensor") {
  const DType result = dtype_or(arguments, DType::kFloat32);
  const Size n = arguments.size("n");
  return b.map({n, n}, [&](const Indices& i) { return cast(result, i[0] == i[1]); });
}
OPERATOR(eye_m,
         "eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? "
         "device=None, bool? pin_memory=None) -> Tensor") {
  const DType result = dtype_or(arguments, DType::kFloat32);
  return b.map({arguments.size("n"), arguments.size("m")},
               [&](const Indices& i) { return cast(result, i[0] == i[1]); });
}

}  // namespace tendon::aten
