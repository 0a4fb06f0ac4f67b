// An operator: its schema as PyTorch writes it, and its lowering.
//
// Adding one is writing, in one file of this folder:
//
//   OPERATOR(rsqrt, "rsqrt(Tensor self) -> Tensor") {
//     return unary_floating(b, arguments.tensor("self"), Op::kRsqrt);
//   }
//
// The build finds lines that begin with OPERATOR or VIEW_OPERATOR. Several schemas (overloads) may
// share a lowering: OPERATOR(add, "add.Tensor(...) -> Tensor", "add.Scalar(...) -> Tensor"). Names
// without a namespace are aten's. An in-place operator (add_) needs nothing of its own: it is the
// functional one, written back to `self`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "archive/exported_program.h"
#include "aten/builder.h"

namespace tendon::aten {

/// What the caller gave for the parameters of the schema, defaults filled in. Asking for a name
/// that the schema does not have, or with another kind than the program gave, throws.
class Arguments {
 public:
  using Value = std::variant<std::monostate /* None */, Tensor, std::vector<std::optional<Tensor>>,
                             Scalar, std::vector<Scalar>, std::string, DType, archive::MemoryFormat,
                             archive::LayoutArgument, archive::DeviceArgument,
                             std::shared_ptr<const archive::Graph>>;

  bool has(std::string_view name) const;  // in the schema, and not None
  const Value& value(std::string_view name) const;

  const Tensor& tensor(std::string_view name) const;
  std::optional<Tensor> optional_tensor(std::string_view name) const;
  std::vector<Tensor> tensors(std::string_view name) const;
  std::vector<std::optional<Tensor>> optional_tensors(std::string_view name) const;
  /// A number that must be known at load.
  std::int64_t integer(std::string_view name) const;
  std::optional<std::int64_t> optional_integer(std::string_view name) const;
  double real(std::string_view name) const;
  std::optional<double> optional_real(std::string_view name) const;
  bool boolean(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::optional<std::string> optional_text(std::string_view name) const;
  const Scalar& scalar(std::string_view name) const;
  std::optional<Scalar> optional_scalar(std::string_view name) const;
  /// An integer that may be symbolic.
  Size size(std::string_view name) const;
  std::optional<Size> optional_size(std::string_view name) const;
  /// A list of integers that must be known; one integer stands for a list of it.
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::optional<std::vector<std::int64_t>> optional_integers(std::string_view name) const;
  std::vector<double> reals(std::string_view name) const;
  std::optional<std::vector<double>> optional_reals(std::string_view name) const;
  std::vector<bool> booleans(std::string_view name) const;
  Shape sizes(std::string_view name) const;
  std::optional<Shape> optional_sizes(std::string_view name) const;
  std::optional<DType> dtype(std::string_view name) const;
  std::optional<archive::MemoryFormat> memory_format(std::string_view name) const;
  std::shared_ptr<const archive::Graph> graph(std::string_view name) const;

  /// What export recorded of output i: its shape (data symbols by export's names), or a symbolic
  /// scalar's expression. Only for sizes that come from data; everything else follows from the
  /// inputs.
  const std::vector<std::optional<Shape>>& expected_shapes() const { return expected_shapes_; }
  const std::vector<std::optional<Size>>& expected_scalars() const { return expected_scalars_; }

  struct Parameter {
    std::string_view name;
    Value value;
  };
  std::vector<Parameter> parameters;
  std::vector<std::optional<Shape>> expected_shapes_;
  std::vector<std::optional<Size>> expected_scalars_;
};

/// One return of an operator: a tensor, a list of tensors, a scalar, or nothing.
using Output = std::variant<std::monostate, Tensor, std::vector<Tensor>, Scalar>;
struct Outputs : std::vector<Output> {
  Outputs() = default;
  Outputs(Tensor tensor) { push_back(std::move(tensor)); }                 // NOLINT
  Outputs(std::vector<Tensor> tensors) { push_back(std::move(tensors)); }  // NOLINT: one list
  Outputs(Scalar scalar) { push_back(std::move(scalar)); }                 // NOLINT
  Outputs(std::initializer_list<Output> outputs) : std::vector<Output>(outputs) {}
  /// Arguments that the operator changes besides returning (running statistics): parameter name and
  /// new value, of the argument's shape.
  std::vector<std::pair<std::string, Tensor>> writes;
  /// The result is the tensor argument of this name itself, not a copy (x.to(x.dtype)).
  std::string alias;
  /// Export is known to record other types for this operator than it gives: do not compare.
  bool unlike_export = false;
  static Outputs alias_of(std::string parameter) {
    Outputs outputs;
    outputs.alias = std::move(parameter);
    return outputs;
  }
};

struct Operator {
  std::vector<std::string_view> schemas;
  Outputs (*lower)(Builder& b, const Arguments& arguments) = nullptr;
  /// View operators: how each output lies in the tensor argument `self` (the first one).
  std::vector<View> (*views)(Builder& b, const Arguments& arguments) = nullptr;
  /// The views are one list output (split, unbind), not a single tensor.
  bool view_list = false;
};

#define OPERATOR(name, ...)                                                     \
  static Outputs lower_##name(Builder& b, const Arguments& arguments);          \
  extern const Operator operator_##name;                                        \
  const Operator operator_##name{{__VA_ARGS__}, &lower_##name, nullptr, false}; \
  static Outputs lower_##name([[maybe_unused]] Builder& b,                      \
                              [[maybe_unused]] const Arguments& arguments)

/// A view: the result shares its elements with `self`. The body returns a View.
#define VIEW_OPERATOR(name, ...)                                                  \
  static View view_##name(Builder& b, const Arguments& arguments);                \
  static std::vector<View> views_##name(Builder& b, const Arguments& arguments) { \
    return {view_##name(b, arguments)};                                           \
  }                                                                               \
  extern const Operator operator_##name;                                          \
  const Operator operator_##name{{__VA_ARGS__}, nullptr, &views_##name, false};   \
  static View view_##name([[maybe_unused]] Builder& b, [[maybe_unused]] const Arguments& arguments)

/// A list of views (split, chunk, unbind). The body returns a std::vector<View>.
#define VIEW_LIST_OPERATOR(name, ...)                                            \
  static std::vector<View> views_##name(Builder& b, const Arguments& arguments); \
  extern const Operator operator_##name;                                         \
  const Operator operator_##name{{__VA_ARGS__}, nullptr, &views_##name, true};   \
  static std::vector<View> views_##name([[maybe_unused]] Builder& b,             \
                                        [[maybe_unused]] const Arguments& arguments)

/// Every operator of this folder, in file and line order (generated).
const std::vector<const Operator*>& operator_list();

}  // namespace tendon::aten
