// Sizes and conditions as export writes them: sympy expressions in their srepr form
// ("Mul(Integer(2), Symbol('s0'))") or infix ("2*s0 + 1"), and the Python conditions of guards.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ir/size.h"
#include "tendon/status.h"

namespace tendon::archive {

/// A number that a guard takes from an input: "L['a'][0].size()[1]".
struct InputNumber {
  enum class Kind { kSize, kStride, kStorageOffset, kRank, kValue };
  std::string path;  // "['a'][0]", always with single quotes
  Kind kind = Kind::kValue;
  std::int64_t axis = 0;  // of kSize and kStride
};

/// What names in an expression mean; a null function: there are no such names.
struct SymbolicNames {
  std::function<Result<ir::Size>(const std::string& name)> symbol;
  std::function<Result<ir::Size>(const InputNumber& number)> input;
};

/// Comparisons and logic give 0 or 1. Errors: DataLoss for text that is not an expression,
/// Unimplemented for functions that are not known and for integers that depend on floating-point
/// rounding.
Result<ir::Size> parse_symbolic(std::string_view text, const SymbolicNames& names);

}  // namespace tendon::archive
