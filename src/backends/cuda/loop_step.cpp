#include "backends/cuda/loop_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "backends/cuda/kernel_writer.h"
#include "backends/cuda/loop_access.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

using schedule::LoopKernel;
using schedule::LoopNode;

/// Blocks that keep every GPU busy; what is more is done by each in turn.
constexpr std::int64_t kMaxBlocks = 132 * 16;
constexpr int kBlockThreads = 256;
/// Shared memory that every GPU gives a block, less what reductions need.
constexpr std::int64_t kSharedBytes = 40 * 1024;
/// For sizes without a bound.
constexpr std::int64_t kUsualInnerPoints = 256;
constexpr std::int64_t kAlignment = 16;

const char* reduction_name(ir::ReduceOp op) {
  switch (op) {
    case ir::ReduceOp::kSum:
      return "Reduction::kSum";
    case ir::ReduceOp::kProduct:
      return "Reduction::kProduct";
    case ir::ReduceOp::kMin:
      return "Reduction::kMin";
    case ir::ReduceOp::kMax:
      return "Reduction::kMax";
    case ir::ReduceOp::kAny:
      return "Reduction::kAny";
    case ir::ReduceOp::kAll:
      return "Reduction::kAll";
    case ir::ReduceOp::kArgMin:
      return "Reduction::kArgMin";
    case ir::ReduceOp::kArgMax:
      return "Reduction::kArgMax";
    case ir::ReduceOp::kMoments:
      return "Reduction::kMoments";
  }
  return "";
}

std::int64_t usual_points(const ir::Shape& shape) {
  const std::int64_t upper = ir::element_count(shape).bounds().upper;
  return upper == ir::kUnbounded ? kUsualInnerPoints : upper;
}

/// A map of the kernel that has no buffer: a row of its inner points for every group, in shared
/// memory where it fits, otherwise in scratch.
struct LocalRow {
  ir::ValueId value = -1;
  std::string name;
  std::string type;
  ir::Size elements;
  std::int64_t element_bytes = 0;
  bool shared = false;
};

/// Writes the kernel: `group` threads do one outer point, node after node.
class LoopWriter {
 public:
  LoopWriter(const CompileContext& context, const LoopKernel& kernel)
      : context_(context), kernel_(kernel), writer_(context) {}

  Status write() {
    choose_group();
    place_rows();
    std::string body = fmt::format(
        "constexpr int kGroup = {};\n"
        "const int lane = static_cast<int>(threadIdx.x) % kGroup;\n"
        "const long long group =\n"
        "    static_cast<long long>(blockIdx.x) * (blockDim.x / kGroup) + threadIdx.x / kGroup;\n"
        "const long long groups = static_cast<long long>(gridDim.x) * (blockDim.x / kGroup);\n"
        "const long long outer_points = {};\n",
        group_, writer_.size(ir::element_count(kernel_.outer)));
    body += group_ > 32 ? "__shared__ __align__(16) char parts[1024];\n"
                        : "char* const parts = nullptr;\n";
    if (shared_bytes_ > 0) body += "extern __shared__ __align__(16) char shared[];\n";
    body += row_declarations();
    body += "for (long long point = group; point < outer_points; point += groups) {\n";
    KernelWriter::Scope scope = outer_scope(body);
    for (const LoopNode& node : kernel_.nodes) write_node(node, scope, body);
    // The next point writes what the last one may still read.
    if (!rows_.empty()) body += "group_sync<kGroup>();\n";
    body += "}\n";
    TENDON_ASSIGN_OR_RETURN(written_, writer_.finish(body, threads()));
    return {};
  }

  int group() const { return group_; }
  int threads() const { return std::max(group_, kBlockThreads); }
  std::int64_t shared_bytes() const { return shared_bytes_; }
  const Kernel& kernel() const { return written_; }
  const std::vector<LocalRow>& rows() const { return rows_; }

 private:
  const schedule::Plan& plan() const { return *context_.plan; }
  DType dtype(ir::ValueId value) const { return plan().graph->value(value).dtype; }
  bool has_buffer(ir::ValueId value) const {
    return plan().storage[static_cast<std::size_t>(value)].buffer != schedule::kNoBuffer;
  }

  void choose_group() {
    std::int64_t inner = 1;
    int votes = 0;
    for (const LoopNode& node : kernel_.nodes) {
      inner = std::max(inner, usual_points(node.inner));
      votes += votes_for_outer_lanes(plan(), kernel_, node);
    }
    const std::int64_t outer = usual_points(kernel_.outer);
    if (inner <= 4 || (votes > 0 && outer >= 4096 && inner <= 4096)) {
      group_ = 1;
    } else if (inner <= 1024) {
      group_ = outer >= 1024 || inner <= 128 ? 32 : 128;
    } else {
      group_ = inner <= 8192 ? 256 : 512;
    }
  }

  void place_rows() {
    const std::int64_t groups = threads() / group_;
    for (const LoopNode& node : kernel_.nodes) {
      if (node.reduce || node.inner.empty() || has_buffer(node.value)) continue;
      LocalRow row;
      row.value = node.value;
      row.name = writer_.fresh_name("row");
      row.type = memory_type(dtype(node.value));
      row.elements = ir::element_count(node.inner);
      row.element_bytes = static_cast<std::int64_t>(dtype_size(dtype(node.value)));
      const std::int64_t upper = row.elements.bounds().upper;
      if (upper != ir::kUnbounded && upper <= kSharedBytes / (groups * row.element_bytes)) {
        const std::int64_t bytes =
            (upper * row.element_bytes + kAlignment - 1) / kAlignment * kAlignment * groups;
        row.shared = shared_bytes_ + bytes <= kSharedBytes;
        if (row.shared) shared_bytes_ += bytes;
      }
      rows_.push_back(std::move(row));
    }
  }

  std::string row_declarations() {
    std::string text;
    std::int64_t shared_offset = 0;
    std::string scratch_offset = "0";
    for (const LocalRow& row : rows_) {
      if (row.shared) {
        const std::int64_t bytes =
            (row.elements.bounds().upper * row.element_bytes + kAlignment - 1) / kAlignment *
            kAlignment;
        text += fmt::format(
            "{0}* const {1} = reinterpret_cast<{0}*>(shared + {2} + threadIdx.x / "
            "kGroup * {3});\n",
            row.type, row.name, shared_offset, bytes);
        shared_offset += bytes * (threads() / group_);
      } else {
        const std::string bytes = writer_.fresh_name("bytes");
        text += fmt::format(
            "const long long {0} = ({1} * {2} + {4}) / {3} * {3};\n"
            "{5}* const {6} = reinterpret_cast<{5}*>(scratch + {7} + group * {0});\n",
            bytes, writer_.size(row.elements), row.element_bytes, kAlignment, kAlignment - 1,
            row.type, row.name, scratch_offset);
        scratch_offset += fmt::format(" + groups * {}", bytes);
      }
    }
    return text;
  }

  KernelWriter::Scope outer_scope(std::string& body) {
    const std::vector<int> order = outer_axes_as_stored(plan(), kernel_);
    ir::Shape shape;
    for (const int axis : order) shape.push_back(kernel_.outer[static_cast<std::size_t>(axis)]);
    std::vector<std::string> names;
    body += writer_.split("point", shape, "o", names);
    KernelWriter::Scope scope;
    scope.indices.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      scope.indices[static_cast<std::size_t>(order[i])] = names[i];
    return scope;
  }

  void write_node(const LoopNode& node, KernelWriter::Scope& scope, std::string& body) {
    if (node.reduce) {
      write_reduction(node, scope, body);
    } else if (node.inner.empty()) {
      // Every thread of the group has the value; the first stores it.
      const std::string text = writer_.expression(node.body, scope, body);
      keep_scalar(node.value, text, scope, body);
    } else {
      write_map(node, scope, body);
    }
  }

  /// A value with one element for each outer point: a local of each thread, and stored if it has a
  /// buffer. Later nodes of the kernel read the local.
  void keep_scalar(ir::ValueId value, const std::string& text, KernelWriter::Scope& scope,
                   std::string& body) {
    std::string kept = text;
    if (is_half(dtype(value))) {
      kept = writer_.fresh_name("h");
      body += fmt::format("const float {} = static_cast<float>({}({}));\n", kept,
                          memory_type(dtype(value)), text);
    }
    if (has_buffer(value)) {
      const std::span<const std::string> at(scope.indices.data(), kernel_.outer.size());
      body += "if (lane == 0) " + writer_.store(value, at, kept);
    }
    scope.locals[value] = [kept](std::span<const std::string>) { return kept; };
  }

  /// An inner block, in which index(k) also runs over the node's inner axes.
  KernelWriter::Scope inner_scope(const LoopNode& node, const KernelWriter::Scope& outer,
                                  std::string& body) {
    KernelWriter::Scope scope = outer;
    body += fmt::format("for (long long i = lane; i < {}; i += kGroup) {{\n",
                        writer_.size(ir::element_count(node.inner)));
    std::vector<std::string> names;
    body += writer_.split("i", node.inner, "i", names);
    scope.indices.insert(scope.indices.end(), names.begin(), names.end());
    return scope;
  }

  void write_map(const LoopNode& node, KernelWriter::Scope& scope, std::string& body) {
    KernelWriter::Scope inner = inner_scope(node, scope, body);
    const std::string text = writer_.expression(node.body, inner, body);
    const auto row = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const LocalRow& r) { return r.value == node.value; });
    if (row != rows_.end()) {
      const bool half = is_half(dtype(node.value));
      body += fmt::format("{}[i] = {};\n", row->name,
                          half ? fmt::format("{}({})", row->type, text) : text);
      std::vector<std::string> extents;
      for (const ir::Size& extent : node.inner) extents.push_back(writer_.size(extent));
      scope.locals[node.value] = [outer = kernel_.outer.size(), extents, name = row->name,
                                  half](std::span<const std::string> at) {
        std::string linear = "0";
        for (std::size_t k = 0; k < extents.size(); ++k)
          linear = fmt::format("({}) * {} + {}", linear, extents[k], at[outer + k]);
        const std::string element = fmt::format("{}[{}]", name, linear);
        return half ? fmt::format("static_cast<float>({})", element) : element;
      };
    } else {
      body += writer_.store(node.value, inner.indices, text);
    }
    body += "}\ngroup_sync<kGroup>();\n";
  }

  void write_reduction(const LoopNode& node, KernelWriter::Scope& scope, std::string& body) {
    const std::string accumulator = writer_.fresh_name("a");
    body += fmt::format("Accumulator<{}, {}> {};\n{}.start();\n", reduction_name(*node.reduce),
                        arithmetic_type_name(plan().graph->pool.dtype(node.body)), accumulator,
                        accumulator);
    KernelWriter::Scope inner = inner_scope(node, scope, body);
    const std::string text = writer_.expression(node.body, inner, body);
    body += fmt::format("{0}.add({1}, i);\n}}\n{0} = reduce_group<kGroup>({0}, parts);\n",
                        accumulator, text);
    const auto keep = [&](ir::ValueId value, const char* what) {
      const std::string name = writer_.fresh_name("r");
      body += fmt::format("const {} {} = {}.{}();\n", arithmetic_type_name(dtype(value)), name,
                          accumulator, what);
      keep_scalar(value, name, scope, body);
    };
    keep(node.value, "result");
    if (node.second >= 0) keep(node.second, "second");
  }

  const CompileContext& context_;
  const LoopKernel& kernel_;
  KernelWriter writer_;
  Kernel written_;
  int group_ = 1;
  std::int64_t shared_bytes_ = 0;
  std::vector<LocalRow> rows_;
};

class LoopStep final : public Step {
 public:
  LoopStep(const LoopKernel& kernel, const LoopWriter& writer)
      : outer_(kernel.outer),
        group_(writer.group()),
        kernel_(writer.kernel()),
        rows_(writer.rows()) {
    grid_.threads = writer.threads();
    grid_.shared_bytes = static_cast<int>(writer.shared_bytes());
  }

  Status bind(const KnownSizes& sizes) override {
    TENDON_ASSIGN_OR_RETURN(const std::int64_t points, sizes.upper_bound(outer_));
    const std::int64_t groups_of_block = grid_.threads / group_;
    grid_.blocks = std::min(kMaxBlocks, (points + groups_of_block - 1) / groups_of_block);
    scratch_ = 0;
    for (const LocalRow& row : rows_) {
      if (row.shared) continue;
      TENDON_ASSIGN_OR_RETURN(const std::int64_t elements, sizes.upper_bound(row.elements));
      const std::int64_t bytes =
          (elements * row.element_bytes + kAlignment - 1) / kAlignment * kAlignment;
      scratch_ += static_cast<std::size_t>(bytes * grid_.blocks * groups_of_block);
    }
    return {};
  }
  Status enqueue(const Launch& launch) override { return kernel_.launch(launch, grid_); }
  std::size_t scratch_bytes() const override { return scratch_; }

 private:
  ir::Shape outer_;
  int group_;
  Kernel kernel_;
  std::vector<LocalRow> rows_;
  Grid grid_;
  std::size_t scratch_ = 0;
};

}  // namespace

StepResult make_loop_step(const CompileContext& context, const LoopKernel& kernel) {
  LoopWriter writer(context, kernel);
  TENDON_RETURN_IF_ERROR(writer.write());
  return std::unique_ptr<Step>(std::make_unique<LoopStep>(kernel, writer));
}

}  // namespace tendon::backends::cuda
