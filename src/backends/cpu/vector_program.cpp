#include "backends/cpu/vector_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tendon::backends::cpu {
namespace {

/// What registers may take of a 32 KiB first-level cache.
constexpr std::int64_t kRegisterBudget = 24 * 1024;

std::string name_of(RegisterId id) { return fmt::format("r{}", id); }

std::string uniform_text(const Uniform& uniform) {
  switch (uniform.kind) {
    case Uniform::Kind::kConstant:
      if (uniform.type == TileType::kFloat32 || uniform.type == TileType::kFloat64) {
        return fmt::format("{}", std::bit_cast<double>(uniform.bits));
      }
      return fmt::format("{}", uniform.bits);
    case Uniform::Kind::kSize:
      return uniform.size.to_string();
    case Uniform::Kind::kStride:
      return fmt::format("({}) * stride {} of access {}", uniform.size.to_string(),
                         uniform.dimension, uniform.access);
  }
  return "";
}

std::string access_text(const Access& access) {
  std::string text = fmt::format("%{}[", access.value);
  for (std::size_t j = 0; j < access.constants.size(); ++j) {
    if (j > 0) text += ", ";
    std::string position;
    for (const Access::Term& term : access.terms) {
      if (term.dimension != static_cast<int>(j)) continue;
      if (!position.empty()) position += " + ";
      if (term.coefficient == ir::Size(1)) {
        position += fmt::format("i{}", term.axis);
      } else {
        position += fmt::format("({}) * i{}", term.coefficient.to_string(), term.axis);
      }
    }
    if (position.empty() || !(access.constants[j] == ir::Size(0))) {
      if (!position.empty()) position += " + ";
      position += access.constants[j].to_string();
    }
    text += position;
  }
  return text + "]";
}

}  // namespace

std::int64_t VectorProgram::register_bytes(int elements) const {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < register_size.size(); ++i) {
    const std::int64_t count = register_is_uniform[i] ? kTileGranule : elements;
    bytes += round_up(count * register_size[i], kVectorBytes) + kVectorBytes;
  }
  return bytes;
}

int VectorProgram::tile_elements() const {
  for (int elements = kMaxTileElements; elements > 256; elements /= 2) {
    if (register_bytes(elements) <= kRegisterBudget) return elements;
  }
  return 256;
}

std::string VectorProgram::to_string() const {
  std::string text;
  for (const Uniform& uniform : uniforms) {
    text += fmt::format("{} = uniform.{} {}\n", name_of(uniform.result),
                        tile_type_name(uniform.type), uniform_text(uniform));
  }
  for (const Instruction& instruction : instructions) {
    text += fmt::format("{} = {}.{}", name_of(instruction.result), instruction.name,
                        tile_type_name(instruction.type));
    std::string separator = " ";
    if (instruction.kind == Instruction::Kind::kIndex) {
      text += fmt::format(" i{}", instruction.payload);
    } else if (instruction.kind == Instruction::Kind::kLoad) {
      text += fmt::format(" {} {}", dtype_name(instruction.memory_dtype),
                          access_text(accesses[static_cast<std::size_t>(instruction.payload)]));
      if (instruction.a != kNoRegister) text += " + " + name_of(instruction.a);
      if (instruction.b != kNoRegister) text += " where " + name_of(instruction.b);
    }
    if (instruction.kind != Instruction::Kind::kLoad) {
      for (RegisterId operand : {instruction.a, instruction.b, instruction.c}) {
        if (operand == kNoRegister) continue;
        text += separator + name_of(operand);
        separator = ", ";
      }
    }
    text += "\n";
  }
  for (RegisterId root : roots) text += fmt::format("root {}\n", name_of(root));
  return text;
}

}  // namespace tendon::backends::cpu
