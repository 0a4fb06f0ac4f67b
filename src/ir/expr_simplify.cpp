// What every operation becomes when it is built: casts, unary, binary and select.
#include <cmath>
#include <utility>

#include "ir/expr_fold.h"
#include "ir/expr_rules.h"

namespace tendon::ir {

namespace {

constexpr bool is_commutative(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kMultiply:
    case Op::kHypot:
    case Op::kMinimum:
    case Op::kMaximum:
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kGcd:
      return true;
    default:
      return false;
  }
}

constexpr bool is_comparison(Op op) { return op >= Op::kLess && op <= Op::kNotEqual; }

constexpr bool is_arithmetic_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

/// Bits of a floating type's significand; every integer up to 2^bits is exact.
constexpr int significand_bits(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16:
      return 8;
    case DType::kFloat16:
      return 11;
    case DType::kFloat32:
      return 24;
    default:
      return 53;
  }
}

/// Every value of `from` is a value of `to`.
bool holds(DType to, DType from) {
  if (to == from || from == DType::kBool) return true;
  if (to == DType::kBool || is_complex(to) || is_complex(from)) return false;
  if (is_floating(from)) {
    if (!is_floating(to) || is_half(to)) return false;
    return dtype_size(to) > dtype_size(from);
  }
  const auto range = ExprFacts::type_range(from);
  if (is_floating(to)) {
    const ExprFacts::Wide limit = static_cast<ExprFacts::Wide>(1) << significand_bits(to);
    return range.lower >= -limit && range.upper <= limit;
  }
  const auto limits = ExprFacts::type_range(to);
  return range.lower >= limits.lower && range.upper <= limits.upper;
}

/// Dividing by it and multiplying by 1/it round the same number.
bool has_exact_reciprocal(DType dtype, double value) {
  int exponent = 0;
  if (!std::isfinite(value) || std::fabs(std::frexp(value, &exponent)) != 0.5) return false;
  const int limit = dtype == DType::kFloat32 ? 120 : 1000;
  return exponent > -limit && exponent < limit;
}

}  // namespace

bool ExprRules::is_float_constant(ExprId id, double value) const {
  return is_constant(id) && is_floating(dtype(id)) && node(id).payload == double_to_payload(value);
}

// Text follows the order in which an operation was first written.
ExprId ExprRules::make_commutative(Op op, DType dtype, ExprId a, ExprId b) {
  if (is_constant(a) && !is_constant(b)) std::swap(a, b);
  const ExprId swapped[] = {b, a};
  if (const ExprId found = pool_.find(op, dtype, swapped, 0); found != kNoExpr) return found;
  return make(op, dtype, {a, b});
}

// --- casts ---------------------------------------------------------------------------------------

bool ExprRules::cast_is_lossless(ExprId a, DType through) {
  const DType from = dtype(a);
  if (holds(through, from)) return true;
  if (is_floating(from) || is_complex(from) || is_complex(through) || through == DType::kBool) {
    return false;
  }
  const auto range = ExprFacts(pool_).range(a);
  if (is_floating(through)) {
    const ExprFacts::Wide limit = static_cast<ExprFacts::Wide>(1) << significand_bits(through);
    return range.lower >= -limit && range.upper <= limit;
  }
  const auto limits = ExprFacts::type_range(through);
  return range.lower >= limits.lower && range.upper <= limits.upper;
}

ExprId ExprRules::cast(DType to, ExprId a) {
  const DType from = dtype(a);
  if (from == to) return a;
  if (is_constant(a)) {
    if (const auto payload = fold_cast(from, to, node(a).payload)) {
      return make_constant(to, *payload);
    }
  }
  if (op(a) == Op::kCast) {
    const ExprId inner = argument(a, 0);
    if (cast_is_lossless(inner, from)) return cast(to, inner);
    // Low bits of low bits.
    const auto is_whole = [](DType d) { return is_integer(d); };
    if (is_whole(to) && is_whole(from) &&
        (is_whole(dtype(inner)) || dtype(inner) == DType::kBool) &&
        dtype_size(from) >= dtype_size(to)) {
      return cast(to, inner);
    }
  }
  return make(Op::kCast, to, {a});
}

ExprId ExprRules::bitcast(DType to, ExprId a) {
  if (op(a) == Op::kBitcast) return bitcast(to, argument(a, 0));
  const DType from = dtype(a);
  if (from == to) return a;
  if (is_constant(a) && is_integer(from) && is_integer(to)) {
    return make_constant(to, wrap_integer(to, node(a).payload));
  }
  return make(Op::kBitcast, to, {a});
}

// --- one argument --------------------------------------------------------------------------------

ExprId ExprRules::unary(Op op, ExprId a) {
  const DType type = dtype(a);
  const DType result = op == Op::kIsNan || op == Op::kLogicalNot ? DType::kBool : type;
  if (is_constant(a)) {
    if (const auto payload = fold_unary(op, type, node(a).payload)) {
      return make_constant(result, *payload);
    }
  }
  const Op inner = this->op(a);
  const bool whole = !is_floating(type) && !is_complex(type);
  switch (op) {
    case Op::kNegate:
      if (inner == Op::kNegate) return argument(a, 0);
      if (type == DType::kInt64) {
        const Affine sum = scale(pool_.affine(a), Size(-1));
        if (!overflowed(sum)) return from_affine(sum);
      }
      if (inner == Op::kSubtract && is_integer(type)) {
        return binary(Op::kSubtract, argument(a, 1), argument(a, 0));
      }
      break;
    case Op::kAbs:
      if (inner == Op::kAbs) return a;
      if (inner == Op::kNegate && !is_unsigned(type)) return unary(Op::kAbs, argument(a, 0));
      if (whole && ExprFacts(pool_).range(a).lower >= 0) return a;
      break;
    case Op::kFloor:
    case Op::kCeil:
    case Op::kTrunc:
    case Op::kRound:
      if (whole || (inner >= Op::kFloor && inner <= Op::kRound)) return a;
      if (inner == Op::kCast && !is_floating(dtype(argument(a, 0))) &&
          !is_complex(dtype(argument(a, 0)))) {
        return a;
      }
      break;
    case Op::kIsNan:
      if (whole) return truth(false);
      if (inner == Op::kNegate || inner == Op::kAbs) return unary(op, argument(a, 0));
      if (inner == Op::kCast && !is_complex(dtype(argument(a, 0)))) {
        return unary(op, argument(a, 0));
      }
      break;
    case Op::kLogicalNot:
      if (type == DType::kBool) return logical_not(a);
      break;
    case Op::kBitNot:
      if (type == DType::kBool) return logical_not(a);
      if (inner == Op::kBitNot) return argument(a, 0);
      break;
    default:
      break;
  }
  return make(op, result, {a});
}

// --- two arguments -------------------------------------------------------------------------------

ExprId ExprRules::binary(Op op, ExprId a, ExprId b) {
  const DType type = dtype(a);
  const DType result = is_comparison(op) ? DType::kBool : type;
  if (type == dtype(b)) {
    if (is_constant(a) && is_constant(b)) {
      if (const auto payload = fold_binary(op, type, node(a).payload, node(b).payload)) {
        return make_constant(result, *payload);
      }
    }
    std::optional<ExprId> simpler;
    if (type == DType::kBool) {
      simpler = simplify_bool(op, a, b);
    } else if (is_comparison(op)) {
      simpler = simplify_comparison(op, a, b);
    } else if (is_arithmetic_float(type)) {
      simpler = simplify_float(op, a, b);
    } else if (is_integer(type)) {
      simpler = simplify_integer(op, a, b);
    }
    if (simpler) return *simpler;
  }
  return is_commutative(op) ? make_commutative(op, result, a, b) : make(op, result, {a, b});
}

// Only what gives the same bits for every number, infinity, zero of either sign and NaN.
std::optional<ExprId> ExprRules::simplify_float(Op op, ExprId a, ExprId b) {
  switch (op) {
    case Op::kAdd:
      if (is_float_constant(b, -0.0)) return a;
      if (is_float_constant(a, -0.0)) return b;
      if (this->op(b) == Op::kNegate) return binary(Op::kSubtract, a, argument(b, 0));
      if (this->op(a) == Op::kNegate) return binary(Op::kSubtract, b, argument(a, 0));
      break;
    case Op::kSubtract:
      if (is_float_constant(b, 0.0)) return a;
      if (is_float_constant(a, -0.0)) return unary(Op::kNegate, b);
      if (this->op(b) == Op::kNegate) return binary(Op::kAdd, a, argument(b, 0));
      break;
    case Op::kMultiply:
      if (is_constant(a)) std::swap(a, b);
      if (is_float_constant(b, 1.0)) return a;
      if (is_float_constant(b, -1.0)) return unary(Op::kNegate, a);
      if (this->op(a) == Op::kNegate && this->op(b) == Op::kNegate) {
        return binary(op, argument(a, 0), argument(b, 0));
      }
      if (this->op(a) == Op::kNegate && is_constant(b)) {
        return binary(op, argument(a, 0), unary(Op::kNegate, b));
      }
      break;
    case Op::kDivide:
      if (is_float_constant(b, 1.0)) return a;
      if (is_float_constant(b, -1.0)) return unary(Op::kNegate, a);
      if (is_constant(b)) {
        const double divisor = payload_to_double(node(b).payload);
        if (has_exact_reciprocal(dtype(a), divisor)) {
          return binary(Op::kMultiply, a, pool_.constant(dtype(a), 1.0 / divisor));
        }
      }
      break;
    case Op::kMinimum:
    case Op::kMaximum:
      if (a == b) return a;
      break;
    case Op::kPow:
      if (is_float_constant(b, 1.0)) return a;
      break;
    default:
      break;
  }
  return std::nullopt;
}

// --- select --------------------------------------------------------------------------------------

ExprId ExprRules::select(ExprId condition, ExprId then_value, ExprId else_value) {
  if (const auto known = integer(condition)) return *known != 0 ? then_value : else_value;
  if (then_value == else_value) return then_value;
  if (op(condition) == Op::kLogicalNot) {
    return select(argument(condition, 0), else_value, then_value);
  }
  // A choice inside may be decided: by the same condition, or by one that settles it.
  const auto choice = [&](ExprId value, bool holds) {
    if (op(value) != Op::kSelect) return value;
    const ExprId inner = argument(value, 0);
    const ExprId joined = join(holds ? Op::kAnd : Op::kOr, condition, inner);
    const auto known = integer(joined);
    if (!known && joined != condition) return value;
    // Joined to the condition itself, the inner one is as the condition is; otherwise against it.
    return argument(value, known ? (holds ? 2 : 1) : (holds ? 1 : 2));
  };
  const ExprId then_choice = choice(then_value, true);
  const ExprId else_choice = choice(else_value, false);
  if (then_choice != then_value || else_choice != else_value) {
    return select(condition, then_choice, else_choice);
  }
  const DType type = dtype(then_value);
  if (type == DType::kBool) {
    if (const auto known = integer(then_value)) {
      return *known != 0 ? join(Op::kOr, condition, else_value)
                         : join(Op::kAnd, logical_not(condition), else_value);
    }
    if (const auto known = integer(else_value)) {
      return *known != 0 ? join(Op::kOr, logical_not(condition), then_value)
                         : join(Op::kAnd, condition, then_value);
    }
  }
  if (op(else_value) == Op::kSelect) {  // c ? a : d ? a : b
    if (argument(else_value, 1) == then_value) {
      return select(join(Op::kOr, condition, argument(else_value, 0)), then_value,
                    argument(else_value, 2));
    }
  }
  if (op(then_value) == Op::kSelect) {  // c ? (d ? a : b) : b
    if (argument(then_value, 2) == else_value) {
      return select(join(Op::kAnd, condition, argument(then_value, 0)), argument(then_value, 1),
                    else_value);
    }
  }
  // A masked load is 0 outside its mask already.
  if (op(then_value) == Op::kMaskedLoad && is_constant(else_value) &&
      node(else_value).payload == 0) {
    const auto arguments = pool_.arguments(then_value);
    const ExprId mask = join(Op::kAnd, condition, arguments[0]);
    return pool_.masked_load(static_cast<ValueId>(node(then_value).payload), type, mask,
                             arguments.subspan(1));
  }
  return make(Op::kSelect, type, {condition, then_value, else_value});
}

ExprId ExprRules::check_index(ExprId position, const IndexCheck& check) {
  const Affine sum = pool_.affine(position);
  const auto lies_in = [&](const Size& lower, const Size& upper) {
    return ExprFacts(pool_).is_at_least(sum, lower) && ExprFacts(pool_).is_less(sum, upper);
  };
  if (dtype(position) == DType::kInt64) {
    if (lies_in(Size(0), check.size)) return position;
    if (check.wrap && lies_in(Size(0) - check.size, Size(0))) {
      return binary(Op::kAdd, position, pool_.size(check.size));
    }
    if (check.wrap && lies_in(Size(0) - check.size, check.size)) {
      const ExprId negative = binary(Op::kLess, position, make_constant(DType::kInt64, 0));
      return select(negative, binary(Op::kAdd, position, pool_.size(check.size)), position);
    }
  }
  return make_check(position, check);
}

ExprId ExprRules::make_check(ExprId position, const IndexCheck& check) {
  std::size_t hash = std::hash<std::string>()(check.message);
  hash = hash * 31 + 2 * check.size.hash() + (check.wrap ? 1 : 0);
  const auto [first, last] = pool_.check_numbers_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (pool_.checks_[static_cast<std::size_t>(it->second)] == check) {
      return make(Op::kCheckIndex, DType::kInt64, {position}, it->second);
    }
  }
  const auto number = static_cast<std::int32_t>(pool_.checks_.size());
  pool_.checks_.push_back(check);
  pool_.check_numbers_.emplace(hash, number);
  return make(Op::kCheckIndex, DType::kInt64, {position}, number);
}

}  // namespace tendon::ir
