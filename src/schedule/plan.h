// What the scheduler hands to a backend: kernels in order, and the memory they work on. Plain data,
// printable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph.h"

namespace tendon::schedule {

using BufferId = std::int32_t;
inline constexpr BufferId kNoBuffer = -1;

/// A piece of memory. Elements lie dense in `dim_order` (axes from slowest to fastest).
struct Buffer {
  enum class Kind : std::uint8_t {
    kArena,     // intermediate, at arena_offset for the steps [first_step, last_step]
    kConstant,  // entry `index` of the constant table; strides are the constant's own
    kInput,     // user input `index`, made dense and row-major by the runtime
    kState,     // mutable buffer `index`: the value before this run
    kOutput,    // user output `index`
  };
  Kind kind = Kind::kArena;
  int index = 0;
  DType dtype = DType::kFloat32;  // never complex
  ir::Shape shape;
  ir::Shape strides;  // elements, one per axis
  std::vector<int> dim_order;
  /// Bytes at the upper bound of the shape; empty where there is none.
  std::optional<std::int64_t> bound_bytes;
  std::int64_t arena_offset = 0;
  int first_step = 0, last_step = 0;
};

/// Where a value's elements are: element [i...] of the value is element offset + sum(i * strides)
/// of the buffer. Values that only live inside one kernel have no buffer.
struct Storage {
  BufferId buffer = kNoBuffer;
  ir::Size offset;
  ir::Shape strides;
};

/// Fused maps and reductions over common outer axes. For every point of `outer` (in parallel, in
/// any order), each node in turn runs over its inner axes: a map computes body(outer..., inner...),
/// a reduction reduces body over inner. A later node may read an earlier one's value at the same
/// outer point (at any inner position): such values may be local (without a buffer).
struct LoopNode {
  ir::ValueId value = -1;
  ir::ValueId second = -1;             // the second output of Moments
  std::optional<ir::ReduceOp> reduce;  // nothing: a map
  ir::Shape inner;
  ir::ExprId body = ir::kNoExpr;
};
struct LoopKernel {
  ir::Shape outer;
  std::vector<LoopNode> nodes;
};

/// Any other primitive: the graph's node itself (its expressions hold whatever was fused into it).
struct NodeKernel {
  ir::NodeId node = -1;
};

struct Step {
  std::variant<LoopKernel, NodeKernel> kernel;
  std::int32_t origin = -1;                // into Graph::origins
  std::vector<ir::ValueId> reads, writes;  // values with a buffer
};

struct Plan {
  /// Owns the expressions; kernels refer to its values and nodes.
  std::shared_ptr<const ir::Graph> graph;
  std::vector<Buffer> buffers;
  std::vector<Storage> storage;  // by ValueId
  std::vector<Step> steps;
  /// Bytes of the arena at the upper bounds; empty where a buffer has no bound.
  std::optional<std::int64_t> arena_bytes;
  /// Plans of sub-graphs, by graph.
  std::vector<std::pair<const ir::Graph*, std::shared_ptr<const Plan>>> subplans;

  std::string to_string() const;
};

}  // namespace tendon::schedule
