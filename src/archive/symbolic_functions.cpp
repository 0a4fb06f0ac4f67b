#include "archive/symbolic_functions.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/status_macros.h"

namespace tendon::archive {

namespace {

using ir::Size;
using ir::SizeFunction;
using Numbers = std::span<const SymbolicNumber>;
using Outcome = Result<SymbolicNumber>;

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

struct Function {
  std::string_view name;
  std::size_t arguments;  // kAny: one or more
  Outcome (*apply)(Numbers);
};

template <typename Combine>
Outcome fold(Numbers a, Combine combine) {
  SymbolicNumber result = a[0];
  for (const SymbolicNumber& next : a.subspan(1)) result = combine(result, next);
  return result;
}

/// Of functions that exist for integers only.
template <typename Combine>
Outcome integers(Numbers a, Combine combine) {
  TENDON_ASSIGN_OR_RETURN(const Size left, a[0].as_size());
  TENDON_ASSIGN_OR_RETURN(const Size right, a[1].as_size());
  return SymbolicNumber(combine(left, right));
}

template <typename Combine>
Outcome fold_integers(Numbers a, Combine combine) {
  TENDON_ASSIGN_OR_RETURN(Size result, a[0].as_size());
  for (const SymbolicNumber& next : a.subspan(1)) {
    TENDON_ASSIGN_OR_RETURN(const Size right, next.as_size());
    result = combine(result, right);
  }
  return SymbolicNumber(result);
}

Outcome rounded(const SymbolicNumber& a, SymbolicNumber::Rounding rounding) {
  TENDON_ASSIGN_OR_RETURN(const Size size, a.rounded(rounding));
  return SymbolicNumber(size);
}

template <SymbolicNumber::Relation relation>
Outcome related(Numbers a) {
  TENDON_ASSIGN_OR_RETURN(const Size size, SymbolicNumber::compare(a[0], relation, a[1]));
  return SymbolicNumber(size);
}

Size either(const Size& a, const Size& b) { return Size::function(SizeFunction::kOr, {a, b}); }
Size two_to(const Size& a) { return Size::function(SizeFunction::kPow, {2, a}); }

Outcome itself(Numbers a) { return a[0]; }
Outcome sum(Numbers a) {
  return fold(a, [](const SymbolicNumber& x, const SymbolicNumber& y) { return x + y; });
}
Outcome product(Numbers a) {
  return fold(a, [](const SymbolicNumber& x, const SymbolicNumber& y) { return x * y; });
}
Outcome largest(Numbers a) { return fold(a, maximum); }
Outcome smallest(Numbers a) { return fold(a, minimum); }
Outcome raised(Numbers a) { return power(a[0], a[1]); }
Outcome exact_quotient(Numbers a) { return divide(a[0], a[1]); }
Outcome float_quotient(Numbers a) { return true_divide(a[0], a[1]); }
Outcome floor_quotient(Numbers a) { return integers(a, ir::floor_div); }
/// The writer promises that nothing is left over.
Outcome clean_quotient(Numbers a) {
  return integers(a, [](const Size& x, const Size& y) {
    return ir::divide_exactly(x, y).value_or(ir::floor_div(x, y));
  });
}
Outcome ceil_quotient(Numbers a) { return integers(a, ir::ceil_div); }
Outcome remainder(Numbers a) { return integers(a, ir::mod); }
Outcome all_of(Numbers a) { return fold_integers(a, ir::logical_and); }
Outcome any_of(Numbers a) { return fold_integers(a, either); }
Outcome inverted(Numbers a) {
  TENDON_ASSIGN_OR_RETURN(const Size size, a[0].as_size());
  return SymbolicNumber(ir::logical_not(size));
}
Outcome floored(Numbers a) { return rounded(a[0], SymbolicNumber::Rounding::kFloor); }
Outcome ceiled(Numbers a) { return rounded(a[0], SymbolicNumber::Rounding::kCeil); }
Outcome truncated(Numbers a) { return rounded(a[0], SymbolicNumber::Rounding::kTruncate); }
Outcome nearest(Numbers a) { return rounded(a[0], SymbolicNumber::Rounding::kHalfToEven); }
Outcome magnitude(Numbers a) { return maximum(a[0], SymbolicNumber(Size(0)) - a[0]); }
Outcome chosen(Numbers a) {
  TENDON_ASSIGN_OR_RETURN(const Size condition, a[0].as_size());
  return select(condition, a[1], a[2]);
}
Outcome modular(Numbers a) {
  const std::array quotient{a[0], a[1]};
  TENDON_ASSIGN_OR_RETURN(const SymbolicNumber index, floor_quotient(quotient));
  const std::array parts{index, a[2]};
  return remainder(parts);
}
Outcome shifted_left(Numbers a) {
  return integers(a, [](const Size& x, const Size& y) { return x * two_to(y); });
}
Outcome shifted_right(Numbers a) {
  return integers(a, [](const Size& x, const Size& y) { return ir::floor_div(x, two_to(y)); });
}
Outcome unknown_float(Numbers) { return SymbolicNumber::opaque(); }

using Relation = SymbolicNumber::Relation;

constexpr Function kFunctions[] = {
    {"Integer", 1, itself},
    {"Identity", 1, itself},
    {"ToFloat", 1, itself},
    {"float", 1, itself},
    {"sym_float", 1, itself},
    {"Rational", 2, exact_quotient},
    {"Add", kAny, sum},
    {"Mul", kAny, product},
    {"Max", kAny, largest},
    {"max", kAny, largest},
    {"sym_max", kAny, largest},
    {"Min", kAny, smallest},
    {"min", kAny, smallest},
    {"sym_min", kAny, smallest},
    {"Pow", 2, raised},
    {"PowByNatural", 2, raised},
    {"FloatPow", 2, unknown_float},
    {"IntTrueDiv", 2, float_quotient},
    {"FloatTrueDiv", 2, float_quotient},
    {"TrueDiv", 2, float_quotient},
    {"FloorDiv", 2, floor_quotient},
    {"CleanDiv", 2, clean_quotient},
    {"CeilDiv", 2, ceil_quotient},
    {"Mod", 2, remainder},
    {"PythonMod", 2, remainder},
    {"ModularIndexing", 3, modular},
    {"LShift", 2, shifted_left},
    {"RShift", 2, shifted_right},
    {"Abs", 1, magnitude},
    {"abs", 1, magnitude},
    {"floor", 1, floored},
    {"FloorToInt", 1, floored},
    {"ceiling", 1, ceiled},
    {"ceil", 1, ceiled},
    {"CeilToInt", 1, ceiled},
    {"Trunc", 1, truncated},
    {"trunc", 1, truncated},
    {"TruncToInt", 1, truncated},
    {"TruncToFloat", 1, truncated},
    {"int", 1, truncated},
    {"sym_int", 1, truncated},
    {"RoundToInt", 1, nearest},
    {"round", 1, nearest},
    {"RoundDecimal", 2, unknown_float},
    {"And", kAny, all_of},
    {"Or", kAny, any_of},
    {"Not", 1, inverted},
    {"sym_not", 1, inverted},
    {"Where", 3, chosen},
    {"sym_ite", 3, chosen},
    {"Eq", 2, related<Relation::kEqual>},
    {"Equality", 2, related<Relation::kEqual>},
    {"Ne", 2, related<Relation::kNotEqual>},
    {"Unequality", 2, related<Relation::kNotEqual>},
    {"Lt", 2, related<Relation::kLess>},
    {"StrictLessThan", 2, related<Relation::kLess>},
    {"Le", 2, related<Relation::kLessEqual>},
    {"LessThan", 2, related<Relation::kLessEqual>},
    {"Gt", 2, related<Relation::kGreater>},
    {"StrictGreaterThan", 2, related<Relation::kGreater>},
    {"Ge", 2, related<Relation::kGreaterEqual>},
    {"GreaterThan", 2, related<Relation::kGreaterEqual>},
};

}  // namespace

Result<SymbolicNumber> apply_symbolic(const std::string& function, Numbers arguments) {
  const std::string_view full_name = function;
  // torch.sym_max, math.floor, sympy's own modules.
  const std::string_view name = full_name.substr(full_name.rfind('.') + 1);
  const auto* found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                   [&](const Function& f) { return f.name == name; });
  if (found != std::end(kFunctions)) {
    const bool fits =
        found->arguments == kAny ? !arguments.empty() : found->arguments == arguments.size();
    if (!fits) {
      return Status(StatusCode::kDataLoss, "function '" + function + "' with " +
                                               std::to_string(arguments.size()) + " arguments");
    }
    return found->apply(arguments);
  }
  if (name.substr(0, 14) == "OpaqueUnaryFn_" || name == "sqrt" || name == "sym_sqrt") {
    return SymbolicNumber::opaque();
  }
  return Status(StatusCode::kUnimplemented, "unknown function '" + function + "'");
}

}  // namespace tendon::archive
