#include "runtime/loaded_program.h"

#include "archive/load.h"
#include "base/status_macros.h"
#include "base/trace.h"
#include "ir/dependencies.h"
#include "passes/pass.h"
#include "passes/split_constants.h"
#include "runtime/device_library.h"
#include "runtime/plan_instance.h"
#include "schedule/arithmetic.h"
#include "schedule/schedule.h"

namespace tendon::runtime {

namespace {

ir::Shape as_shape(const Sizes& sizes) { return ir::Shape(sizes.begin(), sizes.end()); }

TensorInfo info_of(const std::string& name, int position, DType dtype, const ir::Shape& shape) {
  TensorInfo info;
  info.name = name;
  info.position = position;
  info.dtype = dtype;
  info.shape_text = ir::to_string(shape);
  for (const ir::Size& size : shape) {
    AxisRange range;
    const ir::Bounds bounds = size.bounds();
    range.lower = std::max<std::int64_t>(bounds.lower, 0);
    if (bounds.upper != ir::kUnbounded) range.upper = bounds.upper;
    // 2*s0 comes in twos.
    for (std::int64_t multiple : {64, 32, 16, 8, 4, 2}) {
      if (!size.is_constant() && ir::divide_exactly(size, multiple)) {
        range.multiple = multiple;
        break;
      }
    }
    info.axes.push_back(range);
  }
  return info;
}

bool is_product(const schedule::Plan& plan, const schedule::Step& step) {
  const auto* kernel = std::get_if<schedule::NodeKernel>(&step.kernel);
  if (kernel == nullptr) return false;
  const ir::Primitive& primitive = plan.graph->node(kernel->node).primitive;
  return std::holds_alternative<ir::Matmul>(primitive) ||
         std::holds_alternative<ir::Conv>(primitive) ||
         std::holds_alternative<ir::Attention>(primitive);
}

std::string kernels_text(const schedule::Plan& plan) { return plan.graph->to_string(); }

}  // namespace

LoadedProgram::LoadedProgram() : constants_(std::make_unique<ConstantTable>()) {}
LoadedProgram::~LoadedProgram() = default;

Result<std::shared_ptr<const LoadedProgram>> LoadedProgram::load(const std::string& path,
                                                                 const LoadOptions& options,
                                                                 bool keep_stages) {
  std::shared_ptr<LoadedProgram> program(new LoadedProgram());
  if (options.device == Device::kCuda) {
    TENDON_ASSIGN_OR_RETURN(program->device_, load_device_backend());
    program->device_options_.cache_folder = options.cache_folder;
  }
  if (Status status = program->build(path, options, keep_stages); !status.ok()) {
    return status.with_context(path);
  }
  return std::shared_ptr<const LoadedProgram>(std::move(program));
}

Status LoadedProgram::build(const std::string& path, const LoadOptions& options, bool keep_stages) {
  std::int64_t start = base::TraceSink::now_ns();
  const auto phase = [&](const char* name) {
    const std::int64_t end = base::TraceSink::now_ns();
    summary_.phases.emplace_back(name, static_cast<double>(end - start) * 1e-6);
    if (options.trace != nullptr) options.trace->add_since(start, "load", name);
    start = end;
  };
  archive::ReadOptions read_options;
  read_options.model = options.model;
  TENDON_ASSIGN_OR_RETURN(archive::Program exported, archive::read_program(path, read_options));
  summary_.exported_nodes = static_cast<std::int64_t>(exported.graph.nodes.size());
  phase("read");
  TENDON_ASSIGN_OR_RETURN(lowered_, aten::lower(exported));
  sample_inputs_ = std::move(exported.sample_inputs);
  draw_weights_ = std::move(exported.draw_weights);
  exported = archive::Program();
  warnings_ = lowered_.warnings;
  summary_.tensor_nodes = static_cast<std::int64_t>(lowered_.graph.nodes.size());
  if (keep_stages) {
    for (const std::string& origin : lowered_.graph.origins) texts_[0] += origin + "\n";
    texts_[1] = lowered_.graph.to_string();
  }
  phase("lower");
  TENDON_RETURN_IF_ERROR(passes::run_pipeline(lowered_.graph));
  passes::ConstantSplit split = passes::split_constants(
      lowered_.graph, static_cast<int>(lowered_.constants.size()), options.constant_bytes_limit);
  summary_.optimized_nodes = static_cast<std::int64_t>(lowered_.graph.nodes.size());
  phase("passes");
  std::vector<ir::Shape> strides;
  for (const aten::OwnedTensor& constant : lowered_.constants) {
    strides.push_back(as_shape(constant.tensor.strides()));
    constants_->add(constant.tensor);
    summary_.weight_bytes += static_cast<std::int64_t>(constant.tensor.view().bytes());
  }
  lowered_.constants.clear();  // the table alone holds them, so that it can give them back
  if (!split.types.empty()) {
    auto graph = std::make_shared<ir::Graph>(std::move(split.constants));
    schedule::separate_outputs(*graph);
    *graph = ir::compacted(*graph);
    TENDON_ASSIGN_OR_RETURN(constant_plan_, schedule::make_plan(graph, strides));
    for (const auto& [dtype, shape] : split.types) {
      Sizes sizes;
      for (const ir::Size& size : shape) sizes.push_back(size.constant());
      strides.push_back(ir::contiguous_strides(shape));
      summary_.folded_bytes += element_count(sizes) * static_cast<std::int64_t>(dtype_size(dtype));
      folded_types_.emplace_back(dtype, std::move(sizes));
    }
    summary_.constant_kernels = static_cast<std::int64_t>(constant_plan_->steps.size());
  }
  auto graph = std::make_shared<ir::Graph>(std::move(lowered_.graph));
  lowered_.graph = ir::Graph();
  schedule::separate_outputs(*graph);
  *graph = ir::compacted(*graph);
  TENDON_ASSIGN_OR_RETURN(plan_, schedule::make_plan(graph, strides));
  phase("plan");
  summary_.kernels = static_cast<std::int64_t>(plan_->steps.size());
  for (const schedule::Step& step : plan_->steps)
    summary_.products += is_product(*plan_, step) ? 1 : 0;
  product_operations_ = schedule::product_operations(*plan_);
  if (const std::int64_t upper = product_operations_.bounds().upper; upper != ir::kUnbounded)
    summary_.product_operations = upper;
  summary_.arena_bytes = plan_->arena_bytes;
  if (keep_stages) {
    texts_[2] = kernels_text(*plan_);
    texts_[3] = plan_->to_string();
  }
  describe();
  return {};
}

void LoadedProgram::describe() {
  for (const aten::UserInput& input : lowered_.inputs) {
    inputs_.push_back(info_of(input.name, input.position, input.dtype, input.shape));
  }
  for (const aten::UserOutput& output : lowered_.outputs) {
    outputs_.push_back(info_of(output.name, output.position, output.dtype, output.shape));
  }
}

Status LoadedProgram::fold_constants(int threads) const {
  if (constant_plan_ == nullptr) return {};
  TENDON_ASSIGN_OR_RETURN(auto instance,
                          PlanInstance::create(constant_plan_, *constants_, threads));
  std::vector<Tensor> results;
  std::vector<std::byte*> outputs;
  for (const auto& [dtype, sizes] : folded_types_) {
    TENDON_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(dtype, sizes));
    outputs.push_back(tensor.as<std::byte>());
    results.push_back(std::move(tensor));
  }
  SymbolTable symbols;
  FirstError errors;
  TENDON_RETURN_IF_ERROR(instance->bind(symbols));
  TENDON_RETURN_IF_ERROR(instance->run(RunMemory{{}, {}, outputs}, symbols, errors));
  for (Tensor& tensor : results) constants_->add(std::move(tensor));
  return {};
}

Result<std::vector<Tensor>> LoadedProgram::initial_states(std::uint64_t seed) const {
  std::vector<Tensor> states;
  for (std::size_t i = 0; i < lowered_.states.size(); ++i) {
    TENDON_ASSIGN_OR_RETURN(Tensor copy, lowered_.states[i].tensor.contiguous_copy());
    if (static_cast<int>(i) == lowered_.random_state) {
      copy.as<std::int64_t>()[0] = static_cast<std::int64_t>(seed);
    }
    states.push_back(std::move(copy));
  }
  return states;
}

Status LoadedProgram::make_constants(int threads) const {
  if (prepared_) return {};
  if (draw_weights_) std::exchange(draw_weights_, nullptr)();
  if (Status status = fold_constants(threads); !status.ok()) {
    return status.with_context("folding constants");
  }
  constants_->settle(*plan_);
  prepared_ = true;
  return {};
}

Result<backends::SharedState*> LoadedProgram::prepare(int threads) const {
  const std::lock_guard lock(mutex_);
  TENDON_RETURN_IF_ERROR(make_constants(threads));
  return constants_.get();
}

Result<std::shared_ptr<backends::DeviceProgram>> LoadedProgram::prepare_device(int threads) const {
  const std::lock_guard lock(mutex_);
  if (device_program_ == nullptr) {
    TENDON_RETURN_IF_ERROR(make_constants(threads));
    TENDON_ASSIGN_OR_RETURN(device_program_,
                            device_->load(plan_, constants_->all(), device_options_));
    constants_->clear();
  }
  return device_program_;
}

}  // namespace tendon::runtime
