// Builds the tensor graph of a program: tensors and expressions for lowerings to write with.
//
// A lowering says what an operator means: it takes Tensors and gives Tensors made with a Builder.
// The builder composes views into the loads that read them and returns an existing value where the
// same one has been built before. A lowering that cannot go on throws Unsupported (or
// InvalidProgram); lower.cpp catches both, node by node. No other exception leaves or enters this
// folder.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "tendon/dtype.h"

namespace tendon::aten {

using ir::ExprId;
using ir::Op;
using ir::ReduceOp;
using ir::Shape;
using ir::Size;

/// The operator exists but this use of it is not supported; the message completes "aten.x.y: ".
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// PyTorch would refuse this program; the message is PyTorch's where it has one.
struct InvalidProgram : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A value of the graph under construction, as the program sees it. A complex tensor is a graph
/// value with one more axis, of size 2, at the end; `shape` leaves that axis out.
struct Tensor {
  ir::ValueId value = -1;
  DType dtype = DType::kFloat32;
  Shape shape;

  int rank() const { return static_cast<int>(shape.size()); }
  bool complex() const { return is_complex(dtype); }
  /// `axis` may be negative.
  const Size& size(int axis) const {
    return shape[static_cast<std::size_t>(axis < 0 ? axis + rank() : axis)];
  }
  /// The type of the graph value: float32 for complex64.
  DType component() const { return is_complex(dtype) ? complex_component(dtype) : dtype; }
};

/// A Python number as an operator's argument: known, symbolic, or (item() of a float tensor) a 0-d
/// tensor.
using Scalar = std::variant<bool, std::int64_t, double, std::complex<double>, Size, Tensor>;

class Builder;

/// An expression of the body that is being built. Operators need equal dtypes on both sides; plain
/// numbers take the other side's dtype.
struct Expr {
  Builder* builder = nullptr;
  ExprId id = ir::kNoExpr;
  DType dtype() const;
};
template <typename T>
concept Number = std::is_arithmetic_v<T>;

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
/// Floats only; integers use floor_divide or trunc_divide.
Expr operator/(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Expr b);
Expr operator&&(Expr a, Expr b);  // bool
Expr operator||(Expr a, Expr b);  // bool
Expr operator!(Expr a);           // bool
Expr unary(Op op, Expr a);
Expr binary(Op op, Expr a, Expr b);
Expr select(Expr condition, Expr then_value, Expr else_value);
Expr cast(DType dtype, Expr a);
/// A constant of a's dtype.
Expr like(Expr a, double value);
Expr like(Expr a, std::int64_t value);
inline Expr like(Expr a, int value) { return like(a, static_cast<std::int64_t>(value)); }
template <Number T>
Expr like_number(Expr a, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return like(a, static_cast<double>(value));
  } else {
    return like(a, static_cast<std::int64_t>(value));
  }
}
#define TENDON_NUMBER_OPERATOR(op) \
  template <Number T>              \
  Expr operator op(Expr a, T b) {  \
    return a op like_number(a, b); \
  }                                \
  template <Number T>              \
  Expr operator op(T a, Expr b) {  \
    return like_number(b, a) op b; \
  }
TENDON_NUMBER_OPERATOR(+)
TENDON_NUMBER_OPERATOR(-)
TENDON_NUMBER_OPERATOR(*)
TENDON_NUMBER_OPERATOR(/)
TENDON_NUMBER_OPERATOR(<)
TENDON_NUMBER_OPERATOR(<=)
TENDON_NUMBER_OPERATOR(>)
TENDON_NUMBER_OPERATOR(>=)
TENDON_NUMBER_OPERATOR(==)
TENDON_NUMBER_OPERATOR(!=)
#undef TENDON_NUMBER_OPERATOR
Expr minimum(Expr a, Expr b);
Expr maximum(Expr a, Expr b);
Expr floor_divide(Expr a, Expr b);
Expr remainder(Expr a, Expr b);

using Indices = std::vector<Expr>;

/// How a view's elements lie in its base: the whole meaning of a view operator. Index functions
/// work on the axes of the shapes given here (for complex tensors the pair axis is handled by the
/// builder).
struct View {
  Shape shape;
  /// Position in the base of the view's element at `index`.
  std::function<Indices(Builder&, const Indices& index)> forward;
  /// For the base's element at `index`: is it in the view (bool), and where (meaningful only if
  /// so). Empty: the view cannot be written through.
  struct Preimage {
    Expr inside;
    Indices index;
  };
  std::function<Preimage(Builder&, const Indices& index)> inverse;
  /// Set where the view also changes the dtype.
  std::optional<DType> dtype;
};

/// Lets the lowering ask for an index check with PyTorch's words.
struct CheckOptions {
  bool wrap = true;
  std::string message;  // empty: IndexCheck's default
};

class Builder {
 public:
  explicit Builder(ir::Graph& graph) : graph_(graph) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  ir::Graph& graph() { return graph_; }
  ir::ExprPool& pool() { return graph_.pool; }

  // ---- Expressions, inside a body.
  Expr expr(ExprId id) { return Expr{this, id}; }
  Expr constant(DType dtype, double value) { return expr(pool().constant(dtype, value)); }
  Expr constant(DType dtype, std::int64_t value) { return expr(pool().constant(dtype, value)); }
  Expr constant(DType dtype, int value) { return constant(dtype, std::int64_t{value}); }
  Expr truth(bool value) { return constant(DType::kBool, std::int64_t{value}); }
  Expr size(const Size& size) { return expr(pool().size(size)); }
  /// A scalar as an expression of a real dtype, by PyTorch's conversion.
  Expr scalar(const Scalar& value, DType dtype);
  /// The element of a real tensor; one position per axis.
  Expr load(const Tensor& tensor, const Indices& positions);
  /// 0 (false) where the mask is false.
  Expr masked_load(const Tensor& tensor, Expr mask, const Indices& positions);
  /// The element of a tensor that broadcasts to the iteration space of `index` (right-aligned,
  /// size-1 axes stretch).
  Expr load_broadcast(const Tensor& tensor, const Indices& index);
  Expr check_index(Expr position, const Size& size, const CheckOptions& options = {});
  /// 32 random bits as int64 in [0, 2^32) for this element of a random operator; see random_stream.
  Expr random_bits(std::int64_t stream, Expr counter);

  // ---- Primitives. Bodies see one index expression per axis of the iteration space.
  using Body = std::function<Expr(const Indices& index)>;
  /// Real tensors. The body's dtype is the tensor's.
  Tensor map(const Shape& shape, const Body& body);
  /// Reduces over `reduced` extra axes: the body sees the axes of `shape`, then those of `reduced`.
  Tensor reduce(ReduceOp op, const Shape& shape, const Shape& reduced, const Body& body);
  /// Mean and sum of squared deviations.
  std::pair<Tensor, Tensor> moments(const Shape& shape, const Shape& reduced, const Body& body);
  /// Values, and positions for kMax and kMin.
  std::vector<Tensor> scan(ir::ScanOp op, int axis, const Shape& shape, const Body& body);
  /// a [batch..., m, k] by b [batch..., k, n]; batch axes equal.
  Tensor matmul(const Tensor& a, const Tensor& b);
  Tensor conv(const Tensor& x, const Tensor& weight, ir::Conv attributes, const Shape& shape);
  /// `bias` is added to the scores; it may be empty.
  Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, ir::Attention attributes,
                   const Body& bias);
  std::pair<Tensor, Tensor> sort(const Tensor& x, int axis, bool descending, bool stable = true);
  std::pair<Tensor, Tensor> top_k(const Tensor& x, int axis, bool largest, const Size& k,
                                  bool sorted = true);
  /// Flat positions of the true elements of a bool tensor; the result's size is a fresh data symbol
  /// bounded by the element count, which also replaces `expected` (export's name for it) from now
  /// on.
  Tensor compact(const Tensor& mask, const std::optional<Size>& expected);
  /// See ir::Scatter. `body` gives positions (one per axis of `base`), value and optional mask.
  struct ScatterPoint {
    Indices positions;
    Expr value;
    std::optional<Expr> mask;
  };
  Tensor scatter(ir::ScatterOp op, const Tensor& base, const Shape& domain,
                 const std::function<ScatterPoint(const Indices& index)>& body,
                 bool float32_accumulation = false);
  /// The number in a 0-d integer or bool tensor as a size: a fresh data symbol with these bounds,
  /// which also replaces `expected` from now on.
  Size item(const Tensor& tensor, const std::optional<Size>& expected);
  /// Fails the run where the condition is false; nothing is added if it is provably true.
  void assert_size(const Size& condition, const std::string& message);
  /// Drops later assertions of this condition: for what export asserts and is wrong about.
  void disbelieve(const Size& condition) { disbelieved_.push_back(condition); }
  void assert_tensor(const Tensor& condition, const std::string& message);
  /// Any primitive, for lowerings with sub-graphs. Outputs are real tensors.
  std::vector<Tensor> add(ir::Primitive primitive, const std::vector<Tensor>& inputs,
                          const std::vector<std::pair<DType, Shape>>& outputs);

  // ---- Views.
  Tensor read_view(const Tensor& base, const View& view);
  /// `base` after the view's elements have become `updated` (same shape as the view; cast to base's
  /// dtype).
  Tensor write_view(const Tensor& base, const View& view, const Tensor& updated);

  // ---- Symbols and random numbers.
  /// Sizes as the program says them, with data symbols replaced by the builder's own.
  Size resolve(const Size& size) const;
  Shape resolve(std::span<const Size> shape) const;
  void replace_symbol(const ir::Symbol* symbol, Size replacement);
  /// A new number for every random operator.
  std::int64_t random_stream() { return random_streams_++; }
  bool uses_random() const { return random_streams_ > 0; }
  /// The int64 [2] state (seed, calls so far) that random_bits reads; set by lower.cpp.
  std::function<Tensor()> random_state;

  /// Distinguishes the symbols of sub-graphs from those of the graph around them.
  std::string name_prefix;

  /// Which exported node is being lowered; recorded in the graph's nodes.
  void set_origin(std::int32_t origin) { origin_ = origin; }

 private:
  friend struct Expr;
  ir::NodeId add_node(ir::Primitive primitive, std::vector<ir::ValueId> inputs,
                      std::vector<std::pair<DType, Shape>> outputs);
  Tensor tensor_of(ir::ValueId value) const;
  Indices begin_body(const Shape& extents);
  ir::SymbolRef fresh_symbol(const std::optional<Size>& expected, std::int64_t lower,
                             std::int64_t upper);

  ir::Graph& graph_;
  std::vector<Size> disbelieved_;
  std::int32_t origin_ = -1;
  std::int64_t random_streams_ = 0;
  int fresh_symbols_ = 0;
  std::vector<std::pair<ir::ValueId, ir::ValueId>> compacted_;  // mask, positions
  std::vector<std::pair<ir::ValueId, Size>> items_;
  std::unordered_map<const ir::Symbol*, Size> replacements_;
  std::unordered_multimap<std::size_t, ir::NodeId> nodes_by_hash_;  // looked up, never iterated
};

}  // namespace tendon::aten
