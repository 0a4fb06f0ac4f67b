// softmax(score(q k^T)) v, computed in steps, is attention: no score is stored.
//
// What is matched is what earlier passes leave: a product with everything up to the scores in its
// epilogue, the four loops of softmax, and a product with the values. Steps that round the scores
// or the weights to a half type are left alone, since attention does not round them.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>

#include "ir/dependencies.h"
#include "passes/matching.h"
#include "passes/pass.h"

namespace tendon::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

class AttentionFusion {
 public:
  explicit AttentionFusion(Graph& graph)
      : graph_(graph), readers_(readers(graph)), outputs_(output_values(graph)) {}

  void run() {
    const std::size_t count = graph_.nodes.size();
    for (std::size_t i = 0; i < count; ++i) try_product(static_cast<NodeId>(i));
    for (Node& node : graph_.nodes) {
      if (auto* attention = std::get_if<Attention>(&node.primitive)) drop_zero_bias(*attention);
    }
  }

 private:
  const Map* map_behind(ValueId value) const {
    return std::get_if<Map>(&graph_.producer(value).primitive);
  }

  /// The value's only readers are these nodes: with them it goes.
  bool only_for(ValueId value, std::initializer_list<NodeId> nodes) const {
    const auto index = static_cast<std::size_t>(value);
    if (outputs_[index]) return false;
    for (NodeId reader : readers_[index]) {
      if (std::find(nodes.begin(), nodes.end(), reader) == nodes.end()) return false;
    }
    return true;
  }

  /// The value that a plain load reads, element after element of `shape` (or, of its first `axes`
  /// axes, row after row).
  std::optional<ValueId> read_in_order(ExprId load, const Shape& shape, std::size_t axes) {
    if (graph_.pool.node(load).op != Op::kLoad) return std::nullopt;
    if (!reads_in_order(graph_, load, shape, axes)) return std::nullopt;
    return static_cast<ValueId>(graph_.pool.node(load).payload);
  }

  /// Whether the value is op(`of`) along its last axis.
  bool is_row_reduction(ValueId value, ReduceOp op, ValueId of) {
    const Node& node = graph_.producer(value);
    const auto* reduce = std::get_if<Reduce>(&node.primitive);
    if (reduce == nullptr || reduce->op != op) return false;
    if (!(element_count(reduce->reduced) == graph_.value(of).shape.back())) return false;
    const Shape space = iteration_space(graph_, node);
    return read_in_order(reduce->body, space, space.size()) == std::optional<ValueId>(of);
  }

  /// The values of softmax(x) along the last axis.
  struct Softmax {
    ValueId x = -1, maximum = -1, exponentials = -1, total = -1;
  };
  std::optional<Softmax> match_softmax(ValueId weights) {
    const ExprPool& pool = graph_.pool;
    Softmax found;
    const Map* quotient = map_behind(weights);
    if (quotient == nullptr || pool.node(quotient->body).op != Op::kDivide) return std::nullopt;
    const Shape shape = graph_.value(weights).shape;
    const auto sides = pool.arguments(quotient->body);
    const auto exponentials = read_in_order(sides[0], shape, shape.size());
    const auto total = read_in_order(sides[1], shape, shape.size() - 1);
    if (!exponentials || !total || !is_row_reduction(*total, ReduceOp::kSum, *exponentials))
      return std::nullopt;
    const Map* exponential = map_behind(*exponentials);
    if (exponential == nullptr || pool.node(exponential->body).op != Op::kExp) return std::nullopt;
    const ExprId difference = pool.arguments(exponential->body)[0];
    if (pool.node(difference).op != Op::kSubtract) return std::nullopt;
    const Shape inner = graph_.value(*exponentials).shape;
    const auto terms = pool.arguments(difference);
    const auto x = read_in_order(terms[0], inner, inner.size());
    const auto maximum = read_in_order(terms[1], inner, inner.size() - 1);
    if (!x || !maximum || !is_row_reduction(*maximum, ReduceOp::kMax, *x)) return std::nullopt;
    return Softmax{*x, *maximum, *exponentials, *total};
  }

  /// The node that makes the value, seen through views in order that only lead there.
  NodeId maker_of_scores(ValueId scores) {
    NodeId maker = graph_.value(scores).node;
    for (;;) {
      const ExprId view = as_view(graph_, graph_.node(maker));
      if (view == kNoExpr) return maker;
      const Shape shape = graph_.value(graph_.node(maker).outputs[0]).shape;
      const auto base = read_in_order(view, shape, shape.size());
      if (!base || !only_for(*base, {maker})) return maker;
      maker = graph_.value(*base).node;
    }
  }

  void try_product(NodeId id) {
    const auto* product = std::get_if<Matmul>(&graph_.node(id).primitive);
    if (product == nullptr) return;
    const ValueId weights = graph_.node(id).inputs[0], values = graph_.node(id).inputs[1];
    const Shape shape = graph_.value(weights).shape;
    if (graph_.value(weights).dtype != DType::kFloat32 || shape.size() < 3 ||
        !only_for(weights, {id})) {
      return;
    }
    const auto softmax = match_softmax(weights);
    if (!softmax) return;
    const NodeId divides = graph_.value(weights).node;
    const NodeId exponentiates = graph_.value(softmax->exponentials).node;
    const NodeId sums = graph_.value(softmax->total).node;
    const NodeId compares = graph_.value(softmax->maximum).node;
    if (!only_for(softmax->exponentials, {sums, divides}) || !only_for(softmax->total, {divides}) ||
        !only_for(softmax->maximum, {exponentiates}) ||
        !only_for(softmax->x, {compares, exponentiates})) {
      return;
    }
    const NodeId scores_id = maker_of_scores(softmax->x);
    const Node scores = graph_.node(scores_id);
    const auto* multiplied = std::get_if<Matmul>(&scores.primitive);
    if (multiplied == nullptr || !(graph_.value(scores.outputs[0]).shape == shape) ||
        graph_.value(scores.inputs[0]).dtype != DType::kFloat32) {
      return;
    }
    Attention attention;
    attention.score = multiplied->epilogue;
    take_scale(attention, shape);
    const auto [keys, grouped_values] =
        group_heads(rows_of_keys(scores.inputs[1], scores_id), rows_of(values, id));
    replace(id, attention, {scores.inputs[0], keys, grouped_values});
  }

  /// Moves a factor that the product is always multiplied with out of the scores.
  void take_scale(Attention& attention, const Shape& space) {
    ExprPool& pool = graph_.pool;
    if (attention.score == kNoExpr) return;
    ExprId scaled = kNoExpr;
    for (ExprId id : pool.topological(attention.score)) {
      const auto arguments = pool.arguments(id);
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (pool.node(arguments[i]).op != Op::kAccumulator) continue;
        if (scaled != kNoExpr || !factor_of(id)) return;
        scaled = id;
      }
    }
    if (scaled == kNoExpr) return;
    attention.scale = *factor_of(scaled);
    pool.set_extents(space);
    attention.score = pool.rewrite(
        pool, attention.score,
        [&](const ExprPool&, ExprId id, std::span<const ExprId>) -> std::optional<ExprId> {
          if (id == scaled) return pool.accumulator(DType::kFloat32);
          return std::nullopt;
        });
    if (pool.node(attention.score).op == Op::kAccumulator) attention.score = kNoExpr;
  }

  /// Adding zero to a score (a mask that hides nothing) changes no weight.
  void drop_zero_bias(Attention& attention) const {
    const ExprPool& pool = graph_.pool;
    ExprId& score = attention.score;
    while (score != kNoExpr && pool.node(score).op == Op::kAdd) {
      const auto terms = pool.arguments(score);
      if (pool.as_number(terms[1]) == 0.0) {
        score = terms[0];
      } else if (pool.as_number(terms[0]) == 0.0) {
        score = terms[1];
      } else {
        return;
      }
    }
    if (score != kNoExpr && pool.node(score).op == Op::kAccumulator) score = kNoExpr;
  }

  /// accumulator * c, or accumulator / c where 1 / c is as exact: that factor.
  std::optional<double> factor_of(ExprId id) const {
    const ExprPool& pool = graph_.pool;
    const Op op = pool.node(id).op;
    if (op != Op::kMultiply && op != Op::kDivide) return std::nullopt;
    const auto sides = pool.arguments(id);
    if (op == Op::kDivide) {
      const auto divisor = pool.as_number(sides[1]);
      int exponent = 0;
      if (!divisor || std::abs(std::frexp(*divisor, &exponent)) != 0.5) return std::nullopt;
      return 1 / *divisor;
    }
    const auto left = pool.as_number(sides[0]);
    return left ? left : pool.as_number(sides[1]);
  }

  /// Keys or values to be: a body over [batch..., heads, length, width].
  struct Rows {
    Shape shape;
    ExprId body = kNoExpr;
    std::int32_t origin = -1;
    ValueId value = -1;  // where they exist already
  };

  /// What a product reads as its right side: a view of something, or something made for it alone,
  /// is read where it comes from.
  ExprId body_of(ValueId value, NodeId reader, std::span<const ExprId> positions) {
    const Node& producer = graph_.producer(value);
    const Map* map = map_behind(value);
    if (map != nullptr && (as_view(graph_, producer) != kNoExpr || only_for(value, {reader})))
      return graph_.pool.substitute_indices(graph_.pool, map->body, positions);
    return graph_.pool.load(value, graph_.value(value).dtype, positions);
  }

  Rows rows_of(ValueId value, NodeId reader) {
    Rows rows{graph_.value(value).shape, kNoExpr, graph_.producer(value).origin, value};
    graph_.pool.set_extents(rows.shape);
    rows.body = body_of(value, reader, own_positions(rows.shape.size()));
    return rows;
  }

  /// Keys come as columns.
  Rows rows_of_keys(ValueId value, NodeId reader) {
    Rows rows{graph_.value(value).shape, kNoExpr, graph_.producer(value).origin};
    const std::size_t rank = rows.shape.size();
    std::swap(rows.shape[rank - 2], rows.shape[rank - 1]);
    graph_.pool.set_extents(rows.shape);
    std::vector<ExprId> positions = own_positions(rank);
    std::swap(positions[rank - 2], positions[rank - 1]);
    rows.body = body_of(value, reader, positions);
    return rows;
  }

  std::vector<ExprId> own_positions(std::size_t rank) {
    std::vector<ExprId> positions;
    for (std::size_t i = 0; i < rank; ++i)
      positions.push_back(graph_.pool.index(static_cast<int>(i)));
    return positions;
  }

  /// Keys and values with one head where `repeats` equal ones follow each other; nothing if they
  /// differ.
  std::optional<Rows> without_repeats(const Rows& rows, std::int64_t repeats) {
    ExprPool& pool = graph_.pool;
    const std::size_t rank = rows.shape.size(), heads = rank - 3;
    const auto groups = divide_exactly(rows.shape[heads], repeats);
    if (!groups) return std::nullopt;
    Rows result{rows.shape, kNoExpr, rows.origin};
    result.shape[heads] = *groups;
    Shape extents = result.shape;
    extents.emplace_back(repeats);
    pool.set_extents(extents);
    std::vector<ExprId> positions = own_positions(rank);
    const ExprId copy = pool.index(static_cast<int>(rank));
    positions[heads] = pool.binary(
        Op::kAdd,
        pool.binary(Op::kMultiply, positions[heads], pool.constant(DType::kInt64, repeats)), copy);
    result.body = pool.substitute_indices(pool, rows.body, positions);
    for (ExprId id : pool.topological(result.body)) {
      if (id == copy) return std::nullopt;
    }
    return result;
  }

  std::pair<ValueId, ValueId> group_heads(Rows keys, Rows values) {
    const ExprPool& pool = graph_.pool;
    const auto heads = static_cast<std::int64_t>(keys.shape.size()) - 3;
    // Heads are repeated as floor(head / repeats).
    for (ExprId id : pool.topological(keys.body)) {
      if (pool.node(id).op != Op::kFloorDivide) continue;
      const auto sides = pool.arguments(id);
      const ExprNode& dividend = pool.node(sides[0]);
      const auto repeats = pool.as_integer(sides[1]);
      if (dividend.op != Op::kIndex || dividend.payload != heads || !repeats || *repeats < 2)
        continue;
      const auto fewer_keys = without_repeats(keys, *repeats);
      const auto fewer_values = without_repeats(values, *repeats);
      if (!fewer_keys || !fewer_values) continue;
      return {add(*fewer_keys), add(*fewer_values)};
    }
    return {add(keys), add(values)};
  }

  ValueId add(const Rows& rows) {
    if (rows.value >= 0) return rows.value;
    const NodeId id = graph_.add(Map{rows.body}, {}, {{DType::kFloat32, rows.shape}}, rows.origin);
    return graph_.node(id).outputs[0];
  }

  /// The product with the values becomes the attention, or, if it has an epilogue, what follows it.
  void replace(NodeId id, const Attention& attention, std::vector<ValueId> inputs) {
    ExprPool& pool = graph_.pool;
    const ExprId epilogue = std::get<Matmul>(graph_.node(id).primitive).epilogue;
    if (epilogue == kNoExpr) {
      Node& node = graph_.nodes[static_cast<std::size_t>(id)];
      node.primitive = attention;
      node.inputs = std::move(inputs);
      return;
    }
    const Shape shape = graph_.value(graph_.node(id).outputs[0]).shape;
    const NodeId fresh = graph_.add(attention, std::move(inputs), {{DType::kFloat32, shape}},
                                    graph_.node(id).origin);
    pool.set_extents(shape);
    const ExprId result =
        pool.load(graph_.node(fresh).outputs[0], DType::kFloat32, own_positions(shape.size()));
    const ExprId body = pool.rewrite(
        pool, epilogue,
        [&](const ExprPool&, ExprId at, std::span<const ExprId>) -> std::optional<ExprId> {
          if (pool.node(at).op == Op::kAccumulator) return result;
          return std::nullopt;
        });
    Node& node = graph_.nodes[static_cast<std::size_t>(id)];
    node.primitive = Map{body};
    node.inputs.clear();
  }

  Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> outputs_;
};

}  // namespace

void fuse_attention(Graph& graph) { AttentionFusion(graph).run(); }

}  // namespace tendon::passes
