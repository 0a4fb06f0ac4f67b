#include "ir/expr.h"

#include <algorithm>
#include <array>

#include "ir/expr_fold.h"
#include "ir/expr_rules.h"

namespace tendon::ir {

namespace {

std::uint32_t hash_node(Op op, DType dtype, std::span<const ExprId> arguments,
                        std::int64_t payload) {
  std::uint64_t hash = static_cast<std::uint64_t>(payload) * 0x9e3779b97f4a7c15ULL;
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ (hash >> 29) ^ value) * 0xbf58476d1ce4e5b9ULL;
  };
  mix(static_cast<std::uint64_t>(op) << 8 | static_cast<std::uint64_t>(dtype));
  for (ExprId argument : arguments) mix(static_cast<std::uint32_t>(argument));
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

std::string_view op_name(Op op) {
  static constexpr auto kNames = std::to_array<std::string_view>({
      "constant",  "index",      "size",        "load",         "masked_load",  "accumulator",
      "cast",      "bitcast",    "negate",      "abs",          "sign",         "floor",
      "ceil",      "trunc",      "round",       "sqrt",         "rsqrt",        "reciprocal",
      "exp",       "exp2",       "expm1",       "log",          "log2",         "log10",
      "log1p",     "sin",        "cos",         "tan",          "asin",         "acos",
      "atan",      "sinh",       "cosh",        "tanh",         "asinh",        "acosh",
      "atanh",     "erf",        "erfc",        "erfinv",       "lgamma",       "digamma",
      "bessel_i0", "sigmoid",    "is_nan",      "logical_not",  "bit_not",      "add",
      "subtract",  "multiply",   "divide",      "floor_divide", "trunc_divide", "remainder",
      "fmod",      "pow",        "atan2",       "hypot",        "copysign",     "nextafter",
      "igamma",    "igammac",    "polygamma",   "zeta",         "minimum",      "maximum",
      "less",      "less_equal", "equal",       "not_equal",    "and",          "or",
      "xor",       "shift_left", "shift_right", "gcd",          "select",       "check_index",
      "philox",
  });
  static_assert(kNames.size() == kOpCount);
  return kNames[static_cast<std::size_t>(op)];
}

std::size_t ExprPool::find_slot(std::uint32_t hash, Op op, DType dtype,
                                std::span<const ExprId> arguments, std::int64_t payload) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash & mask;
  for (; table_[slot] != kNoExpr; slot = (slot + 1) & mask) {
    const ExprId id = table_[slot];
    if (hashes_[static_cast<std::size_t>(id)] != hash) continue;
    const ExprNode& found = node(id);
    if (found.op == op && found.dtype == dtype && found.payload == payload &&
        std::ranges::equal(this->arguments(id), arguments)) {
      break;
    }
  }
  return slot;
}

ExprId ExprPool::find(Op op, DType dtype, std::span<const ExprId> arguments,
                      std::int64_t payload) const {
  if (table_.empty()) return kNoExpr;
  return table_[find_slot(hash_node(op, dtype, arguments, payload), op, dtype, arguments, payload)];
}

ExprId ExprPool::intern(Op op, DType dtype, std::span<const ExprId> arguments,
                        std::int64_t payload) {
  if (table_.size() < 2 * (nodes_.size() + 1)) grow_table();
  const std::uint32_t hash = hash_node(op, dtype, arguments, payload);
  const std::size_t slot = find_slot(hash, op, dtype, arguments, payload);
  if (table_[slot] != kNoExpr) return table_[slot];
  const auto id = static_cast<ExprId>(nodes_.size());
  table_[slot] = id;
  hashes_.push_back(hash);
  const std::size_t first = argument_list_.append(arguments);
  nodes_.push_back(ExprNode{op, dtype, static_cast<std::uint16_t>(arguments.size()),
                            static_cast<std::int32_t>(first), payload});
  return id;
}

void ExprPool::grow_table() {
  table_.assign(std::max<std::size_t>(64, 2 * table_.size()), kNoExpr);
  const std::size_t mask = table_.size() - 1;
  for (std::size_t id = 0; id < nodes_.size(); ++id) {
    std::size_t slot = hashes_[id] & mask;
    while (table_[slot] != kNoExpr) slot = (slot + 1) & mask;
    table_[slot] = static_cast<ExprId>(id);
  }
}

std::span<const ExprId> ExprPool::arguments(ExprId id) const {
  const ExprNode& n = node(id);
  return argument_list_.slice(static_cast<std::size_t>(n.first_argument), n.argument_count);
}

const Size& ExprPool::size_of(ExprId id) const {
  return sizes_[static_cast<std::size_t>(node(id).payload)];
}

const IndexCheck& ExprPool::check_of(ExprId id) const {
  return checks_[static_cast<std::size_t>(node(id).payload)];
}

std::optional<std::int64_t> ExprPool::as_integer(ExprId id) const {
  const ExprNode& n = node(id);
  if (n.op != Op::kConstant || is_floating(n.dtype) || is_complex(n.dtype)) return std::nullopt;
  return n.payload;
}

std::optional<double> ExprPool::as_number(ExprId id) const {
  const ExprNode& n = node(id);
  if (n.op != Op::kConstant || is_complex(n.dtype)) return std::nullopt;
  if (is_floating(n.dtype)) return payload_to_double(n.payload);
  if (n.dtype == DType::kUInt64) return static_cast<double>(static_cast<std::uint64_t>(n.payload));
  return static_cast<double>(n.payload);
}

ExprId ExprPool::constant(DType dtype, double value) {
  const std::int64_t payload = double_to_payload(value);
  return intern(Op::kConstant, dtype, {},
                fold_cast(DType::kFloat64, dtype, payload).value_or(payload));
}

ExprId ExprPool::constant(DType dtype, std::int64_t value) {
  return intern(Op::kConstant, dtype, {}, fold_cast(DType::kInt64, dtype, value).value_or(value));
}

ExprId ExprPool::index(int axis) {
  const auto k = static_cast<std::size_t>(axis);
  if (k < extents_.size() && extents_[k] == Size(1))
    return constant(DType::kInt64, std::int64_t{0});
  return intern(Op::kIndex, DType::kInt64, {}, axis);
}

ExprId ExprPool::size(const Size& size) {
  if (const auto value = size.as_constant()) return constant(DType::kInt64, *value);
  const std::size_t hash = size.hash();
  const auto [first, last] = size_numbers_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (sizes_[static_cast<std::size_t>(it->second)] == size) {
      return intern(Op::kSize, DType::kInt64, {}, it->second);
    }
  }
  const auto number = static_cast<std::int32_t>(sizes_.size());
  sizes_.push_back(size);
  size_numbers_.emplace(hash, number);
  return intern(Op::kSize, DType::kInt64, {}, number);
}

ExprId ExprPool::load(ValueId value, DType dtype, std::span<const ExprId> positions) {
  return intern(Op::kLoad, dtype, positions, value);
}

ExprId ExprPool::masked_load(ValueId value, DType dtype, ExprId mask,
                             std::span<const ExprId> positions) {
  if (const auto constant_mask = as_integer(mask)) {
    return *constant_mask != 0 ? load(value, dtype, positions) : constant(dtype, std::int64_t{0});
  }
  std::vector<ExprId> arguments{mask};
  arguments.insert(arguments.end(), positions.begin(), positions.end());
  return intern(Op::kMaskedLoad, dtype, arguments, value);
}

ExprId ExprPool::accumulator(DType dtype) { return intern(Op::kAccumulator, dtype, {}, 0); }

ExprId ExprPool::cast(DType dtype, ExprId a) { return ExprRules(*this).cast(dtype, a); }
ExprId ExprPool::bitcast(DType dtype, ExprId a) { return ExprRules(*this).bitcast(dtype, a); }
ExprId ExprPool::unary(Op op, ExprId a) { return ExprRules(*this).unary(op, a); }
ExprId ExprPool::binary(Op op, ExprId a, ExprId b) { return ExprRules(*this).binary(op, a, b); }
ExprId ExprPool::select(ExprId condition, ExprId then_value, ExprId else_value) {
  return ExprRules(*this).select(condition, then_value, else_value);
}

ExprId ExprPool::philox(ExprId seed, ExprId stream, ExprId counter) {
  const ExprId arguments[] = {seed, stream, counter};
  return intern(Op::kPhilox, DType::kInt64, arguments, 0);
}

ExprId ExprPool::check_index(ExprId position, const IndexCheck& check) {
  return ExprRules(*this).check_index(position, check);
}

ExprId ExprPool::from_affine(const Affine& affine) { return ExprRules(*this).from_affine(affine); }

Bounds ExprPool::bounds(ExprId id) const {
  const ExprFacts::Range range = ExprFacts(*this).range(id);
  Bounds bounds;
  bounds.lower = range.lower <= -kUnbounded ? -kUnbounded : static_cast<std::int64_t>(range.lower);
  bounds.upper = range.upper >= kUnbounded ? kUnbounded : static_cast<std::int64_t>(range.upper);
  return bounds;
}

}  // namespace tendon::ir
