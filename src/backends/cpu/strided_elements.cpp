#include "backends/cpu/strided_elements.h"

#include <cstring>

#include "base/half.h"
#include "base/parallel.h"

namespace tendon::backends::cpu {

namespace {

/// Calls visit(row number, element offset of the row's start) for every run along the last axis.
template <typename Visit>
void for_each_row(const BoundLocation& location, int threads, const Visit& visit) {
  const std::size_t rank = location.shape.size();
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < rank; ++i) rows *= location.shape[i];
  base::parallel_for(rows, 64, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t rest = row, offset = 0;
      for (std::size_t i = rank > 0 ? rank - 1 : 0; i-- > 0;) {
        offset += rest % location.shape[i] * location.strides[i];
        rest /= location.shape[i];
      }
      visit(row, offset);
    }
  });
}

template <typename T>
void pack_rows(const BoundLocation& location, const std::byte* from, std::byte* to, int threads) {
  const std::int64_t count = location.shape.empty() ? 1 : location.shape.back();
  const std::int64_t stride = location.shape.empty() ? 1 : location.strides.back();
  const T* source = reinterpret_cast<const T*>(from);
  T* target = reinterpret_cast<T*>(to);
  for_each_row(location, threads, [&](std::int64_t row, std::int64_t offset) {
    if (stride == 1) {
      std::memcpy(target + row * count, source + offset,
                  static_cast<std::size_t>(count) * sizeof(T));
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) target[row * count + i] = source[offset + i * stride];
  });
}

template <typename From, typename To, typename Convert>
void store_rows(const BoundLocation& location, std::byte* to, const std::byte* product, int threads,
                const Convert& convert) {
  const std::int64_t count = location.shape.empty() ? 1 : location.shape.back();
  const std::int64_t stride = location.shape.empty() ? 1 : location.strides.back();
  const From* source = reinterpret_cast<const From*>(product);
  To* target = reinterpret_cast<To*>(to);
  for_each_row(location, threads, [&](std::int64_t row, std::int64_t offset) {
    for (std::int64_t i = 0; i < count; ++i)
      target[offset + i * stride] = convert(source[row * count + i]);
  });
}

template <typename To>
void store_integers(const BoundLocation& location, std::byte* to, const std::byte* product,
                    int threads) {
  store_rows<std::int64_t, To>(location, to, product, threads,
                               [](std::int64_t x) { return static_cast<To>(x); });
}

}  // namespace

void pack_dense(const BoundLocation& location, const std::byte* from, std::byte* to, int threads) {
  switch (dtype_size(location.dtype)) {
    case 1:
      return pack_rows<std::uint8_t>(location, from, to, threads);
    case 2:
      return pack_rows<std::uint16_t>(location, from, to, threads);
    case 4:
      return pack_rows<std::uint32_t>(location, from, to, threads);
    default:
      return pack_rows<std::uint64_t>(location, from, to, threads);
  }
}

void store_product(const BoundLocation& location, std::byte* to, const std::byte* product,
                   DType product_dtype, int threads) {
  const auto same = [](auto x) { return x; };
  if (product_dtype == DType::kFloat64)
    return store_rows<double, double>(location, to, product, threads, same);
  if (product_dtype == DType::kFloat32) {
    switch (location.dtype) {
      case DType::kFloat16:
        return store_rows<float, std::uint16_t>(location, to, product, threads, float_to_half);
      case DType::kBFloat16:
        return store_rows<float, std::uint16_t>(location, to, product, threads, float_to_bfloat16);
      default:
        return store_rows<float, float>(location, to, product, threads, same);
    }
  }
  switch (location.dtype) {
    case DType::kBool:
      return store_rows<std::int64_t, std::uint8_t>(
          location, to, product, threads,
          [](std::int64_t x) { return static_cast<std::uint8_t>(x != 0); });
    case DType::kUInt8:
      return store_integers<std::uint8_t>(location, to, product, threads);
    case DType::kInt8:
      return store_integers<std::int8_t>(location, to, product, threads);
    case DType::kInt16:
    case DType::kUInt16:
      return store_integers<std::int16_t>(location, to, product, threads);
    case DType::kInt32:
    case DType::kUInt32:
      return store_integers<std::int32_t>(location, to, product, threads);
    default:
      return store_integers<std::int64_t>(location, to, product, threads);
  }
}

}  // namespace tendon::backends::cpu
