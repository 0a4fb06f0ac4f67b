// Sorting along an axis, and the first elements of the order.
#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/node_body.h"
#include "backends/cpu/node_steps.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "ir/element_order.h"
#include "ir/sort_keys.h"

namespace tendon::backends::cpu {
namespace {

struct Entry {
  std::uint64_t key;
  std::int64_t position;
};

bool smaller_key(const Entry& a, const Entry& b) { return a.key < b.key; }
/// No two are equal, so any sort by this is stable.
bool in_stable_order(const Entry& a, const Entry& b) {
  return a.key != b.key ? a.key < b.key : a.position < b.position;
}

/// What is asked of every row.
struct Order {
  int axis = 0;
  bool descending = false;
  const ir::Size* k = nullptr;  // how many of the order to keep; null: all
  bool stable = true;           // without k
  bool sorted = true;           // with k
};

/// Shorter rows are sorted by comparison.
constexpr std::int64_t kRadixLength = 512;

/// Least significant byte first, skipping bytes that are all the same. `entries` are in order of
/// position; the result ends in the array that is returned.
Entry* radix_sort(Entry* entries, Entry* other, std::int64_t count, int bytes) {
  for (int byte = 0; byte < bytes; ++byte) {
    std::array<std::int64_t, 256> starts{};
    const int shift = byte * 8;
    for (std::int64_t i = 0; i < count; ++i) ++starts[(entries[i].key >> shift) & 0xff];
    if (starts[(entries[0].key >> shift) & 0xff] == count) continue;
    std::int64_t sum = 0;
    for (std::int64_t& start : starts) {
      const std::int64_t n = start;
      start = sum;
      sum += n;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      other[starts[(entries[i].key >> shift) & 0xff]++] = entries[i];
    }
    std::swap(entries, other);
  }
  return entries;
}

/// Reads keys of a row.
using ReadKeys = void (*)(const std::byte* row, std::int64_t stride, std::int64_t count,
                          std::uint64_t flip, Entry* entries);

template <typename T>
void read_keys(const std::byte* row, std::int64_t stride, std::int64_t count, std::uint64_t flip,
               Entry* entries) {
  const T* x = reinterpret_cast<const T*>(row);
  for (std::int64_t i = 0; i < count; ++i)
    entries[i] = {ir::SortKey<T>::of(x[i * stride]) ^ flip, i};
}

ReadKeys read_keys_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8:
      return read_keys<std::uint8_t>;
    case DType::kInt8:
      return read_keys<std::int8_t>;
    case DType::kInt16:
      return read_keys<std::int16_t>;
    case DType::kUInt16:
      return read_keys<std::uint16_t>;
    case DType::kInt32:
      return read_keys<std::int32_t>;
    case DType::kUInt32:
      return read_keys<std::uint32_t>;
    case DType::kInt64:
      return read_keys<std::int64_t>;
    case DType::kUInt64:
      return read_keys<std::uint64_t>;
    case DType::kFloat16:
      return read_keys<Float16>;
    case DType::kBFloat16:
      return read_keys<BFloat16>;
    case DType::kFloat64:
      return read_keys<double>;
    default:
      return read_keys<float>;
  }
}

class SortStep final : public backends::Step {
 public:
  static StepResult make(const CompileContext& context, ir::NodeId id, const Order& order) {
    const schedule::Plan& plan = *context.plan;
    const ir::Node& node = plan.graph->node(id);
    auto step = std::make_unique<SortStep>();
    step->plan_ = &plan;
    step->node_ = &node;
    step->order_ = order;
    step->axis_ = static_cast<std::size_t>(order.axis);
    step->threads_ = context.threads > 0 ? context.threads : base::default_threads();
    TENDON_ASSIGN_OR_RETURN(step->input_, BoundLocation::make(plan, node.inputs[0]));
    TENDON_ASSIGN_OR_RETURN(step->values_, BoundLocation::make(plan, node.outputs[0]));
    TENDON_ASSIGN_OR_RETURN(step->positions_, BoundLocation::make(plan, node.outputs[1]));
    step->bytes_ = static_cast<int>(dtype_size(step->input_.dtype));
    if (order.descending) step->flip_ = ~std::uint64_t{0} >> (64 - 8 * step->bytes_);
    step->read_ = read_keys_of(step->input_.dtype);
    return std::unique_ptr<backends::Step>(std::move(step));
  }

  Status bind(const Bindings& bindings) override {
    TENDON_RETURN_IF_ERROR(input_.bind(*plan_, node_->inputs[0], bindings));
    TENDON_RETURN_IF_ERROR(values_.bind(*plan_, node_->outputs[0], bindings));
    TENDON_RETURN_IF_ERROR(positions_.bind(*plan_, node_->outputs[1], bindings));
    length_ = input_.shape[axis_];
    kept_ = length_;
    if (order_.k != nullptr) {
      TENDON_ASSIGN_OR_RETURN(kept_, bindings.evaluate(*order_.k));
      if (kept_ < 0 || kept_ > length_) {
        return Status(StatusCode::kOutOfRange, "topk: k = " + std::to_string(kept_) +
                                                   " of an axis of size " +
                                                   std::to_string(length_));
      }
    }
    rows_ = 1;
    for (std::size_t axis = 0; axis < input_.shape.size(); ++axis) {
      if (axis != axis_) rows_ *= input_.shape[axis];
    }
    return Status();
  }

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(threads_) * 2 * static_cast<std::size_t>(length_) *
           sizeof(Entry);
  }

  Status run(const Frame& frame) override {
    if (rows_ == 0 || kept_ == 0) return Status();
    auto* scratch = reinterpret_cast<Entry*>(frame.scratch);
    base::parallel_for(rows_, std::max<std::int64_t>(1, 1024 / length_), threads_,
                       [&](int worker, std::int64_t begin, std::int64_t end) {
                         Entry* entries = scratch + std::int64_t{worker} * 2 * length_;
                         for (std::int64_t row = begin; row < end; ++row) {
                           sort_row(frame, row, entries);
                         }
                       });
    return Status();
  }

 private:
  std::int64_t row_offset(const BoundLocation& location, std::int64_t row) const {
    std::int64_t offset = 0;
    for (std::size_t axis = input_.shape.size(); axis-- > 0;) {
      if (axis == axis_) continue;
      offset += row % input_.shape[axis] * location.strides[axis];
      row /= input_.shape[axis];
    }
    return offset;
  }

  void sort_row(const Frame& frame, std::int64_t row, Entry* entries) const {
    const auto size = static_cast<std::int64_t>(dtype_size(input_.dtype));
    const std::byte* in = input_.data(frame) + row_offset(input_, row) * size;
    const std::int64_t stride = input_.strides[axis_];
    read_(in, stride, length_, flip_, entries);
    if (order_.k != nullptr) {
      ir::select_first(entries, entries + length_, kept_, order_.sorted, smaller_key);
    } else if (!order_.stable) {
      std::sort(entries, entries + length_, smaller_key);
    } else if (length_ < kRadixLength) {
      std::sort(entries, entries + length_, in_stable_order);
    } else {
      entries = radix_sort(entries, entries + length_, length_, bytes_);
    }
    std::byte* values = values_.data(frame) + row_offset(values_, row) * size;
    auto* positions =
        reinterpret_cast<std::int64_t*>(positions_.data(frame)) + row_offset(positions_, row);
    const std::int64_t value_stride = values_.strides[axis_] * size;
    for (std::int64_t i = 0; i < kept_; ++i) {
      const std::int64_t position = entries[i].position;
      std::memcpy(values + i * value_stride, in + position * stride * size,
                  static_cast<std::size_t>(size));
      positions[i * positions_.strides[axis_]] = position;
    }
  }

  const schedule::Plan* plan_ = nullptr;
  const ir::Node* node_ = nullptr;
  Order order_;
  std::size_t axis_ = 0;
  int threads_ = 1;
  int bytes_ = 4;
  std::uint64_t flip_ = 0;
  ReadKeys read_ = nullptr;
  BoundLocation input_, values_, positions_;
  std::int64_t length_ = 0, kept_ = 0, rows_ = 0;
};

}  // namespace

StepResult make_sort_step(const CompileContext& context, ir::NodeId node) {
  const auto& sort = std::get<ir::Sort>(context.plan->graph->node(node).primitive);
  return SortStep::make(context, node,
                        {.axis = sort.axis, .descending = sort.descending, .stable = sort.stable});
}

StepResult make_top_k_step(const CompileContext& context, ir::NodeId node) {
  const auto& top = std::get<ir::TopK>(context.plan->graph->node(node).primitive);
  return SortStep::make(
      context, node,
      {.axis = top.axis, .descending = top.largest, .k = &top.k, .sorted = top.sorted});
}

}  // namespace tendon::backends::cpu
