// The loops that instructions of vector programs run, for the vector unit of this machine.
#pragma once

#include <cstdint>

#include "backends/cpu/tile.h"
#include "ir/expr.h"
#include "ir/graph.h"
#include "tendon/dtype.h"

namespace tendon::backends::cpu {

/// out[i] = f(a[i], b[i], c[i]) for i < count, rounded up to whole vectors: `out` has room for a
/// multiple of kTileGranule elements, or count * element size is a multiple of kVectorBytes.
/// Operands may be unaligned; `out` may be an operand with step 1.
using ComputeKernel = void (*)(void* out, const void* a, const void* b, const void* c, Steps steps,
                               std::int64_t count);
/// Reads `count` elements from memory, `stride` elements apart, into a register. Reads nothing
/// else; may write up to the next multiple of kTileGranule.
using LoadKernel = void (*)(void* out, const void* memory, std::int64_t stride, std::int64_t count);
/// Writes exactly `count` elements, `stride` apart, from a register of that step.
using StoreKernel = void (*)(void* memory, const void* in, int step, std::int64_t stride,
                             std::int64_t count);
/// out[i] = memory[i * stride + offsets[i]], or 0 where `mask` (null: none) is 0. Offsets and mask
/// have steps a and b.
using GatherKernel = void (*)(void* out, const void* memory, std::int64_t stride,
                              const std::int64_t* offsets, const std::uint8_t* mask, Steps steps,
                              std::int64_t count);

struct KernelTable {
  /// By operation and the carrier type of the (last) operand. Null where there is no such thing.
  ComputeKernel compute[ir::kOpCount][kTileTypeCount] = {};
  ComputeKernel cast[kTileTypeCount][kTileTypeCount] = {};  // [from][to]; null where equal
  ComputeKernel wrap[kDTypeCount] = {};  // to the dtype's range, in its carrier; null if native
  /// Of half types: the carrier to the bits, as int16 in its carrier, and back; null for others.
  ComputeKernel to_bits[kDTypeCount] = {};
  ComputeKernel from_bits[kDTypeCount] = {};
  LoadKernel load[kDTypeCount] = {};
  StoreKernel store[kDTypeCount] = {};
  GatherKernel gather[kDTypeCount] = {};

  ComputeKernel& at(ir::Op op, TileType type) {
    return compute[static_cast<int>(op)][static_cast<int>(type)];
  }
  ComputeKernel at(ir::Op op, TileType type) const {
    return compute[static_cast<int>(op)][static_cast<int>(type)];
  }
  ComputeKernel& cast_at(TileType from, TileType to) {
    return cast[static_cast<int>(from)][static_cast<int>(to)];
  }
  ComputeKernel& wrap_at(DType dtype) { return wrap[static_cast<int>(dtype)]; }
};

/// Made once, for the best instruction set that this machine has.
const KernelTable& kernel_table();

// Each fills its part; later ones replace what earlier ones put.
void fill_scalar_kernels(KernelTable& table);
void fill_memory_kernels(KernelTable& table);
void fill_arithmetic_kernels(KernelTable& table);
void fill_integer_kernels(KernelTable& table);
void fill_compare_kernels(KernelTable& table);
void fill_cast_kernels(KernelTable& table);
void fill_exponential_kernels(KernelTable& table);
void fill_trigonometric_kernels(KernelTable& table);

}  // namespace tendon::backends::cpu
