// Expressions as straight-line programs over tiles.
//
// A program computes its roots for a run of consecutive points of an iteration space: every
// instruction does one operation for all elements of the run, reading and writing registers that
// stay in the first-level cache. What depends on sizes (strides, extents, symbols) is named here
// and evaluated when an evaluator is bound; see tile_evaluator.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/tile.h"
#include "ir/expr.h"
#include "tendon/status.h"

namespace tendon::backends::cpu {

using RegisterId = std::int32_t;
inline constexpr RegisterId kNoRegister = -1;

/// A register that holds one value for the whole run of a kernel.
struct Uniform {
  enum class Kind : std::uint8_t {
    kConstant,  // `bits`: of a double for floating carriers, the integer itself otherwise
    kSize,      // `size`, int64
    kStride,    // `size` * stride of access `access` along its dimension `dimension`, int64
  };
  Kind kind = Kind::kConstant;
  RegisterId result = kNoRegister;
  TileType type = TileType::kInt64;
  std::int64_t bits = 0;
  ir::Size size;
  int access = 0;
  int dimension = 0;
};

/// Where a load reads: position `constants[j] + sum of coefficient * index(axis)` along dimension j
/// of the value, plus what the instruction's offset register adds.
struct Access {
  struct Term {
    int dimension = 0;
    int axis = 0;
    ir::Size coefficient;
  };
  ir::ValueId value = -1;
  DType dtype = DType::kFloat32;
  std::vector<ir::Size> constants;  // one per dimension
  std::vector<Term> terms;
};

struct Instruction {
  enum class Kind : std::uint8_t {
    kCompute,      // kernel over a, b, c
    kIndex,        // position along axis `payload`
    kLoad,         // access `payload`; a: offsets, b: mask (each may be missing)
    kCheckIndex,   // check `payload`; a: position, b: size
    kPhilox,       // a: seed, b: stream, c: counter
    kAccumulator,  // the tile that the caller gives
  };
  Kind kind = Kind::kCompute;
  TileType type = TileType::kFloat32;  // of the result
  RegisterId result = kNoRegister;
  RegisterId a = kNoRegister, b = kNoRegister, c = kNoRegister;
  std::int32_t payload = 0;
  ComputeKernel kernel = nullptr;
  std::string_view name;                 // a literal
  DType memory_dtype = DType::kFloat32;  // loads and accumulators
};

struct VectorProgram {
  int axes = 0;  // of the iteration space
  std::vector<Uniform> uniforms;
  std::vector<Access> accesses;
  std::vector<ir::IndexCheck> checks;
  std::vector<Instruction> instructions;
  std::vector<RegisterId> roots;
  std::vector<TileType> root_types;
  /// What to store the roots as.
  std::vector<DType> root_dtypes;
  /// Axes whose positions instructions use as numbers.
  std::vector<bool> index_axes;
  /// True if a root is its own register that no other instruction uses: the caller may put it
  /// anywhere.
  std::vector<bool> root_is_free;
  /// Bytes of an element of every register, and whether it is a uniform.
  std::vector<std::uint8_t> register_size;
  std::vector<bool> register_is_uniform;

  /// Elements of a tile that keep the registers in the first-level cache.
  int tile_elements() const;
  /// Bytes of all registers for tiles of that many elements.
  std::int64_t register_bytes(int elements) const;
  /// One line an instruction: "r3 = add.f32 r1, r2".
  std::string to_string() const;
};

struct ProgramOptions {
  /// Conditions whose value is known where the program runs.
  std::function<std::optional<bool>(ir::ExprId)> known_condition;
  /// Roots are stored in their own dtype: a last rounding to a half type is left to the store, and
  /// a root that is just a load of bytes is copied as bytes. Else roots are exact carriers.
  bool stores_roots = false;
};

/// Compiles `roots` over an iteration space of that many axes. Errors: Unimplemented, naming an
/// operation that has no meaning for its type.
Result<VectorProgram> compile_program(const ir::ExprPool& pool, std::span<const ir::ExprId> roots,
                                      int axes, const ProgramOptions& options = {});

/// Points of a program that are worth another thread: fewer where each takes more instructions.
inline std::int64_t points_worth_a_thread(const VectorProgram& program) {
  return std::clamp<std::int64_t>(
      65536 / std::max<std::int64_t>(1, static_cast<std::int64_t>(program.instructions.size())),
      1024, 8192);
}

}  // namespace tendon::backends::cpu
