// A vector program bound to numbers: extents, strides, memory. Evaluates tiles.
//
// Use: construct; bind_values() when sizes change; bind_space() to fix the box of points and their
// order; then, once per thread and run, prepare() a workspace in scratch memory, and evaluate()
// tiles of consecutive points. Only the constructor allocates.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/vector_program.h"
#include "ir/size.h"
#include "schedule/plan.h"
#include "tendon/status.h"

namespace tendon::backends::cpu {

inline constexpr int kMaxAxes = 32;

/// Where the elements of a value are: in a buffer of the plan, or (local >= 0) in memory that the
/// caller of the evaluator keeps for its thread, with strides that it sets.
struct Location {
  schedule::BufferId buffer = schedule::kNoBuffer;
  int local = -1;
  ir::Size offset;
  ir::Shape strides;
  DType dtype = DType::kFloat32;
};

/// The first index, in the order of points, that a check of this step refused.
class CheckState {
 public:
  void reset();
  void record(const ir::IndexCheck& check, std::int64_t index, std::int64_t size,
              std::int64_t point);
  /// Tells `errors` about it, if there was one.
  void report(ErrorRecord* errors) const;

 private:
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  const ir::IndexCheck* check_ = nullptr;
  std::int64_t index_ = 0;
  std::int64_t size_ = 0;
  std::int64_t point_ = 0;
};

/// Affine addressing of one value over the space.
struct BoundAccess {
  int buffer = -1;
  int local = -1;
  DType dtype = DType::kFloat32;
  std::size_t element_size = 4;
  std::int64_t base = 0;                // element of the buffer at the first point of the space
  std::int64_t limit = 0;               // elements of the buffer
  std::int64_t start = 0;               // element at index 0 of every axis
  std::int64_t strides[kMaxAxes] = {};  // by axis of the program
  std::int64_t space_strides[kMaxAxes] = {};  // by axis of the bound space
  bool constant = false;                      // the same element everywhere
  bool linear = false;                        // element base + linear_stride * point
  std::int64_t linear_stride = 0;
};

/// A thread's memory for one evaluator; plain pointers into scratch memory.
struct TileWorkspace {
  Register* registers = nullptr;
  std::byte** home = nullptr;         // each register's own memory
  std::byte** target = nullptr;       // where a computed result goes
  std::byte** base = nullptr;         // by access: element `base`
  const void* accumulator = nullptr;  // first element of the tile, in memory form
  CheckState* checks = nullptr;
};

class TileEvaluator {
 public:
  /// `locations`: one per access of the program; `stores`: where results may be stored, element
  /// [i...] of the program's axes (missing strides: the axis does not move the store).
  TileEvaluator(const VectorProgram& program, const schedule::Plan& plan,
                std::vector<Location> locations, std::vector<Location> stores);

  /// Evaluates every Size. `local_strides[k]`: the strides of local k, one per dimension.
  Status bind_values(const Bindings& bindings,
                     std::span<const std::span<const std::int64_t>> local_strides = {});
  /// The points are the box [origin, origin + extents) walked in row-major order of the axes
  /// `order` (outermost first; each axis once).
  void bind_space(std::span<const std::int64_t> origin, std::span<const std::int64_t> extents,
                  std::span<const int> order);
  std::int64_t points() const { return points_; }

  const VectorProgram& program() const { return *program_; }
  int tile_elements() const { return tile_elements_; }
  /// A good number of points for the tile that begins at `begin`, at most end - begin.
  std::int64_t tile_count(std::int64_t begin, std::int64_t end) const;
  /// Stride of an access (loads, then stores) along an axis of the program.
  const BoundAccess& access(std::size_t i) const { return accesses_[i]; }
  std::size_t load_count() const { return load_count_; }
  std::size_t access_count() const { return accesses_.size(); }

  std::size_t workspace_bytes() const;
  void prepare(TileWorkspace& workspace, std::byte* memory, std::span<std::byte* const> buffers,
               CheckState* checks) const;
  /// Where element 0 of local k is.
  void set_local(TileWorkspace& workspace, int local, std::byte* memory) const;

  /// Computes the roots for points [begin, begin + count), count <= tile_elements(). `direct[k]`
  /// (null, or too short a list: none) may take root k if it is computed (and not uniform): then
  /// root(k).data == direct[k] afterwards. It needs room for whole vectors.
  void evaluate(TileWorkspace& workspace, std::int64_t begin, std::int64_t count,
                std::span<std::byte* const> direct = {}) const;
  const Register& root(const TileWorkspace& workspace, std::size_t k) const {
    return workspace.registers[program_->roots[k]];
  }
  /// Where store s may take root k of this tile directly; null if it may not.
  std::byte* direct_target(const TileWorkspace& workspace, std::size_t k, std::size_t s,
                           std::int64_t begin, std::int64_t count) const;
  /// Writes a register's elements (in carriers of `dtype`) for those points to store s.
  void store(const TileWorkspace& workspace, std::size_t s, const Register& values, DType dtype,
             std::int64_t begin, std::int64_t count) const;

 private:
  struct Tile;
  void load(const Instruction& instruction, TileWorkspace& workspace, const Tile& tile) const;
  void index(const Instruction& instruction, TileWorkspace& workspace, const Tile& tile) const;
  void check_index(const Instruction& instruction, TileWorkspace& workspace,
                   const Tile& tile) const;
  void philox(const Instruction& instruction, TileWorkspace& workspace, const Tile& tile) const;
  bool may_merge(int outer, int inner) const;
  template <typename F>
  void for_each_row(const Tile& tile, const std::int64_t* strides, F function) const;
  Tile make_tile(std::int64_t begin, std::int64_t count) const;

  const VectorProgram* program_;
  const schedule::Plan* plan_;
  std::vector<Location> locations_;  // loads, then stores
  std::size_t load_count_;
  std::vector<BoundAccess> accesses_;
  std::vector<std::int64_t> uniform_bits_;
  int tile_elements_;

  // The bound space: merged axes, outermost first.
  int rank_ = 1;
  std::int64_t points_ = 0;
  std::int64_t extents_[kMaxAxes] = {};
  std::int64_t axis_origin_[kMaxAxes] = {};  // by axis of the program
  int axis_position_[kMaxAxes] = {};         // by axis of the program: its merged axis, or -1
};

}  // namespace tendon::backends::cpu
