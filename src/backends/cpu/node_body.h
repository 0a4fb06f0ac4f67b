// Expressions of a node over its iteration space, ready to be evaluated tile by tile in row-major
// order. What steps of other primitives (scans, scatters, products with an epilogue) use.
//
//   NodeBody body = ...make(plan, shape, roots);
//   bind: body->bind(bindings); scratch: body->workspace_bytes() per thread
//   run:  TileWorkspace workspace; body->prepare(workspace, memory, frame, &checks);
//         body->evaluator().evaluate(workspace, begin, count);
//         const Register& result = body->evaluator().root(workspace, 0);
//
// An epilogue sees the product through workspace.accumulator: the first element of the tile, in
// the memory form of the accumulator expression's dtype.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/tile_evaluator.h"

namespace tendon::backends::cpu {

/// Where a value with a buffer lies. Errors: Internal if it has none.
Result<Location> buffer_location(const schedule::Plan& plan, ir::ValueId value);

/// A value's place in numbers.
struct BoundLocation {
  schedule::BufferId buffer = schedule::kNoBuffer;
  DType dtype = DType::kFloat32;
  std::int64_t offset = 0;  // elements
  std::vector<std::int64_t> shape, strides;

  static Result<BoundLocation> make(const schedule::Plan& plan, ir::ValueId value);
  Status bind(const schedule::Plan& plan, ir::ValueId value, const Bindings& bindings);
  std::byte* data(const Frame& frame) const {
    return frame.buffers[static_cast<std::size_t>(buffer)] +
           offset * static_cast<std::int64_t>(dtype_size(dtype));
  }
};

class NodeBody {
 public:
  /// `stores`: values over the same axes that roots may be stored to, by TileEvaluator::store.
  static Result<std::unique_ptr<NodeBody>> make(const schedule::Plan& plan, const ir::Shape& space,
                                                std::span<const ir::ExprId> roots,
                                                std::span<const ir::ValueId> stores = {},
                                                const ProgramOptions& options = {});
  /// The elements of one value, as they are.
  static Result<std::unique_ptr<NodeBody>> make_copy(const schedule::Plan& plan, ir::ValueId from,
                                                     std::span<const ir::ValueId> stores = {});

  Status bind(const Bindings& bindings);
  /// Walks the points with these axes outermost first, from the next bind on; row-major otherwise.
  void set_order(std::vector<int> order) { order_ = std::move(order); }
  DType root_dtype(std::size_t k) const { return program_.root_dtypes[k]; }
  std::int64_t extent(std::size_t axis) const { return extents_[axis]; }
  std::span<const std::int64_t> extents() const { return extents_; }
  std::int64_t points() const { return evaluator_->points(); }
  const TileEvaluator& evaluator() const { return *evaluator_; }
  const VectorProgram& program() const { return program_; }

  std::size_t workspace_bytes() const {
    return static_cast<std::size_t>(
        round_up(static_cast<std::int64_t>(evaluator_->workspace_bytes()), kVectorBytes));
  }
  void prepare(TileWorkspace& workspace, std::byte* memory, const Frame& frame,
               CheckState* checks) const {
    evaluator_->prepare(workspace, memory, frame.buffers, checks);
  }
  /// Evaluates root k and stores it to store s for points [begin, end), in whatever tiles fit.
  void evaluate_and_store(TileWorkspace& workspace, std::size_t k, std::size_t s,
                          std::int64_t begin, std::int64_t end) const;

 private:
  NodeBody() = default;
  Status finish(const schedule::Plan& plan, const ir::Shape& space,
                std::span<const ir::ValueId> stores);

  ir::Shape space_;
  VectorProgram program_;
  std::unique_ptr<TileEvaluator> evaluator_;
  std::vector<std::int64_t> extents_, origin_;
  std::vector<int> order_;
};

}  // namespace tendon::backends::cpu
