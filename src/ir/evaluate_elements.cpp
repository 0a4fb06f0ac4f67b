// Map, reduce, scan and scatter of the evaluator.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/status_macros.h"
#include "ir/evaluate_primitives.h"
#include "ir/scalar_math.h"

namespace tendon::ir {

namespace {

constexpr int kStrip = ElementProgram::kStrip;

/// Calls visit(first, count) for strips that cover [0, total).
template <typename Visit>
Status for_strips(std::int64_t total, const Visit& visit) {
  for (std::int64_t first = 0; first < total; first += kStrip) {
    TENDON_RETURN_IF_ERROR(
        visit(first, static_cast<int>(std::min<std::int64_t>(kStrip, total - first))));
  }
  return Status();
}

std::byte* element(const Tensor& tensor, std::int64_t position) {
  return static_cast<std::byte*>(tensor.view().data) +
         position * static_cast<std::int64_t>(dtype_size(tensor.dtype()));
}

// Sums and products of floats are made in float64; integers wrap in their own type.
template <typename T>
using Accumulated = std::conditional_t<std::is_floating_point_v<T>, double, T>;

template <typename T>
bool is_nan(T x) {
  return x != x;
}

/// Whether `x` takes the place of `best`, which came before it.
template <typename T>
bool is_more_extreme(bool greatest, T x, T best) {
  if (is_nan(best)) return false;
  return is_nan(x) || (greatest ? best < x : x < best);
}

template <typename T>
T neutral_extreme(bool greatest) {
  using Limits = std::numeric_limits<T>;
  if constexpr (Limits::has_infinity) return greatest ? -Limits::infinity() : Limits::infinity();
  return greatest ? Limits::lowest() : Limits::max();
}

template <typename T>
T reduced(ReduceOp op, std::span<const T> row) {
  switch (op) {
    case ReduceOp::kSum: {
      Accumulated<T> sum = 0;
      for (T x : row) sum = scalar_binary<Op::kAdd>(sum, static_cast<Accumulated<T>>(x));
      return static_cast<T>(sum);
    }
    case ReduceOp::kProduct: {
      Accumulated<T> product = 1;
      for (T x : row) {
        product = scalar_binary<Op::kMultiply>(product, static_cast<Accumulated<T>>(x));
      }
      return static_cast<T>(product);
    }
    case ReduceOp::kAny:
      return static_cast<T>(std::any_of(row.begin(), row.end(), [](T x) { return x != T(0); }));
    case ReduceOp::kAll:
      return static_cast<T>(std::all_of(row.begin(), row.end(), [](T x) { return x != T(0); }));
    default: {
      const bool greatest = op == ReduceOp::kMax;
      T best = neutral_extreme<T>(greatest);
      for (T x : row) {
        if (is_more_extreme(greatest, x, best)) best = x;
      }
      return best;
    }
  }
}

template <typename T>
std::int64_t position_of_extreme(bool greatest, std::span<const T> row) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (is_more_extreme(greatest, row[i], row[best])) best = i;
  }
  return static_cast<std::int64_t>(best);
}

template <typename T>
void reduce_row(ReduceOp op, std::span<const T> row, std::span<const Tensor> outputs,
                std::int64_t position) {
  if (op == ReduceOp::kArgMin || op == ReduceOp::kArgMax) {
    outputs[0].as<std::int64_t>()[position] = position_of_extreme(op == ReduceOp::kArgMax, row);
    return;
  }
  const DType dtype = outputs[0].dtype();
  if (op == ReduceOp::kMoments) {
    if constexpr (std::is_floating_point_v<T>) {
      double sum = 0;
      for (T x : row) sum += x;
      const double mean = sum / static_cast<double>(row.size());
      double squares = 0;
      for (T x : row) squares += (x - mean) * (x - mean);
      const T results[] = {static_cast<T>(mean), static_cast<T>(squares)};
      store_elements(dtype, &results[0], element(outputs[0], position), 1);
      store_elements(dtype, &results[1], element(outputs[1], position), 1);
    }
    return;
  }
  const T result = reduced(op, row);
  store_elements(dtype, &result, element(outputs[0], position), 1);
}

}  // namespace

Result<Sizes> NodeEvaluation::sizes(const Shape& shape) const {
  Sizes result;
  for (const Size& axis : shape) {
    TENDON_ASSIGN_OR_RETURN(const std::int64_t value, context.size(axis));
    result.push_back(value);
  }
  return result;
}

Result<Tensor> NodeEvaluation::expression(ExprId id, const Sizes& extents,
                                          const void* accumulated) const {
  TENDON_ASSIGN_OR_RETURN(ElementProgram program,
                          ElementProgram::create(graph, {id}, extents, context));
  const DType dtype = graph.pool.dtype(id);
  TENDON_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate(dtype, extents));
  TENDON_RETURN_IF_ERROR(for_strips(result.elements(), [&](std::int64_t first, int count) {
    const std::byte* from = nullptr;
    if (accumulated != nullptr) {
      from = static_cast<const std::byte*>(accumulated) +
             first * static_cast<std::int64_t>(dtype_size(dtype));
    }
    TENDON_RETURN_IF_ERROR(program.run(first, count, from));
    store_elements(dtype, program.result(id), element(result, first), count);
    return Status();
  }));
  return result;
}

Status NodeEvaluation::finish(const void* accumulated, ExprId epilogue) {
  const Tensor& output = outputs[0];
  const DType accumulator = arithmetic_type(graph.value(node.inputs[0]).dtype);
  if (epilogue == kNoExpr) {
    std::vector<std::byte> converted(kStrip * 8);
    const ElementKernel cast = cast_kernel(accumulator, output.dtype());
    return for_strips(output.elements(), [&](std::int64_t first, int count) {
      const auto* from = static_cast<const std::byte*>(accumulated) +
                         first * static_cast<std::int64_t>(dtype_size(accumulator));
      cast(converted.data(), from, nullptr, count);
      store_elements(output.dtype(), converted.data(), element(output, first), count);
      return Status();
    });
  }
  TENDON_ASSIGN_OR_RETURN(ElementProgram program,
                          ElementProgram::create(graph, {epilogue}, output.sizes(), context));
  return for_strips(output.elements(), [&](std::int64_t first, int count) {
    const auto* from = static_cast<const std::byte*>(accumulated) +
                       first * static_cast<std::int64_t>(dtype_size(accumulator));
    TENDON_RETURN_IF_ERROR(program.run(first, count, from));
    store_elements(output.dtype(), program.result(epilogue), element(output, first), count);
    return Status();
  });
}

Status evaluate_map(NodeEvaluation& e, const Map& map) {
  const Sizes extents = e.outputs[0].sizes();
  TENDON_ASSIGN_OR_RETURN(e.outputs[0], e.expression(map.body, extents));
  return Status();
}

Status evaluate_reduce(NodeEvaluation& e, const Reduce& reduce) {
  TENDON_ASSIGN_OR_RETURN(const Sizes reduced_sizes, e.sizes(reduce.reduced));
  Sizes extents = e.outputs[0].sizes();
  extents.insert(extents.end(), reduced_sizes.begin(), reduced_sizes.end());
  TENDON_ASSIGN_OR_RETURN(ElementProgram program,
                          ElementProgram::create(e.graph, {reduce.body}, extents, e.context));
  const std::int64_t row_size = tendon::element_count(reduced_sizes);
  const bool finds_position = reduce.op == ReduceOp::kArgMin || reduce.op == ReduceOp::kArgMax;
  if (finds_position && row_size == 0 && e.outputs[0].elements() != 0) {
    return Status(StatusCode::kInternal, "no extreme among no elements");
  }
  return visit_arithmetic_type(e.graph.pool.dtype(reduce.body), [&](auto zero) {
    using T = decltype(zero);
    const auto row = std::make_unique<T[]>(static_cast<std::size_t>(row_size));
    for (std::int64_t i = 0; i < e.outputs[0].elements(); ++i) {
      TENDON_RETURN_IF_ERROR(for_strips(row_size, [&](std::int64_t first, int count) {
        TENDON_RETURN_IF_ERROR(program.run(i * row_size + first, count));
        std::copy_n(static_cast<const T*>(program.result(reduce.body)), count, row.get() + first);
        return Status();
      }));
      reduce_row<T>(reduce.op, std::span(row.get(), static_cast<std::size_t>(row_size)), e.outputs,
                    i);
    }
    return Status();
  });
}

// --- scan ----------------------------------------------------------------------------------------

namespace {

/// log(exp(a) + exp(b)).
double log_add_exp(double a, double b) {
  const double least = is_nan(b) || b < a ? b : a;
  const double most = is_nan(b) || a < b ? b : a;
  if (least == most && std::isinf(least)) return a;
  return std::log1p(std::exp(least - most)) + most;
}

template <typename T>
void scan_row(ScanOp op, const T* x, std::int64_t length, std::int64_t stride, T* out,
              std::int64_t* positions) {
  Accumulated<T> total = op == ScanOp::kProduct ? 1 : 0;
  std::int64_t best = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    const T value = x[i * stride];
    const auto wide = static_cast<Accumulated<T>>(value);
    switch (op) {
      case ScanOp::kSum:
        total = scalar_binary<Op::kAdd>(total, wide);
        break;
      case ScanOp::kProduct:
        total = scalar_binary<Op::kMultiply>(total, wide);
        break;
      case ScanOp::kLogSumExp:
        if constexpr (std::is_floating_point_v<T>) {
          total = i == 0 ? wide : log_add_exp(wide, total);
        }
        break;
      case ScanOp::kMax:
      case ScanOp::kMin: {
        const T extreme = x[best * stride];
        const bool replaces = op == ScanOp::kMax ? !(value < extreme) : !(extreme < value);
        if (is_nan(value) || (!is_nan(extreme) && replaces)) best = i;
        out[i * stride] = x[best * stride];
        positions[i * stride] = best;
        continue;
      }
    }
    out[i * stride] = static_cast<T>(total);
  }
}

}  // namespace

Status evaluate_scan(NodeEvaluation& e, const Scan& scan) {
  const Tensor& output = e.outputs[0];
  TENDON_ASSIGN_OR_RETURN(const Tensor body, e.expression(scan.body, output.sizes()));
  if (output.elements() == 0) return Status();
  const auto axis = static_cast<std::size_t>(scan.axis);
  const std::int64_t length = output.sizes().empty() ? 1 : output.sizes()[axis];
  const std::int64_t stride = output.sizes().empty() ? 1 : output.strides()[axis];
  std::int64_t* positions = e.outputs.size() > 1 ? e.outputs[1].as<std::int64_t>() : nullptr;
  if ((scan.op == ScanOp::kMax || scan.op == ScanOp::kMin) && positions == nullptr) {
    return Status(StatusCode::kInternal, "scan of extremes without positions");
  }
  if (is_half(output.dtype())) return Status(StatusCode::kInternal, "scan in a half type");
  visit_arithmetic_type(output.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t outer = 0; outer < output.elements(); outer += length * stride) {
      for (std::int64_t inner = 0; inner < stride; ++inner) {
        const std::int64_t first = outer + inner;
        scan_row(scan.op, body.as<const T>() + first, length, stride, output.as<T>() + first,
                 positions == nullptr ? nullptr : positions + first);
      }
    }
  });
  return Status();
}

// --- scatter -------------------------------------------------------------------------------------

namespace {

template <typename T>
T combined(ScatterOp op, T old_value, T value) {
  switch (op) {
    case ScatterOp::kAssign:
      return value;
    case ScatterOp::kAdd:
      return scalar_binary<Op::kAdd>(old_value, value);
    case ScatterOp::kMultiply:
      return scalar_binary<Op::kMultiply>(old_value, value);
    case ScatterOp::kMin:
      return scalar_binary<Op::kMinimum>(old_value, value);
    case ScatterOp::kMax:
      return scalar_binary<Op::kMaximum>(old_value, value);
  }
  return value;
}

}  // namespace

Status evaluate_scatter(NodeEvaluation& e, const Scatter& scatter) {
  const Tensor& output = e.outputs[0];
  const Tensor& base = e.input(0);
  const DType dtype = output.dtype();
  if (base.elements() != 0) {
    std::memcpy(output.view().data, base.view().data, base.view().bytes());
  }
  TENDON_ASSIGN_OR_RETURN(const Sizes domain, e.sizes(scatter.domain));
  std::vector<ExprId> expressions;
  if (scatter.mask != kNoExpr) expressions.push_back(scatter.mask);
  expressions.insert(expressions.end(), scatter.positions.begin(), scatter.positions.end());
  expressions.push_back(scatter.value);
  TENDON_ASSIGN_OR_RETURN(
      ElementProgram program,
      ElementProgram::create(e.graph, expressions, domain, e.context, scatter.mask));

  return visit_arithmetic_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    const bool defers = scatter.float32_accumulation && scatter.op == ScatterOp::kAdd;
    const auto elements = static_cast<std::size_t>(output.elements());
    std::vector<T> increments(defers ? elements : 0);
    std::vector<bool> incremented(defers ? elements : 0);
    const auto update = [&](std::int64_t position, ScatterOp op, T value) {
      T current{};
      load_elements(dtype, element(output, position), &current, 1);
      current = combined(op, current, value);
      store_elements(dtype, &current, element(output, position), 1);
    };
    TENDON_RETURN_IF_ERROR(
        for_strips(tendon::element_count(domain), [&](std::int64_t first, int count) {
          TENDON_RETURN_IF_ERROR(program.run(first, count));
          const bool* mask = scatter.mask == kNoExpr
                                 ? nullptr
                                 : static_cast<const bool*>(program.result(scatter.mask));
          const T* values = static_cast<const T*>(program.result(scatter.value));
          for (int i = 0; i < count; ++i) {
            if (mask != nullptr && !mask[i]) continue;
            std::int64_t position = 0;
            for (std::size_t axis = 0; axis < scatter.positions.size(); ++axis) {
              const auto index =
                  static_cast<const std::int64_t*>(program.result(scatter.positions[axis]))[i];
              if (index < 0 || index >= output.sizes()[axis]) {
                return Status(StatusCode::kInternal, "store at " + std::to_string(index) +
                                                         " of axis " + std::to_string(axis) +
                                                         " of " + output.view().to_string());
              }
              position = position * output.sizes()[axis] + index;
            }
            if (!defers) {
              update(position, scatter.op, values[i]);
              continue;
            }
            const auto k = static_cast<std::size_t>(position);
            increments[k] = scalar_binary<Op::kAdd, T>(increments[k], values[i]);
            incremented[k] = true;
          }
          return Status();
        }));
    for (std::size_t k = 0; k < increments.size(); ++k) {
      if (incremented[k]) update(static_cast<std::int64_t>(k), ScatterOp::kAdd, T(increments[k]));
    }
    return Status();
  });
}

std::vector<std::int64_t> true_positions(const Tensor& mask) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < mask.elements(); ++i) {
    if (mask.as<bool>()[i]) positions.push_back(i);
  }
  return positions;
}

}  // namespace tendon::ir
