// Expressions per element: the bodies of maps, reductions, scatters and epilogues.
//
// An expression is a directed acyclic graph of scalar operations, hash-consed in a pool: equal
// expressions have equal ids. `index(k)` is the position along axis k of the iteration space of the
// node that holds the expression; `load` reads one element of a value of the graph at computed
// positions. Index arithmetic is int64. Building an expression simplifies it (constants fold, x * 1
// is x, affine index arithmetic with known ranges loses its divisions), so that composing views
// leaves plain affine positions.
//
// Types: the operands of a binary operation have one dtype; the result of a comparison is bool.
// Arithmetic is done in float32, float64, int8..int64, uint8..uint64 or bool; float16 and bfloat16
// appear only as the dtype of loads, constants and casts (arithmetic on them is done in float32 and
// rounded by a cast). Integer arithmetic wraps. Complex numbers do not exist here: a complex tensor
// is a real one with a last axis of size 2.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/op.h"
#include "ir/size.h"
#include "ir/stable_vector.h"
#include "tendon/dtype.h"

namespace tendon::ir {

/// "add", "load", ...
std::string_view op_name(Op op);

using ExprId = std::int32_t;
using ValueId = std::int32_t;
inline constexpr ExprId kNoExpr = -1;

/// kCheckIndex wraps a negative position once (if `wrap`), records an OutOfRange error with this
/// message ({index} and {size} replaced; {index} is the position before wrapping) if it then lies
/// outside [0, size), and gives a position inside [0, size) in any case (0 on error).
struct IndexCheck {
  Size size;
  bool wrap = true;
  std::string message = "index {index} is out of bounds for dimension with size {size}";
  friend bool operator==(const IndexCheck&, const IndexCheck&) = default;
};

struct ExprNode {
  Op op = Op::kConstant;
  DType dtype = DType::kFloat32;
  std::uint16_t argument_count = 0;
  std::int32_t first_argument = 0;  // into the pool's argument list
  /// kConstant: the value (bits of a double for floating types, the int64 itself for integers and
  /// bool); kIndex: the axis; kSize: index into sizes; kLoad, kMaskedLoad: the ValueId;
  /// kCheckIndex: index into checks.
  std::int64_t payload = 0;
};

class ExprPool {
 public:
  /// Constants take PyTorch's cast to `dtype`.
  ExprId constant(DType dtype, double value);
  ExprId constant(DType dtype, std::int64_t value);
  ExprId index(int axis);
  ExprId size(const Size& size);
  ExprId load(ValueId value, DType dtype, std::span<const ExprId> positions);
  /// Becomes a plain load if the mask is constant true, and 0 if it is constant false.
  ExprId masked_load(ValueId value, DType dtype, ExprId mask, std::span<const ExprId> positions);
  ExprId accumulator(DType dtype);
  ExprId cast(DType dtype, ExprId a);
  ExprId bitcast(DType dtype, ExprId a);
  ExprId unary(Op op, ExprId a);
  ExprId binary(Op op, ExprId a, ExprId b);
  ExprId select(ExprId condition, ExprId then_value, ExprId else_value);
  ExprId check_index(ExprId position, const IndexCheck& check);
  ExprId philox(ExprId seed, ExprId stream, ExprId counter);

  const ExprNode& node(ExprId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  DType dtype(ExprId id) const { return node(id).dtype; }
  std::span<const ExprId> arguments(ExprId id) const;
  /// Of a kSize node.
  const Size& size_of(ExprId id) const;
  /// Of a kCheckIndex node.
  const IndexCheck& check_of(ExprId id) const;
  std::optional<std::int64_t> as_integer(ExprId id) const;  // an integer or bool constant's value
  std::optional<double> as_number(ExprId id) const;         // any constant's value
  std::int32_t node_count() const { return static_cast<std::int32_t>(nodes_.size()); }

  /// The extents that index(k) runs over while a body is built: index(k) lies in [0, extents[k]).
  /// Simplification uses them, so set them before building a body, and build it whole before the
  /// next. (Ids stay meaningful afterwards; only simplifications depend on extents.)
  void set_extents(std::span<const Size> extents) {
    extents_.assign(extents.begin(), extents.end());
  }
  std::span<const Size> extents() const { return extents_; }
  /// Smallest and largest value of an int64 expression under the current extents.
  Bounds bounds(ExprId id) const;

  /// Copies `root` of `from` (this pool or another) into this one, bottom up, simplifying as it
  /// goes. `replace` sees every distinct node with its rebuilt arguments and may return an id of
  /// this pool to stand for it.
  using Replace = std::function<std::optional<ExprId>(const ExprPool& from, ExprId id,
                                                      std::span<const ExprId> rebuilt_arguments)>;
  ExprId rewrite(const ExprPool& from, ExprId root, const Replace& replace);
  /// `root` with index(k) replaced by positions[k], and every load masked with `mask` as well
  /// (kNoExpr: no mask). Loads inside index positions are masked too.
  ExprId substitute_indices(const ExprPool& from, ExprId root, std::span<const ExprId> positions,
                            ExprId mask = kNoExpr);

  /// Every distinct node reachable from root, arguments before users.
  std::vector<ExprId> topological(ExprId root) const;

  /// "add(load(%3, i0, i1), 1)".
  std::string to_string(ExprId id) const;

  /// An affine form of an int64 expression: constant + sum of coefficient * term, where a term is
  /// an index node or any other int64 node that is not a sum, difference, size or product with a
  /// size.
  struct AffineTerm {
    ExprId term = kNoExpr;
    Size coefficient;
  };
  struct Affine {
    Size constant;
    std::vector<AffineTerm> terms;  // sorted by term id, no zero coefficients
  };
  Affine affine(ExprId id) const;
  ExprId from_affine(const Affine& affine);

 private:
  friend class ExprRules;
  ExprId intern(Op op, DType dtype, std::span<const ExprId> arguments, std::int64_t payload);
  ExprId find(Op op, DType dtype, std::span<const ExprId> arguments, std::int64_t payload) const;
  std::size_t find_slot(std::uint32_t hash, Op op, DType dtype, std::span<const ExprId> arguments,
                        std::int64_t payload) const;
  void grow_table();

  // References and spans into the pool stay valid while it grows: rewriting code holds them.
  StableVector<ExprNode, 10> nodes_;
  StableVector<ExprId, 16> argument_list_;  // chunks hold any node's arguments
  std::deque<Size> sizes_;
  std::deque<IndexCheck> checks_;
  std::vector<Size> extents_;
  // Hash consing: open addressing over node hashes; looked up, never iterated.
  std::vector<std::uint32_t> hashes_;
  std::vector<ExprId> table_;
  std::unordered_multimap<std::size_t, std::int32_t> size_numbers_;
  std::unordered_multimap<std::size_t, std::int32_t> check_numbers_;
};

}  // namespace tendon::ir
