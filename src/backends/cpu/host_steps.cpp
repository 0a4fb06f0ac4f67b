// Steps that look at one number: item and assert.
#include <cstring>

#include "backends/cpu/node_body.h"
#include "backends/cpu/node_steps.h"
#include "base/status_macros.h"

namespace tendon::backends::cpu {
namespace {

template <typename T>
std::int64_t read(const std::byte* memory) {
  T value;
  std::memcpy(&value, memory, sizeof(T));
  return static_cast<std::int64_t>(value);
}

std::int64_t read_integer(const std::byte* memory, DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8:
      return read<std::uint8_t>(memory);
    case DType::kInt8:
      return read<std::int8_t>(memory);
    case DType::kInt16:
      return read<std::int16_t>(memory);
    case DType::kUInt16:
      return read<std::uint16_t>(memory);
    case DType::kInt32:
      return read<std::int32_t>(memory);
    case DType::kUInt32:
      return read<std::uint32_t>(memory);
    default:
      return read<std::int64_t>(memory);
  }
}

class ItemStep final : public backends::Step {
 public:
  ItemStep(const schedule::Plan& plan, ir::ValueId input, ir::SymbolRef symbol,
           BoundLocation location)
      : plan_(plan), input_(input), symbol_(std::move(symbol)), location_(std::move(location)) {}

  Status bind(const Bindings& bindings) override { return location_.bind(plan_, input_, bindings); }
  Status run(const Frame& frame) override {
    frame.bindings->define(*symbol_, read_integer(location_.data(frame), location_.dtype));
    return Status();
  }

 private:
  const schedule::Plan& plan_;
  ir::ValueId input_;
  ir::SymbolRef symbol_;
  BoundLocation location_;
};

/// The condition is a size, or else the element at `location`.
class AssertStep final : public backends::Step {
 public:
  AssertStep(const schedule::Plan& plan, const ir::Assert& assertion, ir::ValueId input,
             BoundLocation location)
      : plan_(plan), assertion_(assertion), input_(input), location_(std::move(location)) {}

  Status bind(const Bindings& bindings) override {
    if (!assertion_.condition) return location_.bind(plan_, input_, bindings);
    TENDON_ASSIGN_OR_RETURN(holds_, bindings.evaluate(*assertion_.condition));
    return Status();
  }
  Status run(const Frame& frame) override {
    if (!assertion_.condition) holds_ = read_integer(location_.data(frame), location_.dtype);
    if (holds_ == 0) return Status(StatusCode::kAborted, assertion_.message);
    return Status();
  }

 private:
  const schedule::Plan& plan_;
  const ir::Assert& assertion_;
  ir::ValueId input_;
  BoundLocation location_;
  std::int64_t holds_ = 1;
};

}  // namespace

StepResult make_item_step(const CompileContext& context, ir::NodeId id) {
  const ir::Node& node = context.plan->graph->node(id);
  TENDON_ASSIGN_OR_RETURN(BoundLocation location,
                          BoundLocation::make(*context.plan, node.inputs[0]));
  return std::unique_ptr<backends::Step>(
      std::make_unique<ItemStep>(*context.plan, node.inputs[0],
                                 std::get<ir::Item>(node.primitive).symbol, std::move(location)));
}

StepResult make_assert_step(const CompileContext& context, ir::NodeId id) {
  const ir::Node& node = context.plan->graph->node(id);
  const auto& assertion = std::get<ir::Assert>(node.primitive);
  ir::ValueId input = -1;
  BoundLocation location;
  if (!assertion.condition) {
    input = node.inputs[0];
    TENDON_ASSIGN_OR_RETURN(location, BoundLocation::make(*context.plan, input));
  }
  return std::unique_ptr<backends::Step>(
      std::make_unique<AssertStep>(*context.plan, assertion, input, std::move(location)));
}

}  // namespace tendon::backends::cpu
