#include <fmt/format.h>

#include <bit>
#include <unordered_map>

#include "backends/cpu/register_allocation.h"
#include "backends/cpu/vector_program.h"
#include "base/status_macros.h"

namespace tendon::backends::cpu {
namespace {

using ir::ExprId;
using ir::Op;

/// Operations on narrow integers whose results stay in the range of their operands.
bool keeps_range(Op op) {
  switch (op) {
    case Op::kMinimum:
    case Op::kMaximum:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kRemainder:
    case Op::kFmod:
    case Op::kShiftRight:
    case Op::kGcd:
    case Op::kSign:
    case Op::kSelect:
      return true;
    default:
      return false;
  }
}

bool is_comparison(Op op) {
  return op == Op::kLess || op == Op::kLessEqual || op == Op::kEqual || op == Op::kNotEqual;
}

/// Every value of `from` is one of `to`.
bool contains_range(DType to, DType from) {
  if (from == DType::kBool || from == to) return true;
  if (!is_integer(from) || !is_integer(to)) return false;
  if (is_unsigned(from)) {
    return is_unsigned(to) ? dtype_size(to) >= dtype_size(from) : dtype_size(to) > dtype_size(from);
  }
  return !is_unsigned(to) && dtype_size(to) >= dtype_size(from);
}

class Compiler {
 public:
  Compiler(const ir::ExprPool& pool, int axes, const ProgramOptions& options)
      : pool_(pool), options_(options), table_(kernel_table()) {
    program_.axes = axes;
    program_.index_axes.assign(static_cast<std::size_t>(axes), false);
  }

  Result<VectorProgram> compile(std::span<const ExprId> roots) {
    for (ExprId root : roots) TENDON_RETURN_IF_ERROR(add_root(root));
    allocate_registers(program_);
    return std::move(program_);
  }

 private:
  Status add_root(ExprId root) {
    DType dtype = pool_.dtype(root);
    RegisterId result = kNoRegister;
    const ir::ExprNode& node = pool_.node(root);
    if (options_.stores_roots && (node.op == Op::kLoad || node.op == Op::kMaskedLoad) &&
        dtype_size(dtype) == 1) {
      dtype = DType::kBool;
      TENDON_ASSIGN_OR_RETURN(result, load(root, DType::kBool));
    } else if (options_.stores_roots && node.op == Op::kCast && is_half(dtype)) {
      const ExprId argument = pool_.arguments(root)[0];
      TENDON_ASSIGN_OR_RETURN(const RegisterId a, value(argument));
      TENDON_ASSIGN_OR_RETURN(result, convert(a, pool_.dtype(argument), DType::kFloat32));
    } else {
      TENDON_ASSIGN_OR_RETURN(result, value(root));
    }
    program_.roots.push_back(result);
    program_.root_types.push_back(tile_type(dtype));
    program_.root_dtypes.push_back(dtype);
    return Status();
  }

  RegisterId new_register(TileType type, bool uniform) {
    program_.register_size.push_back(static_cast<std::uint8_t>(tile_type_size(type)));
    program_.register_is_uniform.push_back(uniform);
    return static_cast<RegisterId>(program_.register_size.size()) - 1;
  }

  RegisterId emit(Instruction instruction) {
    instruction.result = new_register(instruction.type, false);
    program_.instructions.push_back(instruction);
    return instruction.result;
  }

  RegisterId constant(TileType type, std::int64_t bits) {
    for (const Uniform& uniform : program_.uniforms) {
      if (uniform.kind == Uniform::Kind::kConstant && uniform.type == type &&
          uniform.bits == bits) {
        return uniform.result;
      }
    }
    Uniform uniform;
    uniform.type = type;
    uniform.bits = bits;
    return add_uniform(std::move(uniform));
  }

  RegisterId size(const ir::Size& size) {
    if (size.is_constant()) return constant(TileType::kInt64, size.constant());
    for (const Uniform& uniform : program_.uniforms) {
      if (uniform.kind == Uniform::Kind::kSize && uniform.size == size) return uniform.result;
    }
    Uniform uniform;
    uniform.kind = Uniform::Kind::kSize;
    uniform.size = size;
    return add_uniform(std::move(uniform));
  }

  RegisterId add_uniform(Uniform uniform) {
    uniform.result = new_register(uniform.type, true);
    program_.uniforms.push_back(std::move(uniform));
    return program_.uniforms.back().result;
  }

  /// The register of an expression, made once.
  Result<RegisterId> value(ExprId id) {
    if (auto found = registers_.find(id); found != registers_.end()) return found->second;
    TENDON_ASSIGN_OR_RETURN(const RegisterId result, make(id));
    registers_.emplace(id, result);
    return result;
  }

  Result<RegisterId> make(ExprId id) {
    const ir::ExprNode node = pool_.node(id);
    if (node.dtype == DType::kBool && options_.known_condition) {
      if (const std::optional<bool> known = options_.known_condition(id)) {
        return constant(TileType::kBool, *known ? 1 : 0);
      }
    }
    switch (node.op) {
      case Op::kConstant:
        return constant(tile_type(node.dtype), node.payload);
      case Op::kSize:
        return size(pool_.size_of(id));
      case Op::kIndex: {
        const auto axis = static_cast<std::size_t>(node.payload);
        if (axis >= program_.index_axes.size()) {
          return Status(
              StatusCode::kInternal,
              fmt::format("expression uses index {} of a space of {} axes", axis, program_.axes));
        }
        program_.index_axes[axis] = true;
        Instruction instruction;
        instruction.kind = Instruction::Kind::kIndex;
        instruction.type = TileType::kInt64;
        instruction.payload = static_cast<std::int32_t>(axis);
        instruction.name = "index";
        return emit(instruction);
      }
      case Op::kLoad:
      case Op::kMaskedLoad:
        return load(id, node.dtype);
      case Op::kAccumulator: {
        Instruction instruction;
        instruction.kind = Instruction::Kind::kAccumulator;
        instruction.type = tile_type(node.dtype);
        instruction.memory_dtype = node.dtype;
        instruction.name = "accumulator";
        return emit(instruction);
      }
      case Op::kCast: {
        const ExprId argument = pool_.arguments(id)[0];
        TENDON_ASSIGN_OR_RETURN(const RegisterId a, value(argument));
        return convert(a, pool_.dtype(argument), node.dtype);
      }
      case Op::kBitcast: {
        const ExprId argument = pool_.arguments(id)[0];
        TENDON_ASSIGN_OR_RETURN(const RegisterId a, value(argument));
        return bitcast(a, pool_.dtype(argument), node.dtype);
      }
      case Op::kCheckIndex:
        return check_index(id);
      case Op::kPhilox: {
        Instruction instruction;
        instruction.kind = Instruction::Kind::kPhilox;
        instruction.type = TileType::kInt64;
        instruction.name = "philox";
        TENDON_ASSIGN_OR_RETURN(instruction.a, value(pool_.arguments(id)[0]));
        TENDON_ASSIGN_OR_RETURN(instruction.b, value(pool_.arguments(id)[1]));
        TENDON_ASSIGN_OR_RETURN(instruction.c, value(pool_.arguments(id)[2]));
        return emit(instruction);
      }
      case Op::kSelect:
        return select(id);
      default:
        return compute(id);
    }
  }

  Result<RegisterId> check_index(ExprId id) {
    const ir::IndexCheck& check = pool_.check_of(id);
    Instruction instruction;
    instruction.kind = Instruction::Kind::kCheckIndex;
    instruction.type = TileType::kInt64;
    instruction.name = "check_index";
    TENDON_ASSIGN_OR_RETURN(instruction.a, value(pool_.arguments(id)[0]));
    instruction.b = size(check.size);
    instruction.payload = static_cast<std::int32_t>(program_.checks.size());
    program_.checks.push_back(check);
    return emit(instruction);
  }

  Result<RegisterId> select(ExprId id) {
    const auto arguments = pool_.arguments(id);
    if (options_.known_condition) {
      if (const std::optional<bool> known = options_.known_condition(arguments[0])) {
        return value(arguments[*known ? 1 : 2]);
      }
    }
    return compute(id);
  }

  Result<RegisterId> compute(ExprId id) {
    const ir::ExprNode node = pool_.node(id);
    const auto arguments = pool_.arguments(id);
    RegisterId operands[3] = {kNoRegister, kNoRegister, kNoRegister};
    for (std::size_t i = 0; i < arguments.size() && i < 3; ++i) {
      TENDON_ASSIGN_OR_RETURN(operands[i], value(arguments[i]));
    }
    const DType operand_dtype = pool_.dtype(arguments.back());
    const TileType operand_type = tile_type(operand_dtype);
    Instruction instruction;
    instruction.type = tile_type(node.dtype);
    instruction.a = operands[0];
    instruction.b = operands[1];
    instruction.c = operands[2];
    instruction.name = ir::op_name(node.op);
    instruction.kernel = table_.at(node.op, operand_type);
    if (instruction.kernel == nullptr) {
      return Status(
          StatusCode::kUnimplemented,
          fmt::format("operation {} on {}", ir::op_name(node.op), dtype_name(operand_dtype)));
    }
    RegisterId result = emit(instruction);
    if (!keeps_range(node.op) && !is_comparison(node.op) && !is_native(node.dtype)) {
      result = wrap(result, node.dtype);
    }
    return result;
  }

  RegisterId wrap(RegisterId a, DType dtype) {
    Instruction instruction;
    instruction.type = tile_type(dtype);
    instruction.a = a;
    instruction.kernel = table_.wrap[static_cast<int>(dtype)];
    instruction.name = is_half(dtype) ? "round" : "wrap";
    instruction.memory_dtype = dtype;
    return instruction.kernel == nullptr ? a : emit(instruction);
  }

  RegisterId cast(RegisterId a, TileType from, TileType to) {
    const ComputeKernel kernel = table_.cast[static_cast<int>(from)][static_cast<int>(to)];
    if (from == to || kernel == nullptr) return a;  // int64 and uint64 share their bits
    Instruction instruction;
    instruction.type = to;
    instruction.a = a;
    instruction.kernel = kernel;
    instruction.name = "cast";
    return emit(instruction);
  }

  Result<RegisterId> convert(RegisterId a, DType from, DType to) {
    if (from == to) return a;
    TileType from_type = tile_type(from);
    const TileType to_type = tile_type(to);
    // These keep the low bits of the whole number (as ir::scalar_cast).
    if (is_floating(from) && (to == DType::kUInt8 || to == DType::kUInt32)) {
      a = cast(a, from_type, TileType::kInt64);
      from_type = TileType::kInt64;
    }
    a = cast(a, from_type, to_type);
    const bool fits = is_half(to) ? false : is_native(to) || contains_range(to, from);
    return fits ? a : wrap(a, to);
  }

  RegisterId half_bits(RegisterId a, ComputeKernel kernel, TileType result) {
    Instruction instruction;
    instruction.type = result;
    instruction.a = a;
    instruction.kernel = kernel;
    instruction.name = "bitcast";
    return emit(instruction);
  }

  Result<RegisterId> bitcast(RegisterId a, DType from, DType to) {
    if (from == to || dtype_size(from) != dtype_size(to)) {
      if (from == to) return a;
      return Status(StatusCode::kInternal, "bitcast between types of different sizes");
    }
    if (is_half(from)) {
      a = half_bits(a, table_.to_bits[static_cast<int>(from)], TileType::kInt32);
      from = DType::kInt16;
    }
    if (is_half(to)) {
      return half_bits(a, table_.from_bits[static_cast<int>(to)], TileType::kFloat32);
    }
    // float32 and float64 have the bits of the carriers of int32 and int64.
    const DType from_bits = from == DType::kFloat32   ? DType::kInt32
                            : from == DType::kFloat64 ? DType::kInt64
                                                      : from;
    const DType to_bits = to == DType::kFloat32   ? DType::kInt32
                          : to == DType::kFloat64 ? DType::kInt64
                                                  : to;
    return convert(a, from_bits, to_bits);
  }

  Result<RegisterId> load(ExprId id, DType memory_dtype) {
    const ir::ExprNode node = pool_.node(id);
    auto positions = pool_.arguments(id);
    Instruction instruction;
    instruction.kind = Instruction::Kind::kLoad;
    instruction.type = tile_type(memory_dtype);
    instruction.memory_dtype = memory_dtype;
    instruction.name = "load";
    if (node.op == Op::kMaskedLoad) {
      const ExprId mask = positions[0];
      positions = positions.subspan(1);
      std::optional<bool> known;
      if (options_.known_condition) known = options_.known_condition(mask);
      if (!known) {
        if (const auto constant_mask = pool_.as_integer(mask)) known = *constant_mask != 0;
      }
      if (known && !*known) return constant(instruction.type, 0);
      if (!known) {
        TENDON_ASSIGN_OR_RETURN(instruction.b, value(mask));
      }
    }
    instruction.payload = static_cast<std::int32_t>(program_.accesses.size());
    Access access;
    access.value = static_cast<ir::ValueId>(node.payload);
    access.dtype = memory_dtype;
    access.constants.resize(positions.size());
    // Other loads may be compiled on the way, so the access gets its number first.
    program_.accesses.push_back(access);
    for (std::size_t j = 0; j < positions.size(); ++j) {
      const ir::ExprPool::Affine affine = pool_.affine(positions[j]);
      access.constants[j] = affine.constant;
      for (const ir::ExprPool::AffineTerm& term : affine.terms) {
        const ir::ExprNode& term_node = pool_.node(term.term);
        if (term_node.op == Op::kIndex) {
          access.terms.push_back(
              {static_cast<int>(j), static_cast<int>(term_node.payload), term.coefficient});
          continue;
        }
        TENDON_ASSIGN_OR_RETURN(const RegisterId offset, value(term.term));
        Uniform uniform;
        uniform.kind = Uniform::Kind::kStride;
        uniform.size = term.coefficient;
        uniform.access = instruction.payload;
        uniform.dimension = static_cast<int>(j);
        const RegisterId factor = add_uniform(std::move(uniform));
        const RegisterId product = binary(Op::kMultiply, offset, factor);
        instruction.a =
            instruction.a == kNoRegister ? product : binary(Op::kAdd, instruction.a, product);
      }
    }
    program_.accesses[static_cast<std::size_t>(instruction.payload)] = std::move(access);
    return emit(instruction);
  }

  RegisterId binary(Op op, RegisterId a, RegisterId b) {
    Instruction instruction;
    instruction.type = TileType::kInt64;
    instruction.a = a;
    instruction.b = b;
    instruction.kernel = table_.at(op, TileType::kInt64);
    instruction.name = ir::op_name(op);
    return emit(instruction);
  }

  const ir::ExprPool& pool_;
  const ProgramOptions& options_;
  const KernelTable& table_;
  VectorProgram program_;
  std::unordered_map<ExprId, RegisterId> registers_;
};

}  // namespace

Result<VectorProgram> compile_program(const ir::ExprPool& pool, std::span<const ExprId> roots,
                                      int axes, const ProgramOptions& options) {
  return Compiler(pool, axes, options).compile(roots);
}

}  // namespace tendon::backends::cpu
