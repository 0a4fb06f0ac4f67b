// A program as torch.export wrote it, typed: nodes with named arguments, signatures, symbols. No
// operator has a meaning yet.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "ir/size.h"
#include "tendon/dtype.h"
#include "tendon/tensor.h"

namespace tendon::archive {

struct Graph;

struct NoneArgument {};
struct TensorArgument {
  std::string name;
};
/// as_tensors and as_optional_tensors.
struct TensorsArgument {
  std::vector<std::optional<std::string>> names;
};
/// A symbolic scalar, by its name in the graph; the kind says in which table.
struct SymbolArgument {
  enum class Kind : std::uint8_t { kInt, kFloat, kBool };
  Kind kind = Kind::kInt;
  std::string name;
};
struct IntsArgument {
  std::vector<std::variant<std::int64_t, SymbolArgument>> values;  // as_ints, as_sym_ints
};
struct FloatsArgument {
  std::vector<std::variant<double, SymbolArgument>> values;
};
struct BoolsArgument {
  std::vector<std::variant<bool, SymbolArgument>> values;
};
struct StringsArgument {
  std::vector<std::string> values;
};
enum class MemoryFormat : std::uint8_t {
  kContiguous = 1,
  kChannelsLast = 2,
  kChannelsLast3d = 3,
  kPreserve = 4,
};
struct LayoutArgument {
  int layout = 7;  // 7: strided
};
struct DeviceArgument {
  std::string type;
  std::optional<int> index;
};
struct GraphArgument {
  std::string name;
  std::shared_ptr<const Graph> graph;
};
struct CustomObjectArgument {
  std::string name, class_name;
};
struct OperatorArgument {
  std::string target;
};

using Argument =
    std::variant<NoneArgument, TensorArgument, TensorsArgument, std::int64_t, double, bool,
                 std::string, std::complex<double>, SymbolArgument, IntsArgument, FloatsArgument,
                 BoolsArgument, StringsArgument, DType, MemoryFormat, LayoutArgument,
                 DeviceArgument, GraphArgument, CustomObjectArgument, OperatorArgument>;

struct NamedArgument {
  std::string name;  // of the operator's schema; empty for operators without one
  Argument value;
};

struct Node {
  /// "aten.add.Tensor", "_operator.mul", "higher_order.cond", "math.trunc", "torch.sym_max" (what
  /// follows "torch.ops.", where that is how it starts).
  std::string target;
  std::vector<NamedArgument> inputs;
  /// Tensors, lists of tensors, symbols, none; a name is "" where nobody uses the output.
  std::vector<Argument> outputs;
  std::string name;
};

struct TensorMeta {
  DType dtype = DType::kFloat32;
  ir::Shape sizes, strides;
  ir::Size storage_offset;
  DeviceArgument device;
};

struct Graph {
  std::vector<Argument> inputs, outputs;
  std::vector<Node> nodes;
  std::unordered_map<std::string, TensorMeta> tensors;
  /// What export knows of a symbolic scalar: an expression over symbols.
  std::unordered_map<std::string, ir::Size> sym_ints, sym_bools;
  std::unordered_map<std::string, std::optional<double>> sym_floats;  // a number, or unknown
  bool single_tensor_return = false;                                  // sub-graphs
};

struct InputSpec {
  enum class Kind : std::uint8_t {
    kParameter,
    kBuffer,
    kTensorConstant,
    kUserInput,
    kConstantInput,
    kCustomObject,
    kToken,
  };
  Kind kind = Kind::kUserInput;
  std::string name;        // in the graph
  std::string target;      // FQN of a parameter, buffer or constant
  bool persistent = true;  // buffers
  Argument argument;       // user input: tensor or symbol; constant input: the only value accepted
};

struct OutputSpec {
  enum class Kind : std::uint8_t {
    kUserOutput,
    kBufferMutation,
    kParameterMutation,
    kUserInputMutation,
    kLossOutput,
    kToken,
  };
  Kind kind = Kind::kUserOutput;
  Argument argument;   // a tensor, a symbol, or a constant
  std::string target;  // FQN of the buffer or parameter, or graph name of the user input
};

/// A strided weight, buffer or constant: a view of an archive entry (mapped memory, not to be
/// written), which it keeps alive. Its data may be null where it has no elements.
struct Weight {
  Tensor tensor;
  bool is_parameter = false;
};

struct Program {
  Graph graph;
  std::vector<InputSpec> inputs;                 // in graph input order
  std::vector<OutputSpec> outputs;               // in graph output order
  std::map<std::string, ir::SymbolRef> symbols;  // s0, u0, ... with their ranges
  /// Ranges of expressions (2*s0), beyond the symbols' own.
  std::vector<std::pair<ir::Size, ir::Bounds>> range_constraints;
  /// What export assumed beyond ranges: conditions (0 or 1) over symbols, and their text in the
  /// file. Guards that cannot be read as such are among the warnings.
  std::vector<std::pair<ir::Size, std::string>> guards;
  std::unordered_map<std::string, Weight> weights;  // by FQN
  /// Fills the weights of a bare graph, which have memory but no values before; empty for archives.
  std::function<void()> draw_weights;
  std::vector<Tensor> sample_inputs;    // the tensors among the stored (args, kwargs)
  std::string input_tree, output_tree;  // pytree specs, JSON text
  std::string torch_version;
  int schema_major = 8, schema_minor = 0;
  std::vector<std::string> warnings;
};

}  // namespace tendon::archive
