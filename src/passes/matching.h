// Questions that passes ask about expressions.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace tendon::passes {

/// The loads (plain and masked) of an expression, distinct.
std::vector<ir::ExprId> loads(const ir::ExprPool& pool, ir::ExprId root);

/// If the node is a map whose body is one plain load, that load; else kNoExpr.
ir::ExprId as_view(const ir::Graph& graph, const ir::Node& node);

/// Whether the load reads its value in the order in which the iteration space `shape` runs: element
/// number n of the value at point number n (row-major), and both have as many. Then a map over
/// `shape` is elementwise in that value, whatever the two shapes are.
/// With `axes` given: of the first `axes` axes of `shape`, whatever the position along the others.
bool reads_in_order(ir::Graph& graph, ir::ExprId load, const ir::Shape& shape);
bool reads_in_order(ir::Graph& graph, ir::ExprId load, const ir::Shape& shape, std::size_t axes);

/// The positions in a row-major tensor of shape `to` of point number n of iteration space `from`,
/// as expressions over `from`.
std::vector<ir::ExprId> reshaped_positions(ir::ExprPool& pool, const ir::Shape& from,
                                           const ir::Shape& to);

/// What evaluating the expression once costs, roughly in multiply-adds; loads count one each.
struct Cost {
  int operations = 0;
  int heavy = 0;  // exp, sin, division by a variable, ...
  int loads = 0;
  bool gathers = false;  // loads at positions that are loaded themselves
};
Cost cost(const ir::ExprPool& pool, ir::ExprId root);

}  // namespace tendon::passes
