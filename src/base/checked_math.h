// Arithmetic on sizes that says when it overflows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace tendon::base {

constexpr std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

constexpr std::optional<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// The product of non-negative sizes (1 of none); nothing if a size is negative or the product does
/// not fit. A zero anywhere makes the product zero, however large the others are.
constexpr std::optional<std::int64_t> checked_product(std::span<const std::int64_t> sizes) {
  std::optional<std::int64_t> product = 1;
  bool has_zero = false;
  for (std::int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    if (size == 0) has_zero = true;
    if (product) product = checked_multiply(*product, size);
  }
  return has_zero ? std::optional<std::int64_t>(0) : product;
}

}  // namespace tendon::base
