#include "aten/lower.h"

#include <algorithm>

#include "aten/lowering.h"
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// A complex tensor as the graph holds it: real, with a last axis of size 2.
tendon::Tensor as_real(const tendon::Tensor& tensor) {
  if (!is_complex(tensor.dtype())) return tensor;
  TensorView view = tensor.view();
  view.dtype = complex_component(view.dtype);
  for (std::int64_t& stride : view.strides) stride *= 2;
  view.sizes.push_back(2);
  view.strides.push_back(1);
  return tendon::Tensor(view, std::make_shared<tendon::Tensor>(tensor));
}

/// The value a symbol had at export, or one that its range allows.
std::int64_t typical(const Size& size) {
  const auto value = size.evaluate([](const ir::Symbol& symbol) -> std::optional<std::int64_t> {
    if (symbol.hint) return *symbol.hint;
    return std::clamp<std::int64_t>(7, symbol.lower, symbol.upper);
  });
  return value.value_or(7);
}

/// Axes from slowest to fastest where the strides are those of a dense tensor, else row-major
/// (empty).
std::vector<int> dim_order_of(const archive::TensorMeta& meta, const Shape& shape) {
  const int rank = static_cast<int>(shape.size());
  if (static_cast<int>(meta.strides.size()) != rank) return {};
  std::vector<std::int64_t> sizes, strides;
  for (int i = 0; i < rank; ++i) {
    sizes.push_back(typical(shape[static_cast<std::size_t>(i)]));
    strides.push_back(typical(meta.strides[static_cast<std::size_t>(i)]));
  }
  std::vector<int> order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  // Axes of size 1 stay where they are among their neighbours: their strides mean nothing.
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const auto x = static_cast<std::size_t>(a);
    const auto y = static_cast<std::size_t>(b);
    return sizes[x] != 1 && sizes[y] != 1 && strides[x] > strides[y];
  });
  std::int64_t expected = 1;
  for (int i = rank; i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
    if (sizes[axis] != 1 && strides[axis] != expected) return {};
    expected *= sizes[axis];
  }
  if (std::is_sorted(order.begin(), order.end())) return {};
  return order;
}

class ProgramLowering {
 public:
  explicit ProgramLowering(const archive::Program& program)
      : program_(program),
        b_(result_.graph),
        environment_(b_),
        lowering_(b_, environment_, problems_) {
    b_.random_state = [this] { return random_state(); };
  }

  Result<LoweredProgram> run() {
    if (Status status = define_inputs(); !status.ok()) return status;
    lowering_.lower_nodes(program_.graph);
    if (problems_.empty()) collect_outputs();
    if (!problems_.empty()) return Status(StatusCode::kUnimplemented, problems_.to_string());
    add_requirements();
    if (const auto wrong = ir::verify(result_.graph)) {
      return Status(StatusCode::kInternal, "the lowered graph is not well formed: " + *wrong);
    }
    result_.warnings = program_.warnings;
    return std::move(result_);
  }

 private:
  /// The graph value of an owned tensor; it becomes a State later if anything writes it.
  Status define_owned(const archive::InputSpec& spec) {
    const auto it = program_.weights.find(spec.target);
    if (it == program_.weights.end()) {
      return Status(StatusCode::kDataLoss, "the archive holds no weight '" + spec.target + "'");
    }
    const tendon::Tensor real = as_real(it->second.tensor);
    const int index = static_cast<int>(result_.constants.size());
    result_.constants.push_back({spec.target, real});
    Shape shape(real.sizes().begin(), real.sizes().end());
    const ir::NodeId node =
        result_.graph.add(ir::Constant{index}, {}, {{real.dtype(), std::move(shape)}});
    const DType dtype = it->second.tensor.dtype();
    const Sizes& sizes = it->second.tensor.sizes();
    environment_.define(spec.name, Tensor{result_.graph.node(node).outputs[0], dtype,
                                          Shape(sizes.begin(), sizes.end())});
    owned_.push_back({spec, node});
    return {};
  }

  Status define_user_input(const archive::InputSpec& spec, int position) {
    if (const auto* symbol = std::get_if<archive::SymbolArgument>(&spec.argument)) {
      return Status(
          StatusCode::kUnimplemented,
          "user input '" + symbol->name + "' is a symbolic number; export it as a tensor");
    }
    const auto meta = program_.graph.tensors.find(spec.name);
    if (meta == program_.graph.tensors.end()) {
      return Status(StatusCode::kDataLoss, "no metadata for user input '" + spec.name + "'");
    }
    const DType dtype = meta->second.dtype;
    Shape shape = meta->second.sizes;
    const int index = static_cast<int>(result_.inputs.size());
    result_.inputs.push_back({spec.name, position, dtype, shape});
    Shape real = shape;
    if (is_complex(dtype)) real.push_back(2);
    const ir::NodeId node = result_.graph.add(
        ir::Input{index}, {}, {{is_complex(dtype) ? complex_component(dtype) : dtype, real}});
    environment_.define(spec.name, Tensor{result_.graph.node(node).outputs[0], dtype, shape});
    return {};
  }

  Status define_inputs() {
    int position = 0;
    for (const archive::InputSpec& spec : program_.inputs) {
      using Kind = archive::InputSpec::Kind;
      switch (spec.kind) {
        case Kind::kParameter:
        case Kind::kBuffer:
        case Kind::kTensorConstant:
          if (Status status = define_owned(spec); !status.ok()) return status;
          break;
        case Kind::kUserInput:
          if (Status status = define_user_input(spec, position++); !status.ok()) return status;
          break;
        case Kind::kConstantInput:
          ++position;
          break;
        case Kind::kCustomObject:
          return Status(StatusCode::kUnimplemented,
                        "the program takes a custom object, '" + spec.target + "'");
        case Kind::kToken:
          break;
      }
    }
    return {};
  }

  Tensor random_state() {
    if (result_.random_state < 0) {
      auto initial = tendon::Tensor::allocate(DType::kInt64, {2});
      if (!initial.ok()) throw Unsupported(initial.status().to_string());
      initial->as<std::int64_t>()[0] = 0;
      initial->as<std::int64_t>()[1] = 0;
      result_.random_state = static_cast<int>(result_.states.size());
      result_.states.push_back({"random seed and calls", *initial});
      const ir::NodeId node =
          result_.graph.add(ir::State{result_.random_state}, {}, {{DType::kInt64, {2}}});
      random_value_ = result_.graph.node(node).outputs[0];
    }
    return Tensor{random_value_, DType::kInt64, {2}};
  }

  void output(ir::GraphOutput::Kind kind, const Tensor& tensor, int index, std::vector<int> order) {
    result_.graph.outputs.push_back({kind, tensor.value, index, std::move(order)});
  }

  void collect_user_output(const archive::OutputSpec& spec, int position) {
    const int index = static_cast<int>(result_.outputs.size());
    Tensor tensor;
    std::string name;
    std::vector<int> order;
    if (const auto* named = std::get_if<archive::TensorArgument>(&spec.argument)) {
      name = named->name;
      tensor = environment_.read(name);
      if (const auto meta = program_.graph.tensors.find(name);
          meta != program_.graph.tensors.end()) {
        order = dim_order_of(meta->second, tensor.shape);
        if (!order.empty() && tensor.complex()) order.push_back(tensor.rank());
      }
    } else if (const auto* symbol = std::get_if<archive::SymbolArgument>(&spec.argument)) {
      // A number that is known only at run time comes as a 0-d tensor.
      name = symbol->name;
      const Scalar& scalar = environment_.scalar(name);
      tensor = scalar_tensor(b_, scalar, scalar_type(scalar));
    } else {
      return;  // None and numbers fixed at export
    }
    result_.outputs.push_back({name, position, tensor.dtype, tensor.shape});
    output(ir::GraphOutput::Kind::kUser, tensor, index, std::move(order));
  }

  void collect_outputs() try {
    int position = 0;
    for (const archive::OutputSpec& spec : program_.outputs) {
      using Kind = archive::OutputSpec::Kind;
      const auto* named = std::get_if<archive::TensorArgument>(&spec.argument);
      switch (spec.kind) {
        case Kind::kUserOutput:
        case Kind::kLossOutput:
          collect_user_output(spec, position++);
          break;
        case Kind::kBufferMutation:
        case Kind::kParameterMutation:
          for (const Owned& owned : owned_) {
            if (owned.spec.target == spec.target && named != nullptr) {
              environment_.write(owned.spec.name, environment_.read(named->name));
            }
          }
          break;
        case Kind::kUserInputMutation:
          if (named != nullptr) environment_.write(spec.target, environment_.read(named->name));
          break;
        case Kind::kToken:
          break;
      }
    }
    for (const Owned& owned : owned_) {
      if (!environment_.written(owned.spec.name)) continue;
      auto& constant = std::get<ir::Constant>(
          result_.graph.nodes[static_cast<std::size_t>(owned.node)].primitive);
      const int state = static_cast<int>(result_.states.size());
      result_.states.push_back(result_.constants[static_cast<std::size_t>(constant.index)]);
      result_.graph.nodes[static_cast<std::size_t>(owned.node)].primitive = ir::State{state};
      output(ir::GraphOutput::Kind::kState, environment_.read(owned.spec.name), state, {});
    }
    for (std::size_t i = 0; i < result_.inputs.size(); ++i) {
      if (!environment_.written(result_.inputs[i].name)) continue;
      output(ir::GraphOutput::Kind::kInput, environment_.read(result_.inputs[i].name),
             static_cast<int>(i), {});
    }
    if (result_.random_state >= 0) {
      const Tensor state = random_state();
      const Tensor next = b_.map(state.shape, [&](const Indices& i) {
        return b_.load(state, i) + cast(DType::kInt64, i[0] == 1);
      });
      output(ir::GraphOutput::Kind::kState, next, result_.random_state, {});
    }
  } catch (const std::runtime_error& error) {
    problems_.unsupported.push_back(std::string("outputs: ") + error.what());
  }

  void add_requirements() {
    for (const auto& [size, bounds] : program_.range_constraints) {
      if (size.depends_on_data()) continue;
      const std::string text =
          size.to_string() + " in [" + std::to_string(bounds.lower) + ", " +
          (bounds.upper == ir::kUnbounded ? "" : std::to_string(bounds.upper)) + "]";
      if (bounds.lower != -ir::kUnbounded) {
        result_.requirements.push_back({ir::less_equal(bounds.lower, size), text});
      }
      if (bounds.upper != ir::kUnbounded) {
        result_.requirements.push_back({ir::less_equal(size, bounds.upper), text});
      }
    }
    for (const auto& [condition, text] : program_.guards) {
      result_.requirements.push_back({condition, text});
    }
    std::erase_if(result_.requirements, [](const Requirement& requirement) {
      return requirement.condition.bounds().lower >= 1;
    });
  }

  struct Owned {
    archive::InputSpec spec;
    ir::NodeId node = -1;
  };

  const archive::Program& program_;
  LoweredProgram result_;
  Builder b_;
  Environment environment_;
  Problems problems_;
  Lowering lowering_;
  std::vector<Owned> owned_;
  ir::ValueId random_value_ = -1;
};

}  // namespace

Result<LoweredProgram> lower(const archive::Program& program) {
  return ProgramLowering(program).run();
}

}  // namespace tendon::aten
