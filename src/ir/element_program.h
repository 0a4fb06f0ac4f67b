// Expressions of one node, ready to be computed over concrete tensors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ir/element_kernels.h"
#include "ir/graph.h"
#include "tendon/status.h"
#include "tendon/tensor.h"

namespace tendon::ir {

/// What expressions read besides positions: the graph's values computed so far (row-major), and
/// sizes.
struct ElementContext {
  std::span<const Tensor> values;
  std::function<Result<std::int64_t>(const Size&)> size;
};

/// Every distinct node of some expressions, arguments first, each with room for a strip of
/// elements: a strip is computed node by node.
class ElementProgram {
 public:
  static constexpr int kStrip = 128;

  /// Expressions of `graph` over an iteration space of `extents`. If `guard` is an expression among
  /// them (bool), errors count only where it is true.
  static Result<ElementProgram> create(const Graph& graph, std::vector<ExprId> expressions,
                                       Sizes extents, const ElementContext& context,
                                       ExprId guard = kNoExpr);

  /// Computes positions [first, first + count) of the row-major iteration space, count <= kStrip;
  /// `accumulator` holds what Op::kAccumulator stands for. Errors: OutOfRange (an index check),
  /// Internal (a load outside its value).
  Status run(std::int64_t first, int count, const void* accumulator = nullptr);

  /// Elements of an expression in its arithmetic type, after run.
  const void* result(ExprId expression) const;

 private:
  struct Step {
    Op op = Op::kConstant;
    DType dtype = DType::kFloat32;
    DType argument_dtype = DType::kFloat32;
    std::vector<std::int32_t> arguments;  // steps
    ElementKernel kernel = nullptr;
    ElementKernel rounding = nullptr;  // of a result in a half type
    int axis = 0;                      // kIndex
    std::int64_t size = 0;             // kCheckIndex
    const IndexCheck* check = nullptr;
    const Tensor* value = nullptr;  // kLoad, kMaskedLoad
    ValueId value_id = -1;
    bool failed = false;  // for some element of this strip
  };

  ElementProgram() = default;
  Result<Step> make_step(const Graph& graph, ExprId id, const ElementContext& context);
  void fill_constant(const ExprNode& node, const Step& step, std::int32_t index);
  void compute(std::int32_t index, std::int64_t first, int count, const void* accumulator);
  void fill_index(const Step& step, std::int64_t* out, std::int64_t first, int count) const;
  void load(Step& step, std::int32_t index, int count);
  void check_index(Step& step, std::int32_t index, int count);
  void bitcast(const Step& step, void* out, int count) const;
  void select(const Step& step, void* out, int count) const;
  Status failure(int count) const;

  std::byte* slot(std::int32_t step) {
    return slots_.get() + static_cast<std::ptrdiff_t>(step) * kStrip * 8;
  }
  const std::byte* slot(std::int32_t step) const {
    return slots_.get() + static_cast<std::ptrdiff_t>(step) * kStrip * 8;
  }
  template <typename T>
  const T* elements(std::int32_t step) const {
    return reinterpret_cast<const T*>(slot(step));
  }
  std::int32_t step_of(ExprId id) const { return step_of_expression_.at(id); }
  bool element_failed(const Step& step, int element) const;

  std::vector<Step> steps_;
  std::unordered_map<ExprId, std::int32_t> step_of_expression_;
  std::vector<std::int32_t> roots_;
  std::int32_t guard_ = -1;
  Sizes extents_, strides_;
  std::unique_ptr<std::byte[]> slots_;
};

}  // namespace tendon::ir
