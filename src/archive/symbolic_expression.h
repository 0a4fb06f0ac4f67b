// Sizes as export writes them: sympy expressions, in srepr form ("Mul(Integer(2), Symbol('s0'))")
// or infix
// ("2*s0 + 1"), and the Python conditions of guards.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ir/size.h"
#include "tendon/status.h"

namespace tendon::archive {

struct SymbolicNames {
  /// The size of that name; a name that is not known gives an error.
  std::function<Result<ir::Size>(const std::string& name)> symbol;
  /// The text "L['a'][0].size()[1]", up to and with the last bracket; null where inputs have no
  /// meaning.
  std::function<Result<ir::Size>(const std::string& text)> input_size;
};

/// Errors: DataLoss for text that is not an expression, Unimplemented for a function that sizes
/// cannot hold.
Result<ir::Size> parse_symbolic(std::string_view text, const SymbolicNames& names);

}  // namespace tendon::archive
