// The operations of expressions. Includes next to nothing, so that device code can include it.
#pragma once

#include <cstdint>

namespace tendon::ir {

enum class Op : std::uint8_t {
  // Leaves.
  kConstant,     // a number
  kIndex,        // position along an axis of the iteration space; int64
  kSize,         // a symbolic size; int64
  kLoad,         // element of a value; arguments: one position per axis, in range
  kMaskedLoad,   // arguments: bool mask, positions...; 0 where the mask is false (positions then
                 // unused)
  kAccumulator,  // in an epilogue: the product, before it is stored
  // One argument. Transcendental functions take floats only.
  kCast,  // to the node's dtype by PyTorch's rules: float to int truncates, ints wrap, to bool is
          // != 0
  kBitcast,  // same bits, same size
  kNegate,
  kAbs,
  kSign,
  kFloor,
  kCeil,
  kTrunc,
  kRound,  // half to even
  kSqrt,
  kRsqrt,
  kReciprocal,
  kExp,
  kExp2,
  kExpm1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kErfc,
  kErfinv,
  kLgamma,
  kDigamma,
  kBesselI0,
  kSigmoid,
  kIsNan,
  kLogicalNot,  // bool
  kBitNot,      // integers
  // Two arguments of one dtype.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,       // floats
  kFloorDivide,  // integers: toward minus infinity, by zero gives 0; floats: PyTorch's floor_divide
  kTruncDivide,  // integers: toward zero, by zero gives 0
  kRemainder,    // the divisor's sign (Python); integers by zero: 0
  kFmod,         // the dividend's sign (C); integers by zero: 0
  kPow,
  kAtan2,
  kHypot,
  kCopysign,
  kNextafter,
  kIgamma,
  kIgammac,
  kPolygamma,  // (order, x)
  kZeta,
  kMinimum,  // NaN wins
  kMaximum,  // NaN wins
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  kAnd,  // bitwise; on bool logical
  kOr,
  kXor,
  kShiftLeft,
  kShiftRight,  // arithmetic; on unsigned types logical
  kGcd,
  // Three arguments.
  kSelect,  // (condition, then, else): the other one never matters, NaN or not
  // Checks and random numbers.
  kCheckIndex,  // (position): see IndexCheck; the result lies in [0, size)
  kPhilox,  // (seed, stream, counter), int64: 32 random bits as int64 in [0, 2^32), Philox 4x32-10
};
inline constexpr int kOpCount = static_cast<int>(Op::kPhilox) + 1;

}  // namespace tendon::ir
