// Every operation in plain loops, one element at a time: what has no vector form, or does not need
// one.
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "backends/cpu/kernel_table.h"
#include "base/half.h"
#include "ir/scalar_math.h"

namespace tendon::backends::cpu {
namespace {

using ir::Op;

template <typename From, typename To, To (*function)(From)>
void unary_loop(void* out, const void* a, const void*, const void*, Steps steps,
                std::int64_t count) {
  const From* x = static_cast<const From*>(a);
  To* y = static_cast<To*>(out);
  if (steps.a == 0) {
    std::fill_n(y, count, function(*x));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) y[i] = function(x[i]);
}

template <typename From, typename To, To (*function)(From, From)>
void binary_loop(void* out, const void* a, const void* b, const void*, Steps steps,
                 std::int64_t count) {
  const From* x = static_cast<const From*>(a);
  const From* y = static_cast<const From*>(b);
  To* z = static_cast<To*>(out);
  if (steps.a == 0 && steps.b == 0) {
    std::fill_n(z, count, function(*x, *y));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) z[i] = function(x[i * steps.a], y[i * steps.b]);
}

template <Op op, typename T>
void fill_operation(KernelTable& table, TileType type) {
  if constexpr (ir::has_scalar_unary<T>(op)) {
    table.at(op, type) = unary_loop<T, T, ir::scalar_unary<op, T>>;
  } else if constexpr (ir::has_scalar_binary<T>(op)) {
    table.at(op, type) = binary_loop<T, T, ir::scalar_binary<op, T>>;
  } else if constexpr (ir::is_comparison(op)) {
    table.at(op, type) = binary_loop<T, bool, ir::scalar_compare<op, T>>;
  }
}

template <typename T, std::size_t... kOps>
void fill_operations(KernelTable& table, TileType type, std::index_sequence<kOps...>) {
  (fill_operation<static_cast<Op>(kOps), T>(table, type), ...);
}

template <typename From, typename To>
void fill_cast(KernelTable& table, TileType from, TileType to) {
  if constexpr (!std::is_same_v<From, To>) {
    table.cast_at(from, to) = unary_loop<From, To, ir::scalar_cast<To, From>>;
  }
}

template <typename Half>
std::int32_t bits_of_half(float x) {
  return static_cast<std::int16_t>(Half(x).bits);
}
template <typename Half>
float half_of_bits(std::int32_t bits) {
  Half half;
  half.bits = static_cast<std::uint16_t>(bits);
  return static_cast<float>(half);
}
template <typename Half>
void fill_bits(KernelTable& table, DType dtype) {
  table.to_bits[static_cast<int>(dtype)] = unary_loop<float, std::int32_t, bits_of_half<Half>>;
  table.from_bits[static_cast<int>(dtype)] = unary_loop<std::int32_t, float, half_of_bits<Half>>;
}

template <typename T>
void fill_type(KernelTable& table, TileType type) {
  fill_operations<T>(table, type, std::make_index_sequence<ir::kOpCount>());
  fill_cast<T, bool>(table, type, TileType::kBool);
  fill_cast<T, std::int32_t>(table, type, TileType::kInt32);
  fill_cast<T, std::int64_t>(table, type, TileType::kInt64);
  fill_cast<T, std::uint64_t>(table, type, TileType::kUInt64);
  fill_cast<T, float>(table, type, TileType::kFloat32);
  fill_cast<T, double>(table, type, TileType::kFloat64);
}

float round_to_half(float x) { return half_to_float(float_to_half(x)); }

}  // namespace

void fill_scalar_kernels(KernelTable& table) {
  fill_type<bool>(table, TileType::kBool);
  fill_type<std::int32_t>(table, TileType::kInt32);
  fill_type<std::int64_t>(table, TileType::kInt64);
  fill_type<std::uint64_t>(table, TileType::kUInt64);
  fill_type<float>(table, TileType::kFloat32);
  fill_type<double>(table, TileType::kFloat64);
  fill_bits<Float16>(table, DType::kFloat16);
  fill_bits<BFloat16>(table, DType::kBFloat16);
  table.wrap_at(DType::kFloat16) = unary_loop<float, float, round_to_half>;
}

}  // namespace tendon::backends::cpu
