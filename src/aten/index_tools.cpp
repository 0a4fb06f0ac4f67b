#include "aten/index_tools.h"

#include <cmath>
#include <limits>

namespace tendon::aten {

Tensor as_pairs(const Tensor& x) {
  Tensor pairs{x.value, x.component(), x.shape};
  pairs.shape.push_back(Size(2));
  return pairs;
}

Tensor from_pairs(const Tensor& pairs, DType dtype) {
  Tensor x{pairs.value, dtype, pairs.shape};
  x.shape.pop_back();
  return x;
}

Size wrap_position(const Size& position, const Size& size) {
  const std::optional<bool> negative = ir::provably_less(position, Size(0));
  if (negative) return *negative ? position + size : position;
  return Size::function(ir::SizeFunction::kSelect,
                        {ir::less(position, Size(0)), position + size, position});
}

SliceRange clamp_slice(const std::optional<Size>& start, const std::optional<Size>& end,
                       std::int64_t step, const Size& size) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  const auto clamped = [&](const Size& bound) {
    return ir::min(ir::max(wrap_position(bound, size), Size(0)), size);
  };
  const Size first = start ? clamped(*start) : Size(0);
  const Size last = !end || *end == Size(kEnd) ? size : clamped(*end);
  const Size extent = first == Size(0) ? last : ir::max(last - first, Size(0));
  return {first, step == 1 ? extent : ir::ceil_div(extent, Size(step))};
}

void require(Builder& b, const Size& condition, const std::string& message) {
  if (condition == Size(1)) return;
  if (condition == Size(0)) throw InvalidProgram(message);
  b.assert_size(condition, message);
}

std::int64_t require_constant(const Size& size, const char* what) {
  if (const auto value = size.as_constant()) return *value;
  throw Unsupported(std::string(what) + " must be known at load, but is " + size.to_string());
}

std::string scalar_type_name(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "Bool";
    case DType::kUInt8:
      return "Byte";
    case DType::kInt8:
      return "Char";
    case DType::kInt16:
      return "Short";
    case DType::kInt32:
      return "Int";
    case DType::kInt64:
      return "Long";
    case DType::kUInt16:
      return "UInt16";
    case DType::kUInt32:
      return "UInt32";
    case DType::kUInt64:
      return "UInt64";
    case DType::kFloat16:
      return "Half";
    case DType::kBFloat16:
      return "BFloat16";
    case DType::kFloat32:
      return "Float";
    case DType::kFloat64:
      return "Double";
    case DType::kComplex32:
      return "ComplexHalf";
    case DType::kComplex64:
      return "ComplexFloat";
    case DType::kComplex128:
      return "ComplexDouble";
  }
  return "Undefined";
}

void Condition::add_in_range(Expr position, const Size& size) {
  add(position >= 0);
  add(position < position.builder->size(size));
}

Expr clamp(Expr x, Expr lower, Expr upper) { return minimum(maximum(x, lower), upper); }

namespace {

/// Smallest and largest value of an integer type or bool.
std::pair<std::int64_t, std::int64_t> integer_limits(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {0, 1};
    case DType::kUInt8:
      return {0, 0xFF};
    case DType::kUInt16:
      return {0, 0xFFFF};
    case DType::kUInt32:
      return {0, 0xFFFFFFFF};
    case DType::kUInt64:
      return {0, -1};  // as bits
    case DType::kInt8:
      return {-0x80, 0x7F};
    case DType::kInt16:
      return {-0x8000, 0x7FFF};
    case DType::kInt32:
      return {-0x80000000LL, 0x7FFFFFFF};
    default:
      return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
}

}  // namespace

Expr lowest(Builder& b, DType dtype) {
  if (is_floating(dtype)) return b.constant(dtype, -std::numeric_limits<double>::infinity());
  return b.constant(dtype, integer_limits(dtype).first);
}

Expr highest(Builder& b, DType dtype) {
  if (is_floating(dtype)) return b.constant(dtype, std::numeric_limits<double>::infinity());
  return b.constant(dtype, integer_limits(dtype).second);
}

Expr flatten_index(Builder& b, const Indices& index, const Shape& shape) {
  Expr flat = b.constant(DType::kInt64, 0);
  Size stride = 1;
  for (std::size_t k = shape.size(); k-- > 0;) {
    flat = flat + index[k] * b.size(stride);
    stride = stride * shape[k];
  }
  return flat;
}

Indices unflatten_index(Builder& b, Expr flat, const Shape& shape) {
  Indices index(shape.size(), flat);
  Size stride = 1;
  for (std::size_t k = shape.size(); k-- > 0;) {
    Expr position = stride == Size(1) ? flat : floor_divide(flat, b.size(stride));
    if (k > 0) position = remainder(position, b.size(shape[k]));
    index[k] = position;
    stride = stride * shape[k];
  }
  return index;
}

Tensor rearrange(Builder& b, const Tensor& x, const Shape& shape, const Positions& positions) {
  View view;
  view.shape = shape;
  view.forward = [&positions](Builder&, const Indices& index) { return positions(index); };
  return b.read_view(x, view);
}

Tensor masked_rearrange(Builder& b, const Tensor& x, const Shape& shape,
                        const std::function<MaskedPosition(const Indices& index)>& positions,
                        const Scalar& fill) {
  if (x.complex()) {
    // The fill value's imaginary part belongs to the second element of every pair.
    const auto part = [&](bool imaginary) -> Scalar {
      if (const auto* z = std::get_if<std::complex<double>>(&fill)) {
        return imaginary ? z->imag() : z->real();
      }
      return imaginary ? Scalar(std::int64_t{0}) : fill;
    };
    const Tensor pairs = as_pairs(x);
    Shape pair_shape = shape;
    pair_shape.push_back(Size(2));
    return from_pairs(b.map(pair_shape,
                            [&](const Indices& index) {
                              const Expr which = index.back();
                              MaskedPosition at =
                                  positions(Indices(index.begin(), index.end() - 1));
                              at.positions.push_back(which);
                              const Expr value = b.masked_load(pairs, at.mask, at.positions);
                              return select(at.mask, value,
                                            select(which == 0, b.scalar(part(false), pairs.dtype),
                                                   b.scalar(part(true), pairs.dtype)));
                            }),
                      x.dtype);
  }
  return b.map(shape, [&](const Indices& index) {
    const MaskedPosition at = positions(index);
    const Expr value = b.masked_load(x, at.mask, at.positions);
    const Expr filler = b.scalar(fill, x.dtype);
    const std::optional<double> number = b.pool().as_number(filler.id);
    return number && *number == 0.0 && !std::signbit(*number) ? value
                                                              : select(at.mask, value, filler);
  });
}

Tensor flatten(Builder& b, const Tensor& x) { return reshape(b, x, {ir::element_count(x.shape)}); }

Tensor positions_along(Builder& b, const Size& length) {
  return b.map({length}, [](const Indices& index) { return index[0]; });
}

}  // namespace tendon::aten
