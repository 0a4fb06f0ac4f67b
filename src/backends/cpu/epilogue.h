// What follows a product, element by element.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/node_body.h"

namespace tendon::backends::cpu {

/// The parts of an epilogue that the math library applies itself: relu((acc + bias[c]) + residual).
struct SimpleEpilogue {
  std::optional<ir::ValueId> bias;      // a value per channel
  std::optional<ir::ValueId> residual;  // a value per element, of the output's shape
  bool relu = false;
};

/// Reads an epilogue as a simple one over the output's axes, `channel` being the axis of the bias;
/// nothing if it is anything else, or if bias and residual do not lie in memory as the output does.
std::optional<SimpleEpilogue> match_simple_epilogue(const schedule::Plan& plan,
                                                    const ir::Node& node, ir::ExprId epilogue,
                                                    int channel);

/// Evaluates an epilogue (none: a conversion) over a product that lies dense in memory, and stores
/// the output. The product may be the output's own memory if both have the same type and layout.
class Epilogue {
 public:
  /// `order`: the axes in which the product lies in memory, slowest first.
  static Result<std::unique_ptr<Epilogue>> make(const schedule::Plan& plan, const ir::Node& node,
                                                ir::ExprId expression, std::vector<int> order,
                                                int threads);
  Status bind(const Bindings& bindings);
  std::size_t scratch_bytes() const;
  void run(const Frame& frame, std::byte* scratch, const std::byte* product, DType product_type);

 private:
  std::unique_ptr<NodeBody> body_;
  std::vector<TileWorkspace> workspaces_;
  CheckState checks_;
  int threads_ = 1;
  /// How the expression reads the product; integers are summed wider than that.
  std::optional<DType> accumulator_;
};

}  // namespace tendon::backends::cpu
