#include "backends/cpu/tile_evaluator.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/cpu/tile_rows.h"
#include "base/status_macros.h"

namespace tendon::backends::cpu {
namespace {

/// Rows at least this long are evaluated one by one, so that what is the same along them is
/// computed once.
constexpr std::int64_t kLongRow = 256;

template <typename T>
void fill_granule(std::byte* out, T value) {
  std::fill_n(reinterpret_cast<T*>(out), kTileGranule, value);
}

void fill_uniform(std::byte* out, TileType type, std::int64_t bits) {
  switch (type) {
    case TileType::kBool:
      return fill_granule(out, static_cast<std::uint8_t>(bits != 0));
    case TileType::kInt32:
      return fill_granule(out, static_cast<std::int32_t>(bits));
    case TileType::kInt64:
    case TileType::kUInt64:
      return fill_granule(out, bits);
    case TileType::kFloat32:
      return fill_granule(out, static_cast<float>(std::bit_cast<double>(bits)));
    case TileType::kFloat64:
      return fill_granule(out, std::bit_cast<double>(bits));
  }
}

}  // namespace

TileEvaluator::TileEvaluator(const VectorProgram& program, const schedule::Plan& plan,
                             std::vector<Location> locations, std::vector<Location> stores)
    : program_(&program),
      plan_(&plan),
      locations_(std::move(locations)),
      load_count_(locations_.size()),
      tile_elements_(program.tile_elements()) {
  for (Location& store : stores) locations_.push_back(std::move(store));
  accesses_.resize(locations_.size());
  uniform_bits_.resize(program.uniforms.size());
}

Status TileEvaluator::bind_values(const Bindings& bindings,
                                  std::span<const std::span<const std::int64_t>> local_strides) {
  const auto stride_of = [&](std::size_t i, std::size_t dimension) -> Result<std::int64_t> {
    const Location& location = locations_[i];
    if (location.local >= 0) {
      const auto strides = local_strides[static_cast<std::size_t>(location.local)];
      return dimension < strides.size() ? strides[dimension] : 0;
    }
    if (dimension >= location.strides.size()) return std::int64_t{0};
    return bindings.evaluate(location.strides[dimension]);
  };
  for (std::size_t i = 0; i < accesses_.size(); ++i) {
    const Location& location = locations_[i];
    BoundAccess& access = accesses_[i];
    access.buffer = location.buffer;
    access.local = location.local;
    access.dtype = i < load_count_ ? program_->accesses[i].dtype : location.dtype;
    access.element_size = dtype_size(access.dtype);
    std::fill_n(access.strides, kMaxAxes, 0);
    access.start = 0;
    access.limit = 0;
    if (location.local < 0) {
      TENDON_ASSIGN_OR_RETURN(access.start, bindings.evaluate(location.offset));
      // The last element of the buffer that exists whatever its strides are.
      const schedule::Buffer& buffer = plan_->buffers[static_cast<std::size_t>(location.buffer)];
      access.limit = 1;
      for (std::size_t k = 0; k < buffer.shape.size(); ++k) {
        TENDON_ASSIGN_OR_RETURN(const std::int64_t extent, bindings.evaluate(buffer.shape[k]));
        TENDON_ASSIGN_OR_RETURN(const std::int64_t stride, bindings.evaluate(buffer.strides[k]));
        access.limit += (extent - 1) * stride;
      }
    }
    if (i >= load_count_) {
      for (int axis = 0; axis < program_->axes; ++axis) {
        TENDON_ASSIGN_OR_RETURN(access.strides[axis], stride_of(i, static_cast<std::size_t>(axis)));
      }
      continue;
    }
    const Access& symbolic = program_->accesses[i];
    for (std::size_t j = 0; j < symbolic.constants.size(); ++j) {
      TENDON_ASSIGN_OR_RETURN(const std::int64_t position,
                              bindings.evaluate(symbolic.constants[j]));
      TENDON_ASSIGN_OR_RETURN(const std::int64_t stride, stride_of(i, j));
      access.start += position * stride;
    }
    for (const Access::Term& term : symbolic.terms) {
      TENDON_ASSIGN_OR_RETURN(const std::int64_t factor, bindings.evaluate(term.coefficient));
      TENDON_ASSIGN_OR_RETURN(const std::int64_t stride,
                              stride_of(i, static_cast<std::size_t>(term.dimension)));
      access.strides[term.axis] += factor * stride;
    }
  }
  for (std::size_t i = 0; i < uniform_bits_.size(); ++i) {
    const Uniform& uniform = program_->uniforms[i];
    if (uniform.kind == Uniform::Kind::kConstant) {
      uniform_bits_[i] = uniform.bits;
      continue;
    }
    TENDON_ASSIGN_OR_RETURN(uniform_bits_[i], bindings.evaluate(uniform.size));
    if (uniform.kind == Uniform::Kind::kStride) {
      TENDON_ASSIGN_OR_RETURN(const std::int64_t stride,
                              stride_of(static_cast<std::size_t>(uniform.access),
                                        static_cast<std::size_t>(uniform.dimension)));
      uniform_bits_[i] *= stride;
    }
  }
  return Status();
}

void TileEvaluator::bind_space(std::span<const std::int64_t> origin,
                               std::span<const std::int64_t> extents, std::span<const int> order) {
  rank_ = 0;
  points_ = 1;
  int innermost[kMaxAxes];  // of each merged axis: its last axis of the program
  for (int axis : order) {
    const auto k = static_cast<std::size_t>(axis);
    axis_origin_[k] = origin[k];
    axis_position_[k] = -1;
    points_ *= extents[k];
    if (extents[k] == 1) continue;
    bool merge = rank_ > 0;
    if (merge) {
      const int outer = innermost[rank_ - 1];
      merge = !program_->index_axes[static_cast<std::size_t>(outer)] && !program_->index_axes[k];
      for (const BoundAccess& access : accesses_) {
        merge = merge && access.strides[outer] == access.strides[k] * extents[k];
      }
    }
    if (merge) {
      extents_[rank_ - 1] *= extents[k];
    } else {
      extents_[rank_++] = extents[k];
    }
    innermost[rank_ - 1] = axis;
    axis_position_[k] = rank_ - 1;
  }
  if (rank_ == 0) {
    rank_ = 1;
    extents_[0] = 1;
    innermost[0] = -1;
  }
  for (BoundAccess& access : accesses_) {
    access.base = access.start;
    for (int axis : order)
      access.base += origin[static_cast<std::size_t>(axis)] * access.strides[axis];
    access.constant = true;
    for (int k = 0; k < rank_; ++k) {
      access.space_strides[k] = innermost[k] < 0 ? 0 : access.strides[innermost[k]];
      access.constant = access.constant && access.space_strides[k] == 0;
    }
    access.linear = true;
    for (int k = 0; k + 1 < rank_; ++k) {
      access.linear =
          access.linear && access.space_strides[k] == access.space_strides[k + 1] * extents_[k + 1];
    }
    access.linear_stride = access.space_strides[rank_ - 1];
  }
}

std::int64_t TileEvaluator::tile_count(std::int64_t begin, std::int64_t end) const {
  const std::int64_t left = end - begin;
  const std::int64_t row = extents_[rank_ - 1];
  if (rank_ == 1) return std::min<std::int64_t>(left, tile_elements_);
  const std::int64_t in_row = row - begin % row;
  if (row >= kLongRow) {
    const std::int64_t tiles = (in_row + tile_elements_ - 1) / tile_elements_;
    const std::int64_t even = round_up((in_row + tiles - 1) / tiles, kTileGranule);
    return std::min({left, in_row, even});
  }
  // Whole rows, so that tiles begin where rows begin.
  if (left <= tile_elements_) return left;
  return in_row + (tile_elements_ - in_row) / row * row;
}

std::size_t TileEvaluator::workspace_bytes() const {
  const std::size_t registers = program_->register_size.size();
  const std::size_t table = registers * (sizeof(Register) + 2 * sizeof(std::byte*)) +
                            accesses_.size() * sizeof(std::byte*);
  return static_cast<std::size_t>(round_up(static_cast<std::int64_t>(table), kVectorBytes) +
                                  program_->register_bytes(tile_elements_));
}

void TileEvaluator::prepare(TileWorkspace& workspace, std::byte* memory,
                            std::span<std::byte* const> buffers, CheckState* checks) const {
  const std::size_t count = program_->register_size.size();
  std::byte* next = memory;
  const auto take = [&](std::size_t bytes) {
    std::byte* taken = next;
    next += bytes;
    return taken;
  };
  workspace.registers = reinterpret_cast<Register*>(take(count * sizeof(Register)));
  workspace.home = reinterpret_cast<std::byte**>(take(count * sizeof(std::byte*)));
  workspace.target = reinterpret_cast<std::byte**>(take(count * sizeof(std::byte*)));
  workspace.base = reinterpret_cast<std::byte**>(take(accesses_.size() * sizeof(std::byte*)));
  workspace.checks = checks;
  next = memory + round_up(next - memory, kVectorBytes);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t elements = program_->register_is_uniform[i] ? kTileGranule : tile_elements_;
    std::byte* home = take(static_cast<std::size_t>(
        round_up(elements * program_->register_size[i], kVectorBytes) + kVectorBytes));
    workspace.home[i] = workspace.target[i] = home;
    workspace.registers[i] = {home, program_->register_is_uniform[i] ? 0 : 1};
  }
  for (std::size_t i = 0; i < uniform_bits_.size(); ++i) {
    const Uniform& uniform = program_->uniforms[i];
    fill_uniform(workspace.home[uniform.result], uniform.type, uniform_bits_[i]);
  }
  for (std::size_t i = 0; i < accesses_.size(); ++i) {
    const BoundAccess& access = accesses_[i];
    if (access.local >= 0) continue;
    workspace.base[i] = buffers[static_cast<std::size_t>(access.buffer)] +
                        access.base * static_cast<std::int64_t>(access.element_size);
  }
}

void TileEvaluator::set_local(TileWorkspace& workspace, int local, std::byte* memory) const {
  for (std::size_t i = 0; i < accesses_.size(); ++i) {
    const BoundAccess& access = accesses_[i];
    if (access.local != local) continue;
    workspace.base[i] = memory + access.base * static_cast<std::int64_t>(access.element_size);
  }
}

void TileEvaluator::evaluate(TileWorkspace& workspace, std::int64_t begin, std::int64_t count,
                             std::span<std::byte* const> direct) const {
  const Tile tile = make_tile(begin, count);
  for (std::size_t k = 0; k < direct.size(); ++k) {
    if (direct[k] != nullptr) workspace.target[program_->roots[k]] = direct[k];
  }
  Register* registers = workspace.registers;
  for (const Instruction& instruction : program_->instructions) {
    switch (instruction.kind) {
      case Instruction::Kind::kCompute: {
        static constexpr Register kNothing = {nullptr, 0};
        const Register& a = registers[instruction.a];
        const Register& b = instruction.b == kNoRegister ? kNothing : registers[instruction.b];
        const Register& c = instruction.c == kNoRegister ? kNothing : registers[instruction.c];
        const int step = a.step | b.step | c.step;
        std::byte* out =
            step == 0 ? workspace.home[instruction.result] : workspace.target[instruction.result];
        instruction.kernel(
            out, a.data, b.data, c.data,
            Steps{static_cast<std::uint8_t>(a.step), static_cast<std::uint8_t>(b.step),
                  static_cast<std::uint8_t>(c.step)},
            step == 0 ? kTileGranule : count);
        registers[instruction.result] = {out, step};
        break;
      }
      case Instruction::Kind::kLoad:
        load(instruction, workspace, tile);
        break;
      case Instruction::Kind::kIndex:
        index(instruction, workspace, tile);
        break;
      case Instruction::Kind::kCheckIndex:
        check_index(instruction, workspace, tile);
        break;
      case Instruction::Kind::kPhilox:
        philox(instruction, workspace, tile);
        break;
      case Instruction::Kind::kAccumulator: {
        std::byte* out = workspace.home[instruction.result];
        kernel_table().load[static_cast<int>(instruction.memory_dtype)](out, workspace.accumulator,
                                                                        1, count);
        registers[instruction.result] = {out, 1};
        break;
      }
    }
  }
  for (std::size_t k = 0; k < direct.size(); ++k) {
    const RegisterId id = program_->roots[k];
    workspace.target[id] = workspace.home[id];
  }
}

std::byte* TileEvaluator::direct_target(const TileWorkspace& workspace, std::size_t k,
                                        std::size_t s, std::int64_t begin,
                                        std::int64_t count) const {
  const BoundAccess& access = accesses_[load_count_ + s];
  if (!program_->root_is_free[k] || !is_native(access.dtype)) return nullptr;
  const auto size = static_cast<std::int64_t>(access.element_size);
  // A local has room for whole vectors behind it, and what lies there is written later.
  if (access.local < 0 && count * size % kVectorBytes != 0) return nullptr;
  std::int64_t offset = 0;
  if (access.linear) {
    if (access.linear_stride != 1) return nullptr;
    offset = begin;
  } else {
    const Tile tile = make_tile(begin, count);
    if (!tile.single_row || access.space_strides[rank_ - 1] != 1) return nullptr;
    offset = tile.offset(access.space_strides, rank_);
  }
  return workspace.base[load_count_ + s] + offset * size;
}

void TileEvaluator::store(const TileWorkspace& workspace, std::size_t s, const Register& values,
                          DType dtype, std::int64_t begin, std::int64_t count) const {
  const BoundAccess& access = accesses_[load_count_ + s];
  const StoreKernel kernel = kernel_table().store[static_cast<int>(dtype)];
  const auto size = static_cast<std::int64_t>(access.element_size);
  const auto carrier = static_cast<std::int64_t>(tile_type_size(tile_type(dtype)));
  std::byte* base = workspace.base[load_count_ + s];
  if (access.linear) {
    kernel(base + begin * access.linear_stride * size, values.data, values.step,
           access.linear_stride, count);
    return;
  }
  const std::int64_t stride = access.space_strides[rank_ - 1];
  for_each_row(make_tile(begin, count), access.space_strides,
               [&](std::int64_t position, std::int64_t n, std::int64_t offset) {
                 kernel(base + offset * size, values.data + position * carrier * values.step,
                        values.step, stride, n);
               });
}

}  // namespace tendon::backends::cpu
