// A plain evaluator of the tensor graph: slow, and obviously right. Passes, schedules and backends
// are tested against it. Floating sums and products of matrices are computed in float64 and rounded
// once.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "tendon/status.h"
#include "tendon/tensor.h"

namespace tendon::ir {

using SymbolValues = std::unordered_map<const Symbol*, std::int64_t>;

struct EvaluationOutputs {
  std::vector<Tensor> tensors;  // row-major, one for each of Graph::outputs
  SymbolValues symbols;         // of the inputs' sizes, and those that data gave
};

/// Runs the graph on inputs, constants and states by their index, with any strides. Symbols get
/// their values from the inputs' shapes. A complex tensor may stand for a real one with a last axis
/// of size 2. Nothing that is passed is changed.
/// Errors: InvalidArgument (count, dtype, shape), OutOfRange (an index in the data), Aborted (an
/// assertion), Internal (a graph that breaks its own rules); with the node's origin.
Result<EvaluationOutputs> evaluate(const Graph& graph, std::span<const TensorView> inputs,
                                   std::span<const TensorView> constants = {},
                                   std::span<const TensorView> states = {});

}  // namespace tendon::ir
