// Stores through computed positions, for real, complex and bool tensors alike.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "aten/builder.h"
#include "aten/index_tools.h"

namespace tendon::aten {

/// What a scatter stores, and where: one point for every index of a domain.
struct ScatterPlan {
  Shape domain;
  /// Position in the target; one per axis of it.
  Positions target;
  Tensor source;
  /// Position in the source; it has the target's dtype.
  Positions source_position;
  /// Points that take part; null: all.
  std::function<Expr(const Indices& index)> mask = nullptr;
};

/// How half types are summed and multiplied: rounded at every step, or once at the end.
enum class HalfRounding { kEveryStep, kOnce };

/// `target` with the points stored or combined in row-major order of the domain. On bool, adding is
/// "or" and multiplying "and".
Tensor scatter_plan(Builder& b, ir::ScatterOp op, const Tensor& target, const ScatterPlan& plan,
                    HalfRounding rounding = HalfRounding::kEveryStep);

/// An element of an index tensor as a checked position (not wrapped) along an axis.
Expr checked_element(Builder& b, const Tensor& index, const Indices& at, const Size& size,
                     const std::string& message, bool wrap = false);

/// The common ways of combining more than one source element into one.
enum class Reduction { kSum, kProduct, kMean, kMax, kMin };

/// Reduces the plan's points into `target`; without `include_self`, elements of the target that any
/// point hits count only through those points.
Tensor scatter_reduction(Builder& b, Reduction reduction, const Tensor& target,
                         const ScatterPlan& plan, bool include_self, HalfRounding rounding);

/// Throws unless index is int64 (or int32).
void require_index_type(const Tensor& index, const std::string& message);

}  // namespace tendon::aten
