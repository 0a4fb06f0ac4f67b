#include "backends/cpu/register_allocation.h"

#include <algorithm>
#include <array>

namespace tendon::backends::cpu {
namespace {

std::array<RegisterId*, 3> operands(Instruction& instruction) {
  return {&instruction.a, &instruction.b, &instruction.c};
}

void remove_dead(VectorProgram& program) {
  std::vector<bool> live(program.register_size.size(), false);
  for (RegisterId root : program.roots) live[static_cast<std::size_t>(root)] = true;
  std::vector<Instruction> kept;
  for (auto it = program.instructions.rbegin(); it != program.instructions.rend(); ++it) {
    // A check counts even if nobody uses the position.
    const bool needed =
        live[static_cast<std::size_t>(it->result)] || it->kind == Instruction::Kind::kCheckIndex;
    if (!needed) continue;
    for (RegisterId* operand : operands(*it)) {
      if (*operand != kNoRegister) live[static_cast<std::size_t>(*operand)] = true;
    }
    kept.push_back(*it);
  }
  std::reverse(kept.begin(), kept.end());
  program.instructions = std::move(kept);
  std::erase_if(program.uniforms, [&](const Uniform& uniform) {
    return !live[static_cast<std::size_t>(uniform.result)];
  });
}

}  // namespace

void allocate_registers(VectorProgram& program) {
  remove_dead(program);
  const std::size_t virtual_count = program.register_size.size();
  constexpr std::size_t kForever = static_cast<std::size_t>(-1);
  std::vector<std::size_t> last_use(virtual_count, 0);
  std::vector<bool> is_root(virtual_count, false);
  std::vector<bool> is_computed(virtual_count, false);
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    Instruction& instruction = program.instructions[i];
    if (instruction.kind != Instruction::Kind::kLoad &&
        instruction.kind != Instruction::Kind::kAccumulator) {
      is_computed[static_cast<std::size_t>(instruction.result)] = true;
    }
    for (RegisterId* operand : operands(instruction)) {
      if (*operand != kNoRegister) last_use[static_cast<std::size_t>(*operand)] = i;
    }
  }
  for (RegisterId root : program.roots) {
    last_use[static_cast<std::size_t>(root)] = kForever;
    is_root[static_cast<std::size_t>(root)] = true;
  }

  std::vector<std::uint8_t> sizes;
  std::vector<bool> uniform_flags;
  std::vector<RegisterId> physical(virtual_count, kNoRegister);
  const auto add = [&](std::uint8_t size, bool uniform) {
    sizes.push_back(size);
    uniform_flags.push_back(uniform);
    return static_cast<RegisterId>(sizes.size()) - 1;
  };
  for (Uniform& uniform : program.uniforms) {
    const auto old = static_cast<std::size_t>(uniform.result);
    uniform.result = physical[old] = add(program.register_size[old], true);
  }
  std::array<std::vector<RegisterId>, 9> free;  // by element size
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    Instruction& instruction = program.instructions[i];
    const auto old_result = static_cast<std::size_t>(instruction.result);
    const std::uint8_t size = program.register_size[old_result];
    std::vector<RegisterId>& pool = free[size];
    if (pool.empty() || is_root[old_result]) {
      physical[old_result] = add(size, false);
    } else {
      physical[old_result] = pool.back();
      pool.pop_back();
    }
    // Operands end their lives after the result has its register.
    std::array<RegisterId, 3> ended = {kNoRegister, kNoRegister, kNoRegister};
    int count = 0;
    for (RegisterId* operand : operands(instruction)) {
      if (*operand == kNoRegister) continue;
      const auto old = static_cast<std::size_t>(*operand);
      *operand = physical[old];
      const bool reusable =
          last_use[old] == i && !uniform_flags[static_cast<std::size_t>(*operand)];
      if (reusable && std::find(ended.begin(), ended.end(), *operand) == ended.end()) {
        ended[static_cast<std::size_t>(count++)] = *operand;
      }
    }
    instruction.result = physical[old_result];
    for (RegisterId id : ended) {
      if (id != kNoRegister) free[sizes[static_cast<std::size_t>(id)]].push_back(id);
    }
    // A result that nobody reads (a check) gives its register back at once.
    if (last_use[old_result] == 0 && !is_root[old_result]) pool.push_back(physical[old_result]);
  }
  std::vector<int> root_uses(sizes.size(), 0);
  for (RegisterId root : program.roots) {
    ++root_uses[static_cast<std::size_t>(physical[static_cast<std::size_t>(root)])];
  }
  program.root_is_free.clear();
  for (RegisterId& root : program.roots) {
    const auto old = static_cast<std::size_t>(root);
    root = physical[old];
    program.root_is_free.push_back(is_computed[old] &&
                                   root_uses[static_cast<std::size_t>(root)] == 1);
  }
  program.register_size = std::move(sizes);
  program.register_is_uniform = std::move(uniform_flags);
}

}  // namespace tendon::backends::cpu
