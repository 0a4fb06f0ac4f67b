// Steps that look at one number: item and assert.
#include <fmt/format.h>

#include "backends/cuda/kernel_writer.h"
#include "backends/cuda/node_steps.h"
#include "backends/cuda/symbol_definition.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

class OneThreadStep final : public Step {
 public:
  explicit OneThreadStep(Kernel kernel) : kernel_(std::move(kernel)) {}
  Status bind(const KnownSizes&) override { return {}; }
  Status enqueue(const Launch& launch) override { return kernel_.launch(launch, Grid{1, 1, 0}); }

 private:
  Kernel kernel_;
};

StepResult one_thread(KernelWriter& writer, const std::string& body) {
  TENDON_ASSIGN_OR_RETURN(Kernel kernel, writer.finish(body, 1));
  return std::unique_ptr<Step>(std::make_unique<OneThreadStep>(std::move(kernel)));
}

}  // namespace

std::string symbol_definition(const CompileContext& context, KernelWriter& writer,
                              const ir::Symbol& symbol, const std::string& value) {
  const int check = writer.check(
      StatusCode::kAborted,
      fmt::format("{} is {{index}}, outside its range [{}, {}]", symbol.name, symbol.lower,
                  symbol.upper == ir::kUnbounded ? "unbounded" : std::to_string(symbol.upper)));
  return fmt::format("define_symbol(symbols, {}, {}, {}, {}, {}, errors);\n",
                     context.symbols->number_of(symbol), value, writer.size(symbol.lower),
                     writer.size(symbol.upper), check);
}

StepResult make_item_step(const CompileContext& context, ir::NodeId id) {
  const ir::Node& node = context.plan->graph->node(id);
  const ir::Symbol& symbol = *std::get<ir::Item>(node.primitive).symbol;
  KernelWriter writer(context);
  return one_thread(writer, symbol_definition(context, writer, symbol,
                                              fmt::format("static_cast<long long>({})",
                                                          writer.element(node.inputs[0], {}))));
}

StepResult make_assert_step(const CompileContext& context, ir::NodeId id) {
  const ir::Node& node = context.plan->graph->node(id);
  const auto& assertion = std::get<ir::Assert>(node.primitive);
  KernelWriter writer(context);
  const std::string holds = assertion.condition ? writer.size(*assertion.condition) + " != 0"
                                                : writer.element(node.inputs[0], {});
  return one_thread(writer, fmt::format("if (!({})) check_failed(errors, {}, 0, 0);\n", holds,
                                        writer.check(StatusCode::kAborted, assertion.message)));
}

}  // namespace tendon::backends::cuda
