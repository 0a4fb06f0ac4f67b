// Attention without a full matrix of scores: blocks of queries walk over blocks of keys, keeping
// the running maximum and sum of each row (online softmax: Milakov and Gimelshein, arXiv
// 1805.02867; in blocks: Dao et al., arXiv 2205.14135).
#include <oneapi/dnnl/dnnl.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/plain_product.h"
#include "backends/cpu/product_steps.h"
#include "backends/cpu/strided_elements.h"
#include "base/half.h"
#include "base/parallel.h"
#include "base/status_macros.h"

namespace tendon::backends::cpu {

namespace {

constexpr std::int64_t kQueries = 64;  // rows of a block
constexpr std::int64_t kKeys = 512;    // columns of a block

std::int64_t aligned(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// c [m, n] = alpha * a [m, k] * b + beta * c, row-major; b is [k, n], or [n, k] if transposed.
void multiply(bool transposed, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
              const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta,
              float* c, std::int64_t ldc) {
  dnnl_sgemm('N', transposed ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void multiply(bool transposed, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
              const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta,
              double* c, std::int64_t ldc) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t x = 0; x < k; ++x)
        sum += a[i * lda + x] * (transposed ? b[j * ldb + x] : b[x * ldb + j]);
      c[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * c[i * ldc + j]);
    }
  }
}

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
    }
    step->workspaces_.resize(static_cast<std::size_t>(context.threads));
    step->exponential_ = kernel_table().at(
        ir::Op::kExp, tile_type(sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64));
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
    key_block_ = std::min(kKeys, std::max<std::int64_t>(keys_, 1));
    query_block_ = std::min(kQueries, std::max<std::int64_t>(queries_, 1));
    // Operands as rows of T: in place where they are, copied where not.
    scratch_ = 0;
    for (int i = 0; i < 3; ++i) {
      rows_in_place_[i] =
          inputs_[i].dtype == (sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64) &&
          (inputs_[i].strides.back() == 1 || inputs_[i].shape.back() == 1) &&
          inputs_[i].strides[rank - 2] >= inputs_[i].shape.back();
      copy_at_[i] = -1;
      if (rows_in_place_[i]) continue;
      std::int64_t elements = 1;
      for (std::int64_t size : inputs_[i].shape) elements *= size;
      copy_at_[i] = scratch_;
      scratch_ += aligned(elements * static_cast<std::int64_t>(sizeof(T)));
      packed_at_[i] = scratch_;
      scratch_ += aligned(elements * static_cast<std::int64_t>(dtype_size(inputs_[i].dtype)));
    }
    thread_at_ = scratch_;
    thread_bytes_ = aligned((query_block_ * (key_block_ + 16) + query_block_ * value_width_ +
                             2 * query_block_) *
                            static_cast<std::int64_t>(sizeof(T))) +
                    static_cast<std::int64_t>(score_ ? score_->workspace_bytes() : 0);
    scratch_ += threads_ * thread_bytes_;
    return {};
  }

  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(scratch_); }

  Status run(const Frame& frame) override {
    if (batch_ * heads_ * queries_ * value_width_ == 0) return {};
    for (int i = 0; i < 3; ++i) operand(frame, i);
    checks_.reset();
    const std::int64_t blocks = (queries_ + query_block_ - 1) / query_block_;
    base::parallel_for(batch_ * heads_ * blocks, 1, threads_,
                       [&](int worker, std::int64_t begin, std::int64_t end) {
                         std::byte* memory = frame.scratch + thread_at_ + worker * thread_bytes_;
                         TileWorkspace& workspace = workspaces_[static_cast<std::size_t>(worker)];
                         const std::int64_t numbers =
                             thread_bytes_ -
                             static_cast<std::int64_t>(score_ ? score_->workspace_bytes() : 0);
                         if (score_) score_->prepare(workspace, memory + numbers, frame, &checks_);
                         for (std::int64_t i = begin; i < end; ++i)
                           run_block(frame, i / blocks, i % blocks * query_block_,
                                     reinterpret_cast<T*>(memory), workspace);
                       });
    checks_.report(frame.errors);
    return {};
  }

 private:
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
    const std::int64_t count = std::min(query_block_, queries_ - first);
    const std::int64_t pitch = key_block_ + 16;
    T* scores = memory;
    T* result = scores + query_block_ * pitch;
    T* maximum = result + query_block_ * value_width_;
    T* total = maximum + query_block_;
    constexpr T kLowest = -std::numeric_limits<T>::infinity();
    std::fill(result, result + count * value_width_, T{0});
    std::fill(maximum, maximum + count, kLowest);
    std::fill(total, total + count, T{0});
    const T* q = matrix(0, batch, head) + first * rows_[0].stride;
    const T* k = matrix(1, batch, group);
    const T* v = matrix(2, batch, group);
    std::int64_t last = keys_;
    if (attention_->causal)
      last = std::min(keys_, std::max<std::int64_t>(0, first + count + causal_offset_));
    for (std::int64_t start = 0; start < last; start += key_block_) {
      const std::int64_t width = std::min(key_block_, last - start);
      multiply(true, count, width, width_, static_cast<T>(attention_->scale), q, rows_[0].stride,
               k + start * rows_[1].stride, rows_[1].stride, T{0}, scores, pitch);
      for (std::int64_t row = 0; row < count; ++row) {
        T* s = scores + row * pitch;
        if (score_)
          rescore(workspace, (matrix_number * queries_ + first + row) * keys_ + start, width, s);
        std::int64_t visible = width;
        if (attention_->causal) {
          visible = std::clamp<std::int64_t>(first + row + causal_offset_ + 1 - start, 0, width);
          std::fill(s + visible, s + width, kLowest);
        }
        softmax_row(s, width, maximum[row], total[row], result + row * value_width_);
      }
      multiply(false, count, value_width_, width, T{1}, scores, pitch, v + start * rows_[2].stride,
               rows_[2].stride, T{1}, result, value_width_);
    }
    store(frame, batch, head, first, count, result, total);
  }

  /// Scaled products become what softmax is taken of.
  void rescore(TileWorkspace& workspace, std::int64_t point, std::int64_t count, T* scores) const {
    const TileEvaluator& evaluator = score_->evaluator();
    while (count > 0) {
      const std::int64_t n = evaluator.tile_count(point, point + count);
      workspace.accumulator = scores;
      evaluator.evaluate(workspace, point, n);
      const Register& tile = evaluator.root(workspace, 0);
      const T* values = reinterpret_cast<const T*>(tile.data);
      for (std::int64_t i = 0; i < n; ++i) scores[i] = values[i * tile.step];
      scores += n;
      point += n;
      count -= n;
    }
  }

  /// Scores become exp(score - maximum); what was summed under a smaller maximum is scaled.
  void softmax_row(T* s, std::int64_t width, T& maximum, T& total, T* result) const {
    T block_maximum = s[0];
    bool nan = false;
    for (std::int64_t i = 0; i < width; ++i) {
      block_maximum = s[i] > block_maximum ? s[i] : block_maximum;
      nan = nan || s[i] != s[i];
    }
    if (nan) block_maximum = std::numeric_limits<T>::quiet_NaN();
    const T fresh = nan || !(block_maximum <= maximum) ? block_maximum : maximum;
    if (fresh == -std::numeric_limits<T>::infinity()) {
      std::fill(s, s + width, T{0});
      return;
    }
    for (std::int64_t i = 0; i < width; ++i) s[i] -= fresh;
    // Whole vectors: the row has room behind its end.
    exponential_(s, s, nullptr, nullptr, Steps{1, 1, 1}, width);
    T sum = 0;
    for (std::int64_t i = 0; i < width; ++i) sum += s[i];
    if (fresh != maximum) {
      const T scale = std::exp(maximum - fresh);
      total *= scale;
      for (std::int64_t i = 0; i < value_width_; ++i) result[i] *= scale;
      maximum = fresh;
    }
    total += sum;
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
    for (std::int64_t row = 0; row < count; ++row) {
      const T inverse = total[row] == T{0} ? of_empty_row : T{1} / total[row];
      for (std::int64_t i = 0; i < value_width_; ++i) {
        const std::int64_t at =
            offset + (first + row) * output_.strides[rank - 2] + i * output_.strides[rank - 1];
        const T value = result[row * value_width_ + i] * inverse;
        switch (output_.dtype) {
          case DType::kFloat16:
            reinterpret_cast<std::uint16_t*>(data)[at] = float_to_half(static_cast<float>(value));
            break;
          case DType::kBFloat16:
            reinterpret_cast<std::uint16_t*>(data)[at] =
                float_to_bfloat16(static_cast<float>(value));
            break;
          default:
            reinterpret_cast<T*>(data)[at] = value;
            break;
        }
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
  ComputeKernel exponential_ = nullptr;
  Rows rows_[3];
  bool rows_in_place_[3] = {};
  std::int64_t copy_at_[3] = {-1, -1, -1}, packed_at_[3] = {};
  std::int64_t batch_ = 0, heads_ = 0, groups_ = 1, queries_ = 0, keys_ = 0, width_ = 0,
               value_width_ = 0;
  std::int64_t key_block_ = 0, query_block_ = 0, causal_offset_ = 0;
  std::int64_t scratch_ = 0, thread_at_ = 0, thread_bytes_ = 0;
};

}  // namespace

StepResult make_attention_step(const CompileContext& context, ir::NodeId node) {
  const DType dtype = context.plan->graph->value(context.plan->graph->node(node).outputs[0]).dtype;
  if (dtype == DType::kFloat64) return AttentionStep<double>::make(context, node);
  return AttentionStep<float>::make(context, node);
}

}  // namespace tendon::backends::cpu
