// The tensor graph: a closed set of primitives over immutable values (static single assignment).
//
// Views, slices, permutes, pads and gathers are maps whose body is a load at computed positions.
// Nodes are in topological order. Every value is dense and row-major as far as this graph is
// concerned; memory layout is decided later.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/expr.h"
#include "ir/size.h"
#include "tendon/dtype.h"

namespace tendon::ir {

using NodeId = std::int32_t;

struct Value {
  DType dtype = DType::kFloat32;  // never complex
  Shape shape;
  NodeId node = -1;
  int output = 0;  // which output of the node
};

class Graph;

/// A user input: number `index` of the program's flattened tensor inputs (of a sub-graph: its
/// operands).
struct Input {
  int index = 0;
};
/// Entry `index` of the program's constant table (weights, buffers nobody writes).
struct Constant {
  int index = 0;
};
/// Entry `index` of the program's table of mutable buffers: the value before this run.
struct State {
  int index = 0;
};

/// out[i...] = body(i...) for every i in the output's shape.
struct Map {
  ExprId body = kNoExpr;
};

enum class ReduceOp : std::uint8_t {
  kSum,
  kProduct,
  kMin,
  kMax,
  kAny,
  kAll,
  kArgMin,
  kArgMax,
  kMoments,
};
/// out[i...] = op over r of body(i..., r...), where index(k) with k >= rank of the output runs over
/// the reduced axes. Min and max: NaN wins. ArgMin/ArgMax: int64, the row-major position among the
/// reduced axes of the first extreme element (NaN is the most extreme). Moments has two outputs:
/// the mean, and the sum of squared deviations from it. Sums and products are accumulated in the
/// body's dtype, which is the output's (lowerings cast half types to float32 before and back
/// after). Empty reductions give the neutral element (min, max: infinity or the type's extreme;
/// moments: NaN, 0).
struct Reduce {
  ReduceOp op = ReduceOp::kSum;
  Shape reduced;
  ExprId body = kNoExpr;
};

enum class ScanOp : std::uint8_t { kSum, kProduct, kMax, kMin, kLogSumExp };
/// Inclusive prefix operation of body along `axis` of the output's shape. Max and Min have a second
/// output: int64 position along the axis of the latest extreme element (>=, NaN wins; as PyTorch's
/// cummax).
struct Scan {
  ScanOp op = ScanOp::kSum;
  int axis = 0;
  ExprId body = kNoExpr;
};

/// Inputs: a [batch..., m, k] and b [batch..., k, n] with the same batch axes and dtype; output
/// [batch..., m, n]. Half types and float32 accumulate in float32, float64 in float64, integers
/// wrap. The epilogue (kNoExpr: none) is an expression over the output's axes that sees the product
/// through accumulator() (float32 for half types) and gives the stored element, of the output's
/// dtype.
struct Matmul {
  ExprId epilogue = kNoExpr;
};

/// Inputs: x [n, c, spatial...] and weight [o, c/groups, window...] (transposed: [c, o/groups,
/// window...]); output [n, o, spatial...]. Zero padding per side; with `transposed`, padding is
/// what is cut off the full output (padding_after already less output_padding; may be negative).
/// Epilogue as for Matmul.
struct Conv {
  std::vector<std::int64_t> stride, dilation;
  Shape padding_before, padding_after;
  std::int64_t groups = 1;
  bool transposed = false;
  ExprId epilogue = kNoExpr;
};

/// Inputs: q [b..., h, l, d], k [b..., g, s, d], v [b..., g, s, e] with h a multiple of g (query
/// head i uses group i / (h/g)); output [b..., h, l, e] = softmax(scale * q k^T) v, computed in
/// float32 (float64 for float64). `score` is an expression of that type over [b..., h, l, s] that
/// sees scale * q k^T through accumulator() and gives what softmax is taken of (kNoExpr: the
/// product itself): biases, masks, caps. Minus infinity masks. `causal` masks s > l +
/// causal_offset. A row that is masked whole gives NaN, or 0 if `zero_masked_rows`.
struct Attention {
  double scale = 1.0;
  bool causal = false;
  Size causal_offset = 0;
  bool zero_masked_rows = false;
  ExprId score = kNoExpr;
};

/// Input: any tensor of rank >= 1. Outputs: values sorted along `axis` (stable), int64 positions.
/// NaN sorts as the largest.
struct Sort {
  int axis = 0;
  bool descending = false;
  bool stable = true;  // false: a backend may order equal elements as it likes
  bool operator==(const Sort&) const = default;
};
/// Outputs: the k largest (smallest) values along the axis, and their int64 positions.
struct TopK {
  int axis = 0;
  bool largest = true;
  Size k;
  bool sorted = true;  // false: a backend may leave them in any order
  bool operator==(const TopK&) const = default;
};

/// Input: a bool tensor. Output: int64 [count], the row-major flat positions of its true elements
/// in order. `count` is a symbol from data that this node defines.
struct Compact {
  SymbolRef count;
};

enum class ScatterOp : std::uint8_t { kAssign, kAdd, kMultiply, kMin, kMax };
/// Starts from a copy of input 0 and, for every point of `domain` in row-major order where `mask`
/// is true (kNoExpr: everywhere), combines element [positions...] with `value`: the last assignment
/// wins, sums are made in order. Every step is rounded to the dtype; with `float32_accumulation`
/// (half types) the increments of an element are summed in float32 in order, added to it and
/// rounded once.
struct Scatter {
  ScatterOp op = ScatterOp::kAssign;
  Shape domain;
  std::vector<ExprId> positions;  // one per axis of input 0, in range (use kCheckIndex)
  ExprId value = kNoExpr;         // of input 0's dtype
  ExprId mask = kNoExpr;
  bool float32_accumulation = false;
};

/// Input: a 0-d integer or bool tensor. Defines `symbol` as its value; no outputs.
struct Item {
  SymbolRef symbol;
};
/// Fails the run (Aborted) with `message` where the condition does not hold: a Size (0 or 1), or if
/// there is none, input 0, a 0-d bool tensor. No outputs.
struct Assert {
  std::optional<Size> condition;
  std::string message;
};

/// Inputs: a 0-d bool tensor (absent if `condition` is given), then the operands. Both graphs take
/// the operands as their inputs and give the outputs.
struct Branch {
  std::optional<Size> condition;
  std::shared_ptr<const Graph> then_graph, else_graph;
};
/// Inputs: carried values, then additional ones. while condition(carried, additional) (a 0-d bool):
/// carried = body(carried, additional). Outputs: carried.
struct While {
  std::shared_ptr<const Graph> condition, body;
  int carried = 0;
};
/// Inputs: carried values, values iterated along axis 0, additional ones. for t in [0, length):
/// (carried, slice) = body(carried, iterated[t], additional). Outputs: carried, then the slices
/// stacked along axis 0.
struct Loop {
  std::shared_ptr<const Graph> body;
  int carried = 0;
  int iterated = 0;
  Size length;
};

using Primitive = std::variant<Input, Constant, State, Map, Reduce, Scan, Matmul, Conv, Attention,
                               Sort, TopK, Compact, Scatter, Item, Assert, Branch, While, Loop>;

struct Node {
  Primitive primitive;
  std::vector<ValueId> inputs;  // operands that are not read by an expression
  std::vector<ValueId> outputs;
  std::int32_t origin = -1;  // into Graph::origins: which exported node asked for it
};

/// What happens with a value when the run is over.
struct GraphOutput {
  enum class Kind : std::uint8_t { kUser, kState, kInput };
  Kind kind = Kind::kUser;  // returned; written to a mutable buffer; written to a user input
  ValueId value = -1;
  int index = 0;  // number of the user output, buffer or input
  /// Axes from slowest to fastest in memory; empty: row-major.
  std::vector<int> dim_order;
};

class Graph {
 public:
  ExprPool pool;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;  // the values of Input nodes, by index
  std::vector<GraphOutput> outputs;
  std::vector<std::string> origins;  // "aten.linear.default (linear_3)"

  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes[static_cast<std::size_t>(id)]; }
  const Node& producer(ValueId id) const { return node(value(id).node); }

  /// Appends a node whose outputs have the given types; returns its id.
  NodeId add(Primitive primitive, std::vector<ValueId> inputs,
             std::vector<std::pair<DType, Shape>> outputs, std::int32_t origin = -1);

  /// One line a node: "%5: float32[s0, 96] = map relu... ".
  std::string to_string() const;
};

/// "map", "reduce", ...
std::string_view primitive_name(const Primitive& primitive);
/// The node's expressions (bodies, positions, values, masks, biases, epilogues): for code that
/// treats them all alike. Pointers into the node.
std::vector<ExprId*> expressions(Node& node);
std::vector<ExprId> expressions(const Node& node);
/// The extents that index(k) of the node's expressions runs over.
Shape iteration_space(const Graph& graph, const Node& node);
/// Every value the node reads: inputs, then loads of its expressions; each once, in that order.
std::vector<ValueId> operands(const Graph& graph, const Node& node);
/// Every Size in the node that run time needs, other than the shapes of its outputs.
std::vector<Size> sizes(const Graph& graph, const Node& node);
/// Nothing, or what is wrong with the graph (types, ranks, order, axes out of the iteration space).
std::optional<std::string> verify(const Graph& graph);

}  // namespace tendon::ir
