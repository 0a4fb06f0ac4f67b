#include "ir/element_program.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "base/half.h"
#include "base/status_macros.h"
#include "ir/philox.h"

namespace tendon::ir {

namespace {

bool reads_mask(Op op) { return op == Op::kMaskedLoad; }

void replace_all(std::string& text, std::string_view what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

}  // namespace

Result<ElementProgram> ElementProgram::create(const Graph& graph, std::vector<ExprId> expressions,
                                              Sizes extents, const ElementContext& context,
                                              ExprId guard) {
  ElementProgram program;
  program.extents_ = std::move(extents);
  program.strides_ = tendon::contiguous_strides(program.extents_);
  for (ExprId root : expressions) {
    for (ExprId id : graph.pool.topological(root)) {
      if (program.step_of_expression_.contains(id)) continue;
      TENDON_ASSIGN_OR_RETURN(Step step, program.make_step(graph, id, context));
      program.step_of_expression_.emplace(id, static_cast<std::int32_t>(program.steps_.size()));
      program.steps_.push_back(std::move(step));
    }
    program.roots_.push_back(program.step_of(root));
  }
  if (guard != kNoExpr) program.guard_ = program.step_of(guard);
  program.slots_ = std::make_unique<std::byte[]>(program.steps_.size() * kStrip * 8);
  for (const auto& [id, index] : program.step_of_expression_) {
    program.fill_constant(graph.pool.node(id), program.steps_[static_cast<std::size_t>(index)],
                          index);
  }
  return program;
}

Result<ElementProgram::Step> ElementProgram::make_step(const Graph& graph, ExprId id,
                                                       const ElementContext& context) {
  const ExprPool& pool = graph.pool;
  const ExprNode& node = pool.node(id);
  Step step;
  step.op = node.op;
  step.dtype = node.dtype;
  for (ExprId argument : pool.arguments(id)) step.arguments.push_back(step_of(argument));
  if (!step.arguments.empty()) step.argument_dtype = pool.dtype(pool.arguments(id).front());
  const auto defect = [&](const std::string& what) {
    return Status(StatusCode::kInternal, what + " in expression " + pool.to_string(id));
  };
  switch (node.op) {
    case Op::kConstant:
    case Op::kAccumulator:
    case Op::kPhilox:
    case Op::kSelect:
      break;
    case Op::kIndex:
      step.axis = static_cast<int>(node.payload);
      if (node.payload < 0 || static_cast<std::size_t>(node.payload) >= extents_.size()) {
        return defect("axis outside the iteration space");
      }
      break;
    case Op::kSize: {
      TENDON_ASSIGN_OR_RETURN(step.size, context.size(pool.size_of(id)));
      break;
    }
    case Op::kCheckIndex: {
      step.check = &pool.check_of(id);
      TENDON_ASSIGN_OR_RETURN(step.size, context.size(step.check->size));
      break;
    }
    case Op::kLoad:
    case Op::kMaskedLoad: {
      const std::size_t positions = step.arguments.size() - (reads_mask(node.op) ? 1 : 0);
      if (node.payload < 0 || static_cast<std::size_t>(node.payload) >= context.values.size()) {
        return defect("load of a value that does not exist");
      }
      step.value_id = static_cast<ValueId>(node.payload);
      step.value = &context.values[static_cast<std::size_t>(node.payload)];
      if (step.value->dtype() != node.dtype || step.value->sizes().size() != positions) {
        return defect("load of another type than " + step.value->view().to_string());
      }
      if (step.value->view().data == nullptr && step.value->elements() != 0) {
        return defect("load of a value that is not known yet");
      }
      break;
    }
    case Op::kCast:
      step.kernel = cast_kernel(step.argument_dtype, node.dtype);
      break;
    case Op::kBitcast:
      if (dtype_size(step.argument_dtype) != dtype_size(node.dtype)) {
        return defect("reinterpretation as a type of another size");
      }
      break;
    default:
      step.kernel = element_kernel(node.op, step.argument_dtype);
      step.rounding = rounding_kernel(node.dtype);
      if (step.kernel == nullptr) {
        return defect("no " + std::string(op_name(node.op)) + " of " +
                      std::string(dtype_name(step.argument_dtype)));
      }
  }
  return step;
}

void ElementProgram::fill_constant(const ExprNode& node, const Step& step, std::int32_t index) {
  if (node.op != Op::kConstant && node.op != Op::kSize) return;
  visit_arithmetic_type(node.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = reinterpret_cast<T*>(slot(index));
    if (node.op == Op::kSize) {
      std::fill_n(out, kStrip, static_cast<T>(step.size));
    } else if constexpr (std::is_floating_point_v<T>) {
      std::fill_n(out, kStrip, static_cast<T>(std::bit_cast<double>(node.payload)));
    } else {
      std::fill_n(out, kStrip, static_cast<T>(node.payload));
    }
  });
}

Status ElementProgram::run(std::int64_t first, int count, const void* accumulator) {
  bool failed = false;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    compute(static_cast<std::int32_t>(i), first, count, accumulator);
    failed |= steps_[i].failed;
  }
  return failed ? failure(count) : Status();
}

const void* ElementProgram::result(ExprId expression) const { return slot(step_of(expression)); }

void ElementProgram::compute(std::int32_t index, std::int64_t first, int count,
                             const void* accumulator) {
  Step& step = steps_[static_cast<std::size_t>(index)];
  std::byte* out = slot(index);
  switch (step.op) {
    case Op::kConstant:
    case Op::kSize:
      return;
    case Op::kIndex:
      return fill_index(step, reinterpret_cast<std::int64_t*>(out), first, count);
    case Op::kAccumulator:
      std::memcpy(out, accumulator,
                  static_cast<std::size_t>(count) * dtype_size(arithmetic_type(step.dtype)));
      return;
    case Op::kLoad:
    case Op::kMaskedLoad:
      return load(step, index, count);
    case Op::kCheckIndex:
      return check_index(step, index, count);
    case Op::kSelect:
      return select(step, out, count);
    case Op::kBitcast:
      return bitcast(step, out, count);
    case Op::kPhilox: {
      const auto* seed = elements<std::int64_t>(step.arguments[0]);
      const auto* stream = elements<std::int64_t>(step.arguments[1]);
      const auto* counter = elements<std::int64_t>(step.arguments[2]);
      auto* bits = reinterpret_cast<std::int64_t*>(out);
      for (int i = 0; i < count; ++i) bits[i] = philox_bits(seed[i], stream[i], counter[i]);
      return;
    }
    default:
      step.kernel(out, slot(step.arguments[0]),
                  step.arguments.size() > 1 ? slot(step.arguments[1]) : nullptr, count);
      if (step.rounding != nullptr) step.rounding(out, out, nullptr, count);
  }
}

void ElementProgram::fill_index(const Step& step, std::int64_t* out, std::int64_t first,
                                int count) const {
  const std::int64_t extent = extents_[static_cast<std::size_t>(step.axis)];
  const std::int64_t stride = strides_[static_cast<std::size_t>(step.axis)];
  std::int64_t position = first / stride % extent;
  std::int64_t until_next = stride - first % stride;
  for (int i = 0; i < count; ++i) {
    out[i] = position;
    if (--until_next == 0) {
      until_next = stride;
      if (++position == extent) position = 0;
    }
  }
}

void ElementProgram::load(Step& step, std::int32_t index, int count) {
  const bool masked = reads_mask(step.op);
  const bool* mask = masked ? elements<bool>(step.arguments[0]) : nullptr;
  std::array<std::int64_t, kStrip> offset{};
  std::array<bool, kStrip> present;
  for (int i = 0; i < count; ++i) {
    present[static_cast<std::size_t>(i)] = !masked || mask[i];
  }
  const std::size_t first_position = masked ? 1 : 0;
  const Sizes& sizes = step.value->sizes();
  step.failed = false;
  std::int64_t stride = 1;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    const auto* position = elements<std::int64_t>(step.arguments[first_position + axis]);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      if (present[i] && (position[i] < 0 || position[i] >= sizes[axis])) {
        present[i] = false;
        step.failed = true;
      }
      // Unsigned: an absent element's position may be anything.
      offset[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(offset[i]) +
                                            static_cast<std::uint64_t>(position[i]) *
                                                static_cast<std::uint64_t>(stride));
    }
    stride *= sizes[axis];
  }
  const auto gather = [&]<typename Memory, typename T>(const Memory* memory, T* out) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      out[i] = present[i] ? static_cast<T>(memory[offset[i]]) : T(0);
    }
  };
  std::byte* out = slot(index);
  const void* data = step.value->view().data;
  if (step.dtype == DType::kFloat16) {
    gather(static_cast<const Float16*>(data), reinterpret_cast<float*>(out));
  } else if (step.dtype == DType::kBFloat16) {
    gather(static_cast<const BFloat16*>(data), reinterpret_cast<float*>(out));
  } else {
    visit_arithmetic_type(step.dtype, [&](auto zero) {
      using T = decltype(zero);
      gather(static_cast<const T*>(data), reinterpret_cast<T*>(out));
    });
  }
}

void ElementProgram::check_index(Step& step, std::int32_t index, int count) {
  const auto* position = elements<std::int64_t>(step.arguments[0]);
  auto* out = reinterpret_cast<std::int64_t*>(slot(index));
  step.failed = false;
  for (int i = 0; i < count; ++i) {
    const bool wraps = step.check->wrap && position[i] < 0;
    const std::int64_t wrapped = wraps ? position[i] + step.size : position[i];
    const bool inside = wrapped >= 0 && wrapped < step.size;
    out[i] = inside ? wrapped : 0;
    step.failed |= !inside;
  }
}

void ElementProgram::bitcast(const Step& step, void* out, int count) const {
  std::array<std::byte, kStrip * 8> bits;
  store_elements(step.argument_dtype, slot(step.arguments[0]), bits.data(), count);
  load_elements(step.dtype, bits.data(), out, count);
}

void ElementProgram::select(const Step& step, void* out, int count) const {
  const bool* condition = elements<bool>(step.arguments[0]);
  visit_arithmetic_type(step.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* then_value = elements<T>(step.arguments[1]);
    const T* else_value = elements<T>(step.arguments[2]);
    T* result = static_cast<T*>(out);
    for (int i = 0; i < count; ++i) result[i] = condition[i] ? then_value[i] : else_value[i];
  });
}

/// Whether the check or load of a failed step fails for this element, going by its arguments.
bool ElementProgram::element_failed(const Step& step, int element) const {
  if (step.op == Op::kCheckIndex) {
    const std::int64_t position = elements<std::int64_t>(step.arguments[0])[element];
    const std::int64_t wrapped = step.check->wrap && position < 0 ? position + step.size : position;
    return wrapped < 0 || wrapped >= step.size;
  }
  const std::size_t first = reads_mask(step.op) ? 1 : 0;
  if (first == 1 && !elements<bool>(step.arguments[0])[element]) return false;
  for (std::size_t axis = 0; axis < step.value->sizes().size(); ++axis) {
    const std::int64_t position = elements<std::int64_t>(step.arguments[first + axis])[element];
    if (position < 0 || position >= step.value->sizes()[axis]) return true;
  }
  return false;
}

/// A failure counts only for elements that some result needs: positions of a masked load do not
/// matter where the mask is false, and nothing does where the guard is.
Status ElementProgram::failure(int count) const {
  using Needs = std::array<bool, kStrip>;
  std::vector<Needs> needed(steps_.size(), Needs{});
  const auto need = [&](std::int32_t step, const Needs& where, const bool* mask) {
    Needs& target = needed[static_cast<std::size_t>(step)];
    for (int i = 0; i < count; ++i) {
      const auto k = static_cast<std::size_t>(i);
      target[k] = target[k] || (where[k] && (mask == nullptr || mask[i]));
    }
  };
  Needs everywhere;
  everywhere.fill(true);
  for (std::int32_t root : roots_) {
    const bool guarded = guard_ >= 0 && root != guard_;
    need(root, everywhere, guarded ? elements<bool>(guard_) : nullptr);
  }
  for (std::size_t i = steps_.size(); i-- > 0;) {
    const Step& step = steps_[i];
    for (std::size_t k = 0; k < step.arguments.size(); ++k) {
      const bool masked = reads_mask(step.op) && k > 0;
      need(step.arguments[k], needed[i], masked ? elements<bool>(step.arguments[0]) : nullptr);
    }
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    for (int k = 0; step.failed && k < count; ++k) {
      if (!needed[i][static_cast<std::size_t>(k)] || !element_failed(step, k)) continue;
      if (step.op != Op::kCheckIndex) {
        return Status(StatusCode::kInternal, "load outside %" + std::to_string(step.value_id) +
                                                 ": " + step.value->view().to_string());
      }
      std::string message = step.check->message;
      replace_all(message, "{index}", std::to_string(elements<std::int64_t>(step.arguments[0])[k]));
      replace_all(message, "{size}", std::to_string(step.size));
      return Status(StatusCode::kOutOfRange, message);
    }
  }
  return Status();
}

}  // namespace tendon::ir
