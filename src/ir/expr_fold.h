// Scalar arithmetic on constants, as the runtime does it. Used by expr*.cpp only.
//
// Payloads are those of ExprNode: the bits of a double for floating types (already rounded to the
// type), the integer itself for integers and bool (uint64: its bits).
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "ir/expr.h"

namespace tendon::ir {

inline double payload_to_double(std::int64_t payload) { return std::bit_cast<double>(payload); }
inline std::int64_t double_to_payload(double value) { return std::bit_cast<std::int64_t>(value); }

/// Keeps an integer type's low bits (bool: != 0).
std::int64_t wrap_integer(DType dtype, std::int64_t value);

/// Nothing for complex types.
std::optional<std::int64_t> fold_cast(DType from, DType to, std::int64_t payload);
/// Only what every backend computes to the last bit: nothing for exp and the like, and where two
/// results are right (the minimum of zeros).
std::optional<std::int64_t> fold_unary(Op op, DType dtype, std::int64_t a);
/// The payload of the result, whose type is bool for comparisons.
std::optional<std::int64_t> fold_binary(Op op, DType dtype, std::int64_t a, std::int64_t b);

}  // namespace tendon::ir
