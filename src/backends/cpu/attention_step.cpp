// Attention without a full matrix of scores: blocks of queries walk over blocks of keys, keeping
// the running maximum and sum of each row (online softmax: Milakov and Gimelshein, arXiv
// 1805.02867; in blocks: Dao et al., arXiv 2205.14135).
//
// Scores lie by key and query: then keys and values are read where they are, row by row, and
// softmax works on a vector of queries at a time.
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "backends/cpu/attention_kernels.h"
#include "backends/cpu/block_product.h"
#include "backends/cpu/product_steps.h"
#include "backends/cpu/strided_elements.h"
#include "base/half.h"
#include "base/parallel.h"
#include "base/status_macros.h"

namespace tendon::backends::cpu {

namespace {

// A block of scores and the queries and keys that it is made of stay in the first-level cache.
constexpr std::int64_t kQueries = 64;
constexpr std::int64_t kKeys = 128;
/// Multiply-adds that are worth another thread.
constexpr std::int64_t kGrain = std::int64_t{1} << 17;

std::int64_t aligned(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

template <typename T>
class AttentionStep final : public backends::Step {
 public:
  static StepResult make(const CompileContext& context, ir::NodeId id) {
    auto step = std::make_unique<AttentionStep>();
    const ir::Graph& graph = *context.plan->graph;
    step->plan_ = context.plan;
    step->node_ = &graph.node(id);
    step->attention_ = &std::get<ir::Attention>(step->node_->primitive);
    step->threads_ = context.threads;
    for (int i = 0; i < 3; ++i) {
      TENDON_ASSIGN_OR_RETURN(
          step->inputs_[i],
          BoundLocation::make(*context.plan, step->node_->inputs[static_cast<std::size_t>(i)]));
    }
    TENDON_ASSIGN_OR_RETURN(step->output_,
                            BoundLocation::make(*context.plan, step->node_->outputs[0]));
    if (step->attention_->score != ir::kNoExpr) {
      TENDON_ASSIGN_OR_RETURN(
          step->score_, NodeBody::make(*context.plan, ir::iteration_space(graph, *step->node_),
                                       std::span(&step->attention_->score, 1)));
      std::vector<int> order(ir::iteration_space(graph, *step->node_).size());
      std::iota(order.begin(), order.end(), 0);
      std::swap(order[order.size() - 2], order[order.size() - 1]);
      step->score_->set_order(std::move(order));
    }
    step->workspaces_.resize(static_cast<std::size_t>(context.threads));
    return StepResult(std::move(step));
  }

  Status bind(const Bindings& bindings) override {
    for (int i = 0; i < 3; ++i)
      TENDON_RETURN_IF_ERROR(
          inputs_[i].bind(*plan_, node_->inputs[static_cast<std::size_t>(i)], bindings));
    TENDON_RETURN_IF_ERROR(output_.bind(*plan_, node_->outputs[0], bindings));
    if (score_) TENDON_RETURN_IF_ERROR(score_->bind(bindings));
    TENDON_ASSIGN_OR_RETURN(causal_offset_, bindings.evaluate(attention_->causal_offset));
    const std::size_t rank = output_.shape.size();
    heads_ = output_.shape[rank - 3];
    groups_ = inputs_[1].shape[rank - 3];
    queries_ = output_.shape[rank - 2];
    keys_ = inputs_[1].shape[rank - 2];
    width_ = inputs_[0].shape[rank - 1];
    value_width_ = output_.shape[rank - 1];
    batch_ = 1;
    for (std::size_t i = 0; i + 3 < rank; ++i) batch_ *= output_.shape[i];
    // Operands as rows of T: in place where they are, copied where not. Values are read in whole
    // vectors.
    scratch_ = 0;
    for (int i = 0; i < 3; ++i) {
      rows_in_place_[i] =
          inputs_[i].dtype == (sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64) &&
          (inputs_[i].strides.back() == 1 || inputs_[i].shape.back() == 1) &&
          inputs_[i].strides[rank - 2] >= inputs_[i].shape.back() &&
          (i < 2 || value_width_ % lanes_ == 0);
      copy_at_[i] = -1;
      if (rows_in_place_[i]) continue;
      std::int64_t elements = 1;
      for (std::int64_t size : inputs_[i].shape) elements *= size;
      copy_at_[i] = scratch_;
      scratch_ += aligned((elements + lanes_) * static_cast<std::int64_t>(sizeof(T)));
      packed_at_[i] = scratch_;
      scratch_ += aligned(elements * static_cast<std::int64_t>(dtype_size(inputs_[i].dtype)));
    }
    thread_at_ = scratch_;
    result_pitch_ = padded(value_width_);
    // Whole vectors are read and written behind the end of each.
    const std::int64_t numbers = kQueries * width_ + padded(kQueries * kKeys + lanes_) +
                                 kQueries * result_pitch_ + 3 * kQueries;
    thread_numbers_ = aligned(numbers * static_cast<std::int64_t>(sizeof(T)));
    thread_bytes_ =
        thread_numbers_ + static_cast<std::int64_t>(score_ ? score_->workspace_bytes() : 0);
    scratch_ += threads_ * thread_bytes_;
    return {};
  }

  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(scratch_); }

  Status run(const Frame& frame) override {
    if (batch_ * heads_ * queries_ * value_width_ == 0) return {};
    for (int i = 0; i < 3; ++i) operand(frame, i);
    checks_.reset();
    const std::int64_t blocks = (queries_ + kQueries - 1) / kQueries;
    const std::int64_t block_work =
        std::max<std::int64_t>(1, std::min(queries_, kQueries) * keys_ * (width_ + value_width_));
    base::parallel_for(batch_ * heads_ * blocks, kGrain / block_work, threads_,
                       [&](int worker, std::int64_t begin, std::int64_t end) {
                         std::byte* memory = frame.scratch + thread_at_ + worker * thread_bytes_;
                         TileWorkspace& workspace = workspaces_[static_cast<std::size_t>(worker)];
                         if (score_)
                           score_->prepare(workspace, memory + thread_numbers_, frame, &checks_);
                         for (std::int64_t i = begin; i < end; ++i)
                           run_block(frame, i / blocks, i % blocks * kQueries,
                                     reinterpret_cast<T*>(memory), workspace);
                       });
    checks_.report(frame.errors);
    return {};
  }

 private:
  /// Elements as whole vectors.
  std::int64_t padded(std::int64_t elements) const {
    return (elements + lanes_ - 1) / lanes_ * lanes_;
  }

  /// Makes operand i rows of T, and notes where they are.
  void operand(const Frame& frame, int i) {
    Rows& rows = rows_[i];
    const BoundLocation& location = inputs_[i];
    const std::size_t rank = location.shape.size();
    if (rows_in_place_[i]) {
      rows.data = reinterpret_cast<const T*>(location.data(frame));
      rows.stride = location.strides[rank - 2];
      rows.dense = false;
      return;
    }
    T* copy = reinterpret_cast<T*>(frame.scratch + copy_at_[i]);
    std::byte* packed = frame.scratch + packed_at_[i];
    pack_dense(location, location.data(frame), packed, threads_);
    std::int64_t elements = 1;
    for (std::int64_t size : location.shape) elements *= size;
    base::parallel_for(elements, 4096, threads_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) copy[j] = converted(location.dtype, packed, j);
    });
    rows.data = copy;
    rows.stride = location.shape.back();
    rows.dense = true;
  }
  static T converted(DType dtype, const std::byte* data, std::int64_t i) {
    if (dtype == DType::kFloat16)
      return static_cast<T>(half_to_float(reinterpret_cast<const std::uint16_t*>(data)[i]));
    if (dtype == DType::kBFloat16)
      return static_cast<T>(bfloat16_to_float(reinterpret_cast<const std::uint16_t*>(data)[i]));
    return reinterpret_cast<const T*>(data)[i];
  }
  /// First row of the matrix that batch-and-head number `at` of `heads` heads reads.
  const T* matrix(int i, std::int64_t batch, std::int64_t head) const {
    const BoundLocation& location = inputs_[i];
    const std::size_t rank = location.shape.size();
    if (rows_[i].dense) {
      return rows_[i].data + (batch * location.shape[rank - 3] + head) * location.shape[rank - 2] *
                                 location.shape[rank - 1];
    }
    std::int64_t offset = head * location.strides[rank - 3];
    for (std::size_t axis = rank - 3; axis-- > 0;) {
      offset += batch % location.shape[axis] * location.strides[axis];
      batch /= location.shape[axis];
    }
    return rows_[i].data + offset;
  }

  void run_block(const Frame& frame, std::int64_t matrix_number, std::int64_t first, T* memory,
                 TileWorkspace& workspace) {
    const std::int64_t batch = matrix_number / heads_, head = matrix_number % heads_;
    const std::int64_t group = head / (heads_ / groups_);
    const std::int64_t count = std::min(kQueries, queries_ - first);
    T* columns = memory;
    ScoreBlock<T> block;
    block.queries = count;
    block.scores = columns + kQueries * width_;
    T* result = block.scores + padded(kQueries * kKeys + lanes_);
    block.maximum = result + kQueries * result_pitch_;
    block.total = block.maximum + kQueries;
    block.factor = block.total + kQueries;
    std::fill_n(result, count * result_pitch_, T{0});
    std::fill_n(block.maximum, kQueries, -std::numeric_limits<T>::infinity());
    std::fill_n(block.total, kQueries, T{0});
    transpose(matrix(0, batch, head) + first * rows_[0].stride, count, columns);
    const T* k = matrix(1, batch, group);
    const T* v = matrix(2, batch, group);
    std::int64_t last = keys_;
    if (attention_->causal)
      last = std::min(keys_, std::max<std::int64_t>(0, first + count + causal_offset_));
    for (std::int64_t start = 0; start < last; start += kKeys) {
      block.keys = std::min(kKeys, last - start);
      multiply<T>({.m = block.keys,
                   .n = count,
                   .k = width_,
                   .a = k + start * rows_[1].stride,
                   .a_row = rows_[1].stride,
                   .a_column = 1,
                   .b = columns,
                   .b_row = kQueries,
                   .c = block.scores,
                   .c_row = count,
                   .alpha = static_cast<T>(attention_->scale)});
      if (score_) rescore(workspace, matrix_number, first, start, block);
      if (attention_->causal) hide(first, start, block);
      weigh(block);
      rescale(result, block);
      multiply<T>({.m = count,
                   .n = value_width_,
                   .k = block.keys,
                   .a = block.scores,
                   .a_row = 1,
                   .a_column = count,
                   .b = v + start * rows_[2].stride,
                   .b_row = rows_[2].stride,
                   .c = result,
                   .c_row = result_pitch_,
                   .accumulate = true});
    }
    store(frame, batch, head, first, count, result, block.total);
  }

  /// Rows of queries as columns, kQueries to a row.
  void transpose(const T* rows, std::int64_t count, T* columns) const {
    if (count < kQueries) std::fill_n(columns, width_ * kQueries, T{0});
    for (std::int64_t i = 0; i < count; ++i) {
      const T* row = rows + i * rows_[0].stride;
      for (std::int64_t x = 0; x < width_; ++x) columns[x * kQueries + i] = row[x];
    }
  }

  /// Scaled products become what softmax is taken of.
  void rescore(TileWorkspace& workspace, std::int64_t matrix_number, std::int64_t first,
               std::int64_t start, const ScoreBlock<T>& block) const {
    const TileEvaluator& evaluator = score_->evaluator();
    // Keys follow each other where the block has all queries.
    const bool whole = block.queries == queries_;
    const std::int64_t runs = whole ? 1 : block.keys;
    const std::int64_t length = whole ? block.keys * block.queries : block.queries;
    T* scores = block.scores;
    for (std::int64_t run = 0; run < runs; ++run) {
      std::int64_t point = (matrix_number * keys_ + start + run) * queries_ + first;
      for (const std::int64_t end = point + length; point < end;) {
        const std::int64_t n = evaluator.tile_count(point, end);
        workspace.accumulator = scores;
        evaluator.evaluate(workspace, point, n);
        const Register& tile = evaluator.root(workspace, 0);
        const T* values = reinterpret_cast<const T*>(tile.data);
        for (std::int64_t i = 0; i < n; ++i) scores[i] = values[i * tile.step];
        scores += n;
        point += n;
      }
    }
  }

  /// Queries do not see keys that come after them.
  void hide(std::int64_t first, std::int64_t start, const ScoreBlock<T>& block) const {
    for (std::int64_t key = 0; key < block.keys; ++key) {
      const std::int64_t hidden =
          std::clamp<std::int64_t>(start + key - causal_offset_ - first, 0, block.queries);
      std::fill_n(block.scores + key * block.queries, hidden, -std::numeric_limits<T>::infinity());
    }
  }

  /// What was summed under smaller maxima counts less.
  void rescale(T* result, const ScoreBlock<T>& block) const {
    for (std::int64_t i = 0; i < block.queries; ++i) {
      const T factor = block.factor[i];
      if (factor == T{1}) continue;
      T* row = result + i * result_pitch_;
      for (std::int64_t x = 0; x < value_width_; ++x) row[x] *= factor;
    }
  }

  void store(const Frame& frame, std::int64_t batch, std::int64_t head, std::int64_t first,
             std::int64_t count, const T* result, const T* total) const {
    const std::size_t rank = output_.shape.size();
    std::int64_t offset = head * output_.strides[rank - 3];
    for (std::size_t axis = rank - 3; axis-- > 0;) {
      offset += batch % output_.shape[axis] * output_.strides[axis];
      batch /= output_.shape[axis];
    }
    std::byte* data = output_.data(frame);
    // Without keys the sum is empty, not masked.
    const T of_empty_row =
        attention_->zero_masked_rows || keys_ == 0 ? T{0} : std::numeric_limits<T>::quiet_NaN();
    const std::int64_t step = output_.strides[rank - 1];
    for (std::int64_t row = 0; row < count; ++row) {
      const T inverse = total[row] == T{0} ? of_empty_row : T{1} / total[row];
      const T* sums = result + row * result_pitch_;
      const std::int64_t at = offset + (first + row) * output_.strides[rank - 2];
      const auto write = [&](auto* to, auto convert) {
        for (std::int64_t i = 0; i < value_width_; ++i) to[i * step] = convert(sums[i] * inverse);
      };
      switch (output_.dtype) {
        case DType::kFloat16:
          write(reinterpret_cast<std::uint16_t*>(data) + at,
                [](T value) { return float_to_half(static_cast<float>(value)); });
          break;
        case DType::kBFloat16:
          write(reinterpret_cast<std::uint16_t*>(data) + at,
                [](T value) { return float_to_bfloat16(static_cast<float>(value)); });
          break;
        default:
          write(reinterpret_cast<T*>(data) + at, [](T value) { return value; });
          break;
      }
    }
  }

  struct Rows {
    const T* data = nullptr;
    std::int64_t stride = 0;
    bool dense = false;
  };

  const schedule::Plan* plan_ = nullptr;
  const ir::Node* node_ = nullptr;
  const ir::Attention* attention_ = nullptr;
  int threads_ = 1;
  BoundLocation inputs_[3], output_;
  std::unique_ptr<NodeBody> score_;
  std::vector<TileWorkspace> workspaces_;
  CheckState checks_;
  std::int64_t lanes_ = vector_lanes<T>();
  Rows rows_[3];
  bool rows_in_place_[3] = {};
  std::int64_t copy_at_[3] = {-1, -1, -1}, packed_at_[3] = {};
  std::int64_t batch_ = 0, heads_ = 0, groups_ = 1, queries_ = 0, keys_ = 0, width_ = 0,
               value_width_ = 0;
  std::int64_t causal_offset_ = 0, result_pitch_ = 0;
  std::int64_t scratch_ = 0, thread_at_ = 0, thread_numbers_ = 0, thread_bytes_ = 0;
};

}  // namespace

StepResult make_attention_step(const CompileContext& context, ir::NodeId node) {
  const DType dtype = context.plan->graph->value(context.plan->graph->node(node).outputs[0]).dtype;
  if (dtype == DType::kFloat64) return AttentionStep<double>::make(context, node);
  return AttentionStep<float>::make(context, node);
}

}  // namespace tendon::backends::cpu
