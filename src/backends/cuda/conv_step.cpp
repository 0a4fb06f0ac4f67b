// Convolutions.
#include <fmt/format.h>

#include "backends/cuda/product_epilogue.h"
#include "backends/cuda/product_steps.h"
#include "backends/cuda/tiled_kernel.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

constexpr std::size_t kMaxSpatialAxes = 3;

/// A convolution as a product for every group: rows are the points of the output, columns its
/// channels, and the inner axis is the window's positions and input channels, which lie next to one
/// another where channels are last in memory.
class ConvText {
 public:
  ConvText(const CompileContext& context, const ir::Node& node)
      : context_(context),
        node_(node),
        conv_(std::get<ir::Conv>(node.primitive)),
        writer_(context),
        x_(shape(node.inputs[0])),
        w_(shape(node.inputs[1])),
        y_(shape(node.outputs[0])),
        axes_(conv_.stride.size()) {}

  Result<TiledKernel> make() {
    const ir::Size groups = conv_.groups;
    const ir::Size in_group = ir::floor_div(x_[1], groups);
    out_group_ = writer_.size(ir::floor_div(y_[1], groups));
    in_group_ = writer_.size(in_group);
    ir::Shape points = {y_[0]};
    points.insert(points.end(), y_.begin() + 2, y_.end());
    window_.assign(w_.begin() + 2, w_.end());
    window_.push_back(in_group);

    TiledText text;
    text.sum = sum_type(context_.plan->graph->value(node_.inputs[0]).dtype);
    text.batch = {groups};
    text.batch_names = TiledKernel::batch_names(1);
    group_ = text.batch_names[0];
    text.rows = ir::element_count(points);
    text.columns = ir::floor_div(y_[1], groups);
    text.inner = ir::element_count(window_);
    text.a_line = point(points);
    text.a_element = input_element(text.sum);
    text.b_line = "return ProductLine{{column, 0, 0, 0}};\n";
    text.b_element = weight_element(text.sum);
    text.store = store(points);
    return TiledKernel::make(writer_, text);
  }

 private:
  const ir::Shape& shape(ir::ValueId value) const {
    return context_.plan->graph->value(value).shape;
  }

  /// Image and position of row number `row`; the position as the window's first element sees it.
  std::string point(const ir::Shape& points) {
    std::vector<std::string> at;
    std::string text = writer_.split("row", points, "point", at);
    std::string line = at[0];
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      const std::string before = writer_.size(conv_.padding_before[axis]);
      line += conv_.transposed
                  ? fmt::format(", {} + {}", at[axis + 1], before)
                  : fmt::format(", {} * {}ll - {}", at[axis + 1], conv_.stride[axis], before);
    }
    for (std::size_t axis = axes_; axis < kMaxSpatialAxes; ++axis) line += ", 0";
    return text + fmt::format("return ProductLine{{{{{}}}}};\n", line);
  }

  std::string input_element(const std::string& sum) {
    std::vector<std::string> at;
    std::string text = writer_.split("k", window_, "tap", at);
    std::vector<std::string> positions = {
        "line.at[0]", fmt::format("({} * {} + {})", group_, in_group_, at[axes_])};
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      const std::string name = writer_.fresh_name("from");
      const char sign = conv_.transposed ? '-' : '+';
      text += fmt::format("{}long long {} = line.at[{}] {} {} * {}ll;\n",
                          conv_.transposed ? "" : "const ", name, axis + 1, sign, at[axis],
                          conv_.dilation[axis]);
      if (conv_.transposed) {
        text += fmt::format("if ({0} < 0 || {0} % {1}ll != 0) return {2}(0);\n{0} /= {1}ll;\n",
                            name, conv_.stride[axis], typed(sum));
      }
      text += fmt::format("if ({0} < 0 || {0} >= {1}) return {2}(0);\n", name,
                          writer_.size(x_[axis + 2]), typed(sum));
      positions.push_back(name);
    }
    return text +
           fmt::format("return {}({});\n", typed(sum), writer_.load(node_.inputs[0], positions));
  }

  std::string weight_element(const std::string& sum) {
    std::vector<std::string> at;
    std::string text = writer_.split("k", window_, "tap", at);
    std::vector<std::string> positions;
    if (conv_.transposed) {
      positions = {fmt::format("({} * {} + {})", group_, in_group_, at[axes_]), "line.at[0]"};
    } else {
      positions = {fmt::format("({} * {} + line.at[0])", group_, out_group_), at[axes_]};
    }
    positions.insert(positions.end(), at.begin(), at.begin() + static_cast<std::ptrdiff_t>(axes_));
    return text +
           fmt::format("return {}({});\n", typed(sum), writer_.load(node_.inputs[1], positions));
  }

  std::string store(const ir::Shape& points) {
    std::vector<std::string> at;
    std::string text = writer_.split("row", points, "point", at);
    text += fmt::format("const long long channel = {} * {} + column;\n", group_, out_group_);
    at.insert(at.begin() + 1, "channel");
    return text + store_product(writer_, context_, node_, conv_.epilogue, at, "sum");
  }

  static std::string typed(const std::string& sum) { return fmt::format("static_cast<{}>", sum); }

  const CompileContext& context_;
  const ir::Node& node_;
  const ir::Conv& conv_;
  KernelWriter writer_;
  const ir::Shape &x_, &w_, &y_;
  std::size_t axes_;
  ir::Shape window_;  // the inner axis: the window's axes, then the channels of a group
  std::string group_, in_group_, out_group_;
};

/// Any types, layouts and paddings, sizes that only the device knows.
class TiledConvStep final : public Step {
 public:
  static StepResult make(const CompileContext& context, ir::NodeId id) {
    const ir::Node& node = context.plan->graph->node(id);
    const std::size_t axes = std::get<ir::Conv>(node.primitive).stride.size();
    if (axes < 1 || axes > kMaxSpatialAxes) {
      return Status(StatusCode::kUnimplemented, fmt::format("a convolution over {} axes", axes));
    }
    auto step = std::make_unique<TiledConvStep>();
    TENDON_ASSIGN_OR_RETURN(step->kernel_, ConvText(context, node).make());
    return StepResult(std::move(step));
  }
  Status bind(const KnownSizes& sizes) override { return kernel_.bind(sizes); }
  Status enqueue(const Launch& launch) override { return kernel_.enqueue(launch); }

 private:
  TiledKernel kernel_;
};

}  // namespace

StepResult make_conv_step(const CompileContext& context, ir::NodeId node) {
  return TiledConvStep::make(context, node);
}

}  // namespace tendon::backends::cuda
