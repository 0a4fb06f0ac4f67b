// Stores through computed positions, as if one after the other.
//
// The last assignment to an element is the one of the largest point: points compete for elements,
// winners store. Integer sums and extremes are the same in any order. For everything else, points
// are sorted by element, and a thread for each element combines its points in order.
#include <fmt/format.h>

#include <array>

#include "backends/cuda/entry_sort.h"
#include "backends/cuda/node_steps.h"
#include "backends/cuda/point_kernel.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

using ir::ScatterOp;

/// The operation of scalar_math.h that combines an element with a value.
const char* operation(ScatterOp op) {
  switch (op) {
    case ScatterOp::kMultiply:
      return "Op::kMultiply";
    case ScatterOp::kMin:
      return "Op::kMinimum";
    case ScatterOp::kMax:
      return "Op::kMaximum";
    default:
      return "Op::kAdd";
  }
}

/// The same for combine_atomically; null where the GPU has no such instruction.
const char* atomic_operation(ScatterOp op, DType dtype) {
  const bool whole = dtype == DType::kInt32 || dtype == DType::kInt64 || dtype == DType::kUInt32 ||
                     dtype == DType::kUInt64;
  if (!whole) return nullptr;
  switch (op) {
    case ScatterOp::kAdd:
      return "AtomicCombine::kAdd";
    case ScatterOp::kMin:
      return "AtomicCombine::kMin";
    case ScatterOp::kMax:
      return "AtomicCombine::kMax";
    default:
      return nullptr;
  }
}

/// Parts of kernels that look at one point of the domain.
class ScatterWriter {
 public:
  ScatterWriter(const CompileContext& context, const ir::Node& node)
      : context_(context),
        node_(node),
        scatter_(std::get<ir::Scatter>(node.primitive)),
        output_(context.plan->graph->value(node.outputs[0])) {}

  const ir::Scatter& scatter() const { return scatter_; }
  const ir::Value& output() const { return output_; }
  std::string type() const { return arithmetic_type_name(output_.dtype); }

  /// Element `point` of a loop over the output becomes the input's.
  std::string copy(KernelWriter& writer) const {
    std::vector<std::string> at;
    std::string text = writer.split("point", output_.shape, "i", at);
    return text + fmt::format("{} = {};\n", writer.element(node_.outputs[0], at),
                              writer.element(node_.inputs[0], at));
  }

  /// The scope of a point, given its row-major number.
  KernelWriter::Scope scope(KernelWriter& writer, const std::string& point,
                            std::string& text) const {
    KernelWriter::Scope scope;
    text += writer.split(point, scatter_.domain, "p", scope.indices);
    return scope;
  }
  /// Statements that find the element of a point; `leave` is for points under a false mask, of
  /// which nothing is checked, and for outputs without elements. Returns the element's positions.
  std::vector<std::string> find_element(KernelWriter& writer, KernelWriter::Scope& scope,
                                        const std::string& leave, std::string& text) const {
    text += fmt::format("if ({} == 0) {}\n", writer.size(ir::element_count(output_.shape)), leave);
    if (scatter_.mask != ir::kNoExpr) {
      const std::string mask = writer.expression(scatter_.mask, scope, text);
      text += fmt::format("if (!({})) {}\n", mask, leave);
    }
    std::vector<std::string> positions;
    for (const ir::ExprId position : scatter_.positions)
      positions.push_back(writer.expression(position, scope, text));
    return positions;
  }
  std::string value(KernelWriter& writer, KernelWriter::Scope& scope, std::string& text) const {
    return writer.expression(scatter_.value, scope, text);
  }
  std::string linear(KernelWriter& writer, std::span<const std::string> positions) const {
    return linear_position(writer, positions, output_.shape);
  }
  std::string element(KernelWriter& writer, std::span<const std::string> positions) const {
    return writer.element(node_.outputs[0], positions);
  }
  std::string load(KernelWriter& writer, std::span<const std::string> positions) const {
    return writer.load(node_.outputs[0], positions);
  }
  std::string store(KernelWriter& writer, std::span<const std::string> positions,
                    const std::string& text) const {
    return writer.store(node_.outputs[0], positions, text);
  }
  KernelWriter kernel() const { return KernelWriter(context_); }
  const CompileContext& context() const { return context_; }

 private:
  const CompileContext& context_;
  const ir::Node& node_;
  const ir::Scatter& scatter_;
  const ir::Value& output_;
};

class AssignStep final : public Step {
 public:
  static StepResult make(const ScatterWriter& parts) {
    auto step = std::make_unique<AssignStep>();
    step->shape_ = parts.output().shape;
    const ir::Shape& domain = parts.scatter().domain;
    // Of every element: 1 + the point that wins it; 0: none.
    const std::string winners = "reinterpret_cast<unsigned long long*>(scratch)";
    {
      KernelWriter writer = parts.kernel();
      TENDON_ASSIGN_OR_RETURN(
          step->copy_,
          PointKernel::make(writer, step->shape_,
                            fmt::format("{}[point] = 0;\n", winners) + parts.copy(writer)));
    }
    {
      KernelWriter writer = parts.kernel();
      std::string text;
      auto scope = parts.scope(writer, "point", text);
      const auto positions = parts.find_element(writer, scope, "continue;", text);
      // Values are checked of all points, stored of winners: without checks, nothing is left here.
      parts.value(writer, scope, text);
      text += fmt::format("atomicMax({} + ({}), static_cast<unsigned long long>(point) + 1);\n",
                          winners, parts.linear(writer, positions));
      TENDON_ASSIGN_OR_RETURN(step->compete_, PointKernel::make(writer, domain, text));
    }
    KernelWriter writer = parts.kernel();
    std::string text;
    auto scope = parts.scope(writer, "point", text);
    const auto positions = parts.find_element(writer, scope, "continue;", text);
    text += fmt::format("if ({}[{}] != static_cast<unsigned long long>(point) + 1) continue;\n",
                        winners, parts.linear(writer, positions));
    const std::string value = parts.value(writer, scope, text);
    text += parts.store(writer, positions, value);
    TENDON_ASSIGN_OR_RETURN(step->store_, PointKernel::make(writer, domain, text));
    return std::unique_ptr<Step>(std::move(step));
  }

  Status bind(const KnownSizes& sizes) override {
    TENDON_ASSIGN_OR_RETURN(elements_, sizes.upper_bound(shape_));
    TENDON_RETURN_IF_ERROR(copy_.bind(sizes));
    TENDON_RETURN_IF_ERROR(compete_.bind(sizes));
    return store_.bind(sizes);
  }
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(elements_) * sizeof(std::uint64_t);
  }
  Status enqueue(const Launch& launch) override {
    TENDON_RETURN_IF_ERROR(copy_.enqueue(launch));
    TENDON_RETURN_IF_ERROR(compete_.enqueue(launch));
    return store_.enqueue(launch);
  }

 private:
  ir::Shape shape_;
  std::int64_t elements_ = 0;
  PointKernel copy_, compete_, store_;
};

Result<PointKernel> copy_kernel(const ScatterWriter& parts) {
  KernelWriter writer = parts.kernel();
  return PointKernel::make(writer, parts.output().shape, parts.copy(writer));
}

class AtomicStep final : public Step {
 public:
  static StepResult make(const ScatterWriter& parts, const char* operation) {
    auto step = std::make_unique<AtomicStep>();
    TENDON_ASSIGN_OR_RETURN(step->copy_, copy_kernel(parts));
    KernelWriter writer = parts.kernel();
    std::string text;
    auto scope = parts.scope(writer, "point", text);
    const auto positions = parts.find_element(writer, scope, "continue;", text);
    const std::string value = parts.value(writer, scope, text);
    text += fmt::format("combine_atomically<{}>(&{}, {});\n", operation,
                        parts.element(writer, positions), value);
    TENDON_ASSIGN_OR_RETURN(step->combine_,
                            PointKernel::make(writer, parts.scatter().domain, text));
    return std::unique_ptr<Step>(std::move(step));
  }

  Status bind(const KnownSizes& sizes) override {
    TENDON_RETURN_IF_ERROR(copy_.bind(sizes));
    return combine_.bind(sizes);
  }
  Status enqueue(const Launch& launch) override {
    TENDON_RETURN_IF_ERROR(copy_.enqueue(launch));
    return combine_.enqueue(launch);
  }

 private:
  PointKernel copy_, combine_;
};

class OrderedStep final : public Step {
 public:
  static StepResult make(const ScatterWriter& parts) {
    const ir::Scatter& scatter = parts.scatter();
    auto step = std::make_unique<OrderedStep>();
    TENDON_ASSIGN_OR_RETURN(step->copy_, copy_kernel(parts));

    const ir::Size elements = ir::element_count(parts.output().shape);
    EntrySortText sort;
    sort.length = sort.kept = ir::element_count(scatter.domain);
    sort.narrow =
        elements.bounds().upper < 0xffffffffll && sort.length.bounds().upper < 0xffffffffll;
    const char* entry = EntrySort::entry_type(sort.narrow);
    sort.key = [&](KernelWriter& writer) {
      std::string text;
      auto scope = parts.scope(writer, "position", text);
      const auto positions =
          parts.find_element(writer, scope, fmt::format("return {}::kLastKey;", entry), text);
      return text + fmt::format("return static_cast<unsigned long long>({});\n",
                                parts.linear(writer, positions));
    };
    TENDON_ASSIGN_OR_RETURN(step->sort_, EntrySort::make(parts.context(), sort));
    step->domain_ = scatter.domain;
    TENDON_ASSIGN_OR_RETURN(step->combine_, step->write_combine(parts, sort, entry));
    return std::unique_ptr<Step>(std::move(step));
  }

  Status bind(const KnownSizes& sizes) override {
    TENDON_ASSIGN_OR_RETURN(points_, sizes.upper_bound(domain_));
    TENDON_RETURN_IF_ERROR(copy_.bind(sizes));
    return sort_.bind(sizes);
  }
  std::size_t scratch_bytes() const override { return sort_.scratch_bytes(); }
  Status enqueue(const Launch& launch) override {
    TENDON_RETURN_IF_ERROR(copy_.enqueue(launch));
    TENDON_RETURN_IF_ERROR(sort_.enqueue(launch));
    return combine_.launch(launch, Grid{blocks_for(points_, kThreads), kThreads, 0},
                           std::array{sort_.sorted_offset()});
  }

 private:
  static constexpr int kThreads = PointKernel::kThreads;

  static Result<Kernel> write_combine(const ScatterWriter& parts, const EntrySortText& sort,
                                      const char* entry) {
    const ir::Scatter& scatter = parts.scatter();
    const DType dtype = parts.output().dtype;
    const std::string type = parts.type();
    KernelWriter writer = parts.kernel();
    const std::string sorted = writer.argument("sorted");
    std::string value;
    auto scope = parts.scope(writer, "position", value);
    const std::string result = parts.value(writer, scope, value);
    value += fmt::format("return {};\n", result);
    std::vector<std::string> at;
    std::string body = writer.split("target", parts.output().shape, "i", at);
    // x + (-0) is x, also for x = -0.
    const bool once =
        scatter.float32_accumulation && is_half(dtype) && scatter.op == ScatterOp::kAdd;
    std::string combined = fmt::format("scalar_binary<{}>(a, b)", operation(scatter.op));
    if (is_half(dtype) && !once)
      combined = fmt::format("static_cast<float>({}({}))", memory_type(dtype), combined);
    body += fmt::format("const {} before = {};\n", type, parts.load(writer, at));
    body += fmt::format(
        "const {0} result = combine_run<{1}, {0}>(entries, first, points, {2},\n"
        "[&](long long position) -> {0} {{\n{3}}},\n"
        "[]({0} a, {0} b) -> {0} {{ return {4}; }});\n",
        type, entry, once ? "-0.0f" : "before", value, combined);
    body += parts.store(writer, at, once ? "before + result" : "result");
    return writer.finish(
        fmt::format("const long long points = {};\n"
                    "const {}* entries = reinterpret_cast<const {}*>(scratch + {});\n"
                    "for_each_run(entries, points, [&](long long target, long long first) {{\n"
                    "{}}});\n",
                    writer.size(sort.length), entry, entry, sorted, body),
        kThreads);
  }

  ir::Shape domain_;
  std::int64_t points_ = 0;
  PointKernel copy_;
  EntrySort sort_;
  Kernel combine_;
};

}  // namespace

StepResult make_scatter_step(const CompileContext& context, ir::NodeId id) {
  const ScatterWriter parts(context, context.plan->graph->node(id));
  const ScatterOp op = parts.scatter().op;
  if (op == ScatterOp::kAssign) return AssignStep::make(parts);
  if (const char* atomic = atomic_operation(op, parts.output().dtype))
    return AtomicStep::make(parts, atomic);
  return OrderedStep::make(parts);
}

}  // namespace tendon::backends::cuda
