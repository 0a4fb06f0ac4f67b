#include "runtime/control_step.h"

#include <algorithm>
#include <cstring>

#include "base/status_macros.h"
#include "runtime/plan_instance.h"
#include "tensor/strided_copy.h"
#include "tensor/strided_write.h"

namespace tendon::runtime {

namespace {

using backends::Bindings;
using backends::Frame;
using ir::ValueId;

/// A value of the outer plan as a sub-graph sees it: dense and row-major, copied only if it is not.
class DenseOperand {
 public:
  DenseOperand(const schedule::Plan& plan, ValueId value) : plan_(&plan), value_(value) {}

  Status bind(const Bindings& bindings) {
    const schedule::Storage& storage = plan_->storage[static_cast<std::size_t>(value_)];
    const ir::Value& value = plan_->graph->value(value_);
    view_.dtype = value.dtype;
    view_.sizes.clear();
    view_.strides.clear();
    for (std::size_t i = 0; i < value.shape.size(); ++i) {
      TENDON_ASSIGN_OR_RETURN(const std::int64_t size, bindings.evaluate(value.shape[i]));
      TENDON_ASSIGN_OR_RETURN(const std::int64_t stride, bindings.evaluate(storage.strides[i]));
      view_.sizes.push_back(size);
      view_.strides.push_back(stride);
    }
    TENDON_ASSIGN_OR_RETURN(offset_, bindings.evaluate(storage.offset));
    dense_ = view_.is_contiguous();
    return dense_ ? Status() : copy_.reserve(bytes());
  }

  std::byte* read(const Frame& frame) {
    std::byte* data = address(frame);
    if (dense_) return data;
    view_.data = data;
    tensor::copy_to_contiguous(view_, copy_.data());
    return copy_.data();
  }
  /// Writes dense memory to the value.
  void write(const Frame& frame, const std::byte* data) {
    std::byte* target = address(frame);
    if (dense_) {
      if (bytes() > 0) std::memmove(target, data, static_cast<std::size_t>(bytes()));
      return;
    }
    view_.data = target;
    tensor::copy_from_contiguous(data, view_);
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(view_.bytes()); }
  std::int64_t bytes_of_slice() const {
    return view_.sizes.empty() || view_.sizes[0] == 0 ? 0 : bytes() / view_.sizes[0];
  }

 private:
  std::byte* address(const Frame& frame) const {
    const schedule::Storage& storage = plan_->storage[static_cast<std::size_t>(value_)];
    return frame.buffers[static_cast<std::size_t>(storage.buffer)] +
           offset_ * static_cast<std::int64_t>(dtype_size(view_.dtype));
  }

  const schedule::Plan* plan_;
  ValueId value_;
  TensorView view_;
  std::int64_t offset_ = 0;
  bool dense_ = true;
  Reservation copy_;
};

/// A sub-graph's plan with memory for its outputs.
class SubProgram {
 public:
  static Result<SubProgram> create(const backends::CompileContext& context,
                                   const ir::Graph* graph) {
    for (const auto& [key, plan] : context.plan->subplans) {
      if (key != graph) continue;
      TENDON_ASSIGN_OR_RETURN(auto instance,
                              PlanInstance::create(plan, *context.shared, context.threads));
      return SubProgram(std::move(instance));
    }
    return Status(StatusCode::kInternal, "a sub-graph has no plan");
  }

  Status bind(SymbolTable& symbols) {
    TENDON_RETURN_IF_ERROR(instance_->bind(symbols));
    const auto& buffers = instance_->plan().buffers;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].kind != schedule::Buffer::Kind::kOutput) continue;
      TENDON_ASSIGN_OR_RETURN(const std::int64_t bytes,
                              instance_->bound_bytes(static_cast<schedule::BufferId>(i), symbols));
      const auto index = static_cast<std::size_t>(buffers[i].index);
      if (memory_.size() <= index) memory_.resize(index + 1);
      TENDON_RETURN_IF_ERROR(memory_[index].reserve(bytes));
    }
    outputs_.clear();
    for (Reservation& memory : memory_) outputs_.push_back(memory.data());
    return {};
  }

  Status run(std::span<std::byte* const> inputs, SymbolTable& symbols, FirstError& errors) {
    return instance_->run(RunMemory{inputs, {}, outputs_}, symbols, errors);
  }
  std::byte* output(std::size_t i) const { return outputs_[i]; }

 private:
  explicit SubProgram(std::unique_ptr<PlanInstance> instance) : instance_(std::move(instance)) {}
  std::unique_ptr<PlanInstance> instance_;
  std::vector<Reservation> memory_;
  std::vector<std::byte*> outputs_;
};

class ControlStep : public backends::Step {
 public:
  ControlStep(const backends::CompileContext& context, ir::NodeId node)
      : plan_(*context.plan), node_(context.plan->graph->node(node)) {
    for (ValueId input : node_.inputs) inputs_.emplace_back(plan_, input);
    for (ValueId output : node_.outputs) outputs_.emplace_back(plan_, output);
    addresses_.resize(inputs_.size());
  }

  Status bind(const Bindings& bindings) override {
    for (DenseOperand& operand : inputs_) TENDON_RETURN_IF_ERROR(operand.bind(bindings));
    for (DenseOperand& operand : outputs_) TENDON_RETURN_IF_ERROR(operand.bind(bindings));
    return {};
  }

 protected:
  void read_inputs(const Frame& frame) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) addresses_[i] = inputs_[i].read(frame);
  }
  static SymbolTable& symbols(const Frame& frame) {
    return static_cast<SymbolTable&>(*frame.bindings);
  }
  static FirstError& errors(const Frame& frame) { return static_cast<FirstError&>(*frame.errors); }

  const schedule::Plan& plan_;
  const ir::Node& node_;
  std::vector<DenseOperand> inputs_, outputs_;
  std::vector<std::byte*> addresses_;
};

class BranchStep final : public ControlStep {
 public:
  BranchStep(const backends::CompileContext& context, ir::NodeId node, SubProgram then_program,
             SubProgram else_program)
      : ControlStep(context, node),
        branch_(std::get<ir::Branch>(node_.primitive)),
        programs_{std::move(then_program), std::move(else_program)} {}

  Status run(const Frame& frame) override {
    read_inputs(frame);
    std::span<std::byte* const> operands(addresses_);
    bool condition = false;
    if (branch_.condition) {
      TENDON_ASSIGN_OR_RETURN(const std::int64_t value,
                              frame.bindings->evaluate(*branch_.condition));
      condition = value != 0;
    } else {
      condition = *reinterpret_cast<const std::uint8_t*>(addresses_[0]) != 0;
      operands = operands.subspan(1);
    }
    SubProgram& program = programs_[condition ? 0 : 1];
    TENDON_RETURN_IF_ERROR(program.bind(symbols(frame)));
    TENDON_RETURN_IF_ERROR(program.run(operands, symbols(frame), errors(frame)));
    for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i].write(frame, program.output(i));
    return {};
  }

 private:
  const ir::Branch& branch_;
  SubProgram programs_[2];
};

/// Carried values alternate between the body's outputs and memory of their own.
class CarriedValues {
 public:
  Status reserve(std::size_t count, const std::vector<DenseOperand>& like) {
    memory_.resize(count);
    for (std::size_t i = 0; i < count; ++i)
      TENDON_RETURN_IF_ERROR(memory_[i].reserve(std::max<std::int64_t>(like[i].bytes(), 1)));
    return {};
  }
  void set(std::size_t i, const std::byte* data, std::int64_t bytes) {
    if (bytes > 0) std::memcpy(memory_[i].data(), data, static_cast<std::size_t>(bytes));
  }
  std::byte* data(std::size_t i) const { return memory_[i].data(); }

 private:
  std::vector<Reservation> memory_;
};

class WhileStep final : public ControlStep {
 public:
  WhileStep(const backends::CompileContext& context, ir::NodeId node, SubProgram condition,
            SubProgram body)
      : ControlStep(context, node),
        carried_(static_cast<std::size_t>(std::get<ir::While>(node_.primitive).carried)),
        condition_(std::move(condition)),
        body_(std::move(body)) {}

  Status bind(const Bindings& bindings) override {
    TENDON_RETURN_IF_ERROR(ControlStep::bind(bindings));
    return values_.reserve(carried_, inputs_);
  }

  Status run(const Frame& frame) override {
    read_inputs(frame);
    for (std::size_t i = 0; i < carried_; ++i) {
      values_.set(i, addresses_[i], inputs_[i].bytes());
      addresses_[i] = values_.data(i);
    }
    TENDON_RETURN_IF_ERROR(condition_.bind(symbols(frame)));
    TENDON_RETURN_IF_ERROR(body_.bind(symbols(frame)));
    while (true) {
      TENDON_RETURN_IF_ERROR(condition_.run(addresses_, symbols(frame), errors(frame)));
      if (*reinterpret_cast<const std::uint8_t*>(condition_.output(0)) == 0) break;
      TENDON_RETURN_IF_ERROR(body_.run(addresses_, symbols(frame), errors(frame)));
      for (std::size_t i = 0; i < carried_; ++i)
        values_.set(i, body_.output(i), inputs_[i].bytes());
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i].write(frame, values_.data(i));
    return {};
  }

 private:
  std::size_t carried_;
  SubProgram condition_, body_;
  CarriedValues values_;
};

class LoopStep final : public ControlStep {
 public:
  LoopStep(const backends::CompileContext& context, ir::NodeId node, SubProgram body)
      : ControlStep(context, node),
        loop_(std::get<ir::Loop>(node_.primitive)),
        body_(std::move(body)) {}

  Status bind(const Bindings& bindings) override {
    TENDON_RETURN_IF_ERROR(ControlStep::bind(bindings));
    TENDON_RETURN_IF_ERROR(carried_values_.reserve(carried(), inputs_));
    stacked_.resize(outputs_.size());
    for (std::size_t i = carried(); i < outputs_.size(); ++i) {
      TENDON_RETURN_IF_ERROR(stacked_[i].reserve(std::max<std::int64_t>(outputs_[i].bytes(), 1)));
    }
    return {};
  }

  Status run(const Frame& frame) override {
    read_inputs(frame);
    for (std::size_t i = 0; i < carried(); ++i) {
      carried_values_.set(i, addresses_[i], inputs_[i].bytes());
      addresses_[i] = carried_values_.data(i);
    }
    TENDON_ASSIGN_OR_RETURN(const std::int64_t length, frame.bindings->evaluate(loop_.length));
    const std::size_t last = carried() + static_cast<std::size_t>(loop_.iterated);
    TENDON_RETURN_IF_ERROR(body_.bind(symbols(frame)));
    for (std::int64_t t = 0; t < length; ++t) {
      TENDON_RETURN_IF_ERROR(body_.run(addresses_, symbols(frame), errors(frame)));
      for (std::size_t i = 0; i < carried(); ++i) {
        carried_values_.set(i, body_.output(i), inputs_[i].bytes());
      }
      for (std::size_t i = carried(); i < outputs_.size(); ++i) {
        const std::int64_t bytes = outputs_[i].bytes_of_slice();
        if (bytes > 0) {
          std::memcpy(stacked_[i].data() + t * bytes, body_.output(i),
                      static_cast<std::size_t>(bytes));
        }
      }
      for (std::size_t i = carried(); i < last; ++i) addresses_[i] += inputs_[i].bytes_of_slice();
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      outputs_[i].write(frame, i < carried() ? carried_values_.data(i) : stacked_[i].data());
    }
    return {};
  }

 private:
  std::size_t carried() const { return static_cast<std::size_t>(loop_.carried); }
  const ir::Loop& loop_;
  SubProgram body_;
  CarriedValues carried_values_;
  std::vector<Reservation> stacked_;
};

}  // namespace

bool is_control_flow(const ir::Primitive& primitive) {
  return std::holds_alternative<ir::Branch>(primitive) ||
         std::holds_alternative<ir::While>(primitive) ||
         std::holds_alternative<ir::Loop>(primitive);
}

Result<std::unique_ptr<backends::Step>> make_control_step(const backends::CompileContext& context,
                                                          ir::NodeId id) {
  const ir::Primitive& primitive = context.plan->graph->node(id).primitive;
  std::unique_ptr<backends::Step> step;
  if (const auto* branch = std::get_if<ir::Branch>(&primitive)) {
    TENDON_ASSIGN_OR_RETURN(SubProgram then_program,
                            SubProgram::create(context, branch->then_graph.get()));
    TENDON_ASSIGN_OR_RETURN(SubProgram else_program,
                            SubProgram::create(context, branch->else_graph.get()));
    step =
        std::make_unique<BranchStep>(context, id, std::move(then_program), std::move(else_program));
  } else if (const auto* loop = std::get_if<ir::While>(&primitive)) {
    TENDON_ASSIGN_OR_RETURN(SubProgram condition,
                            SubProgram::create(context, loop->condition.get()));
    TENDON_ASSIGN_OR_RETURN(SubProgram body, SubProgram::create(context, loop->body.get()));
    step = std::make_unique<WhileStep>(context, id, std::move(condition), std::move(body));
  } else {
    TENDON_ASSIGN_OR_RETURN(SubProgram body,
                            SubProgram::create(context, std::get<ir::Loop>(primitive).body.get()));
    step = std::make_unique<LoopStep>(context, id, std::move(body));
  }
  return step;
}

}  // namespace tendon::runtime
