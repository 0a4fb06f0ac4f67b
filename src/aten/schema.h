// Operator schemas as PyTorch writes them: "add.Tensor(Tensor self, Tensor other, *, Scalar
// alpha=1) -> Tensor".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aten/operator.h"

namespace tendon::aten {

struct SchemaParameter {
  std::string name;
  std::string type;  // "Tensor?", "int[2]", without alias annotations
  bool has_default = false;
  Arguments::Value default_value;
};

struct Schema {
  std::string target;  // "aten.add.Tensor", "aten.relu.default", "_operator.mul"
  std::vector<SchemaParameter> parameters;
  /// Index of the parameter of that name, or -1.
  int find(std::string_view name) const;
};

/// Throws std::logic_error for a text that is not a schema: those are this library's own.
Schema parse_schema(std::string_view text);

/// An operator with one of its schemas.
struct RegistryEntry {
  Schema schema;
  const Operator* op = nullptr;
};

/// The entry for a target; null if there is none. In-place targets ("aten.add_.Tensor") that have
/// no entry of their own are found as their functional form, see find_in_place.
const RegistryEntry* find_operator(std::string_view target);
/// The functional entry of an in-place target, or null.
const RegistryEntry* find_in_place(std::string_view target);
/// Every target, sorted.
std::vector<std::string_view> operator_targets();
/// The supported target whose spelling is nearest.
std::string nearest_target(std::string_view target);

}  // namespace tendon::aten
