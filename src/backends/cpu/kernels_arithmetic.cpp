// Arithmetic that every processor does in one or a few instructions.
#include "backends/cpu/kernel_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels_arithmetic.cpp"
#include "backends/cpu/kernel_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h.
#include "backends/cpu/kernel_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tendon::backends::cpu {
namespace HWY_NAMESPACE {
namespace {

using ir::Op;

#define TENDON_UNARY(Name, expression)    \
  struct Name {                           \
    template <class D, class V>           \
    static HWY_INLINE V apply(D d, V a) { \
      (void)d;                            \
      return expression;                  \
    }                                     \
  };
#define TENDON_BINARY(Name, expression)        \
  struct Name {                                \
    template <class D, class V>                \
    static HWY_INLINE V apply(D d, V a, V b) { \
      (void)d;                                 \
      return expression;                       \
    }                                          \
  };

TENDON_UNARY(Abs, hn::Abs(a))
TENDON_UNARY(Floor, hn::Floor(a))
TENDON_UNARY(Ceil, hn::Ceil(a))
TENDON_UNARY(Trunc, hn::Trunc(a))
TENDON_UNARY(Round, hn::Round(a))
TENDON_UNARY(Sqrt, hn::Sqrt(a))
TENDON_UNARY(Rsqrt, hn::Div(hn::Set(d, 1), hn::Sqrt(a)))
TENDON_UNARY(Reciprocal, hn::Div(hn::Set(d, 1), a))
TENDON_UNARY(BitNot, hn::Not(a))
TENDON_UNARY(LogicalNot, hn::IfThenElseZero(hn::Eq(a, hn::Zero(d)), hn::Set(d, 1)))
TENDON_BINARY(Add, hn::Add(a, b))
TENDON_BINARY(Subtract, hn::Sub(a, b))
TENDON_BINARY(Multiply, hn::Mul(a, b))
TENDON_BINARY(Divide, hn::Div(a, b))
TENDON_BINARY(And, hn::And(a, b))
TENDON_BINARY(Or, hn::Or(a, b))
TENDON_BINARY(Xor, hn::Xor(a, b))
TENDON_BINARY(Copysign, hn::CopySign(a, b))

/// Floats: the sign bit flips, also of zero and NaN.
struct Negate {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::Xor(a, hn::Set(d, hn::TFromD<D>(-0.0)));
    } else {
      return hn::Sub(hn::Zero(d), a);
    }
  }
};

/// NaN wins; written so that it does not matter what the instruction does with NaN.
template <bool kMaximum>
struct Extreme {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    (void)d;
    const V extreme = kMaximum ? hn::Max(a, b) : hn::Min(a, b);
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::IfThenElse(hn::Eq(a, a), hn::IfThenElse(hn::Eq(b, b), extreme, b), a);
    } else {
      return extreme;
    }
  }
};

template <typename T>
void fill_number(KernelTable& table, TileType type) {
  table.at(Op::kNegate, type) = unary_kernel<T, Negate>;
  table.at(Op::kAdd, type) = binary_kernel<T, Add>;
  table.at(Op::kSubtract, type) = binary_kernel<T, Subtract>;
  table.at(Op::kMultiply, type) = binary_kernel<T, Multiply>;
  table.at(Op::kMinimum, type) = binary_kernel<T, Extreme<false>>;
  table.at(Op::kMaximum, type) = binary_kernel<T, Extreme<true>>;
}

template <typename T>
void fill_bits(KernelTable& table, TileType type) {
  table.at(Op::kAnd, type) = binary_kernel<T, And>;
  table.at(Op::kOr, type) = binary_kernel<T, Or>;
  table.at(Op::kXor, type) = binary_kernel<T, Xor>;
  table.at(Op::kBitNot, type) = unary_kernel<T, BitNot>;
}

template <typename T>
void fill_float(KernelTable& table, TileType type) {
  fill_number<T>(table, type);
  table.at(Op::kAbs, type) = unary_kernel<T, Abs>;
  table.at(Op::kFloor, type) = unary_kernel<T, Floor>;
  table.at(Op::kCeil, type) = unary_kernel<T, Ceil>;
  table.at(Op::kTrunc, type) = unary_kernel<T, Trunc>;
  table.at(Op::kRound, type) = unary_kernel<T, Round>;
  table.at(Op::kSqrt, type) = unary_kernel<T, Sqrt>;
  table.at(Op::kRsqrt, type) = unary_kernel<T, Rsqrt>;
  table.at(Op::kReciprocal, type) = unary_kernel<T, Reciprocal>;
  table.at(Op::kDivide, type) = binary_kernel<T, Divide>;
  table.at(Op::kCopysign, type) = binary_kernel<T, Copysign>;
}

void fill(KernelTable& table) {
  fill_float<float>(table, TileType::kFloat32);
  fill_float<double>(table, TileType::kFloat64);
  fill_number<std::int32_t>(table, TileType::kInt32);
  fill_number<std::int64_t>(table, TileType::kInt64);
  fill_number<std::uint64_t>(table, TileType::kUInt64);
  table.at(Op::kAbs, TileType::kInt32) = unary_kernel<std::int32_t, Abs>;
  table.at(Op::kAbs, TileType::kInt64) = unary_kernel<std::int64_t, Abs>;
  fill_bits<std::int32_t>(table, TileType::kInt32);
  fill_bits<std::int64_t>(table, TileType::kInt64);
  fill_bits<std::uint64_t>(table, TileType::kUInt64);

  // Bytes 0 and 1: sums and extremes are logic.
  const TileType type = TileType::kBool;
  table.at(Op::kAnd, type) = binary_kernel<std::uint8_t, And>;
  table.at(Op::kMultiply, type) = table.at(Op::kMinimum, type) = table.at(Op::kAnd, type);
  table.at(Op::kOr, type) = binary_kernel<std::uint8_t, Or>;
  table.at(Op::kAdd, type) = table.at(Op::kMaximum, type) = table.at(Op::kOr, type);
  table.at(Op::kXor, type) = binary_kernel<std::uint8_t, Xor>;
  table.at(Op::kLogicalNot, type) = unary_kernel<std::uint8_t, LogicalNot>;
  table.at(Op::kBitNot, type) = table.at(Op::kLogicalNot, type);
}

}  // namespace

void fill_arithmetic(KernelTable& table) { fill(table); }

}  // namespace HWY_NAMESPACE
}  // namespace tendon::backends::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tendon::backends::cpu {
HWY_EXPORT(fill_arithmetic);
void fill_arithmetic_kernels(KernelTable& table) { HWY_DYNAMIC_DISPATCH(fill_arithmetic)(table); }
}  // namespace tendon::backends::cpu
#endif
