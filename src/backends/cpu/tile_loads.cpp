// Instructions of vector programs that look at the space or at memory.
#include <fmt/format.h>

#include <cstring>

#include "backends/cpu/tile_rows.h"
#include "ir/philox.h"

namespace tendon::backends::cpu {
namespace {

/// Where the first byte that is not 0 is in [begin, count), or `count`.
std::int64_t first_true(const std::uint8_t* mask, std::int64_t begin, std::int64_t count) {
  std::uint64_t eight = 0;
  for (; begin + 8 <= count; begin += 8) {
    std::memcpy(&eight, mask + begin, sizeof(eight));
    if (eight != 0) break;
  }
  while (begin < count && mask[begin] == 0) ++begin;
  return begin;
}

/// The elements under a mask that is not the same everywhere: runs of true are loaded, the rest is
/// 0.
void load_where(LoadKernel kernel, std::byte* out, std::int64_t carrier, const std::byte* memory,
                std::int64_t size, std::int64_t stride, const std::uint8_t* mask,
                std::int64_t count) {
  std::int64_t i = 0;
  while (i < count) {
    const bool inside = mask[i] != 0;
    std::int64_t end = i + 1;
    if (inside) {
      const void* outside = std::memchr(mask + end, 0, static_cast<std::size_t>(count - end));
      end = outside == nullptr ? count : static_cast<const std::uint8_t*>(outside) - mask;
    } else {
      end = first_true(mask, end, count);
    }
    if (inside) {
      kernel(out + i * carrier, memory + i * stride * size, stride, end - i);
    } else {
      std::memset(out + i * carrier, 0, static_cast<std::size_t>((end - i) * carrier));
    }
    i = end;
  }
}

}  // namespace

void TileEvaluator::load(const Instruction& instruction, TileWorkspace& workspace,
                         const Tile& tile) const {
  const auto number = static_cast<std::size_t>(instruction.payload);
  const BoundAccess& access = accesses_[number];
  const KernelTable& table = kernel_table();
  const int dtype = static_cast<int>(access.dtype);
  const auto size = static_cast<std::int64_t>(access.element_size);
  const auto carrier = static_cast<std::int64_t>(tile_type_size(instruction.type));
  Register& result = workspace.registers[instruction.result];
  std::byte* out = workspace.home[instruction.result];
  const std::byte* base = workspace.base[number];

  const std::uint8_t* mask = nullptr;
  int mask_step = 0;
  if (instruction.b != kNoRegister) {
    const Register& where = workspace.registers[instruction.b];
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(where.data);
    mask_step = where.step;
    if (mask_step != 0) {
      mask = bytes;
    } else if (*bytes == 0) {
      std::memset(out, 0, static_cast<std::size_t>(kTileGranule * carrier));
      result = {out, 0};
      return;
    }
  }
  const std::int64_t* offsets = nullptr;
  std::int64_t shift = 0;  // the same for the whole tile
  if (instruction.a != kNoRegister) {
    const Register& offset = workspace.registers[instruction.a];
    offsets = reinterpret_cast<const std::int64_t*>(offset.data);
    if (offset.step == 0) {
      shift = *offsets;
      offsets = nullptr;
    }
  }

  // Pieces in which the address moves by `stride` from element to element.
  const bool one_piece = access.linear || tile.single_row;
  const std::int64_t stride =
      access.linear ? access.linear_stride : access.space_strides[rank_ - 1];
  if (one_piece && mask == nullptr && offsets == nullptr) {
    const std::int64_t first =
        shift + (access.linear ? tile.begin * stride : tile.offset(access.space_strides, rank_));
    const std::byte* memory = base + first * size;
    if (stride == 0) {
      table.load[dtype](out, memory, 0, kTileGranule);
      result = {out, 0};
      return;
    }
    // Read in place where whole vectors can be read.
    const bool inside =
        access.local >= 0 || access.base + first + tile.count + kTileGranule <= access.limit;
    if (stride == 1 && inside && is_native(access.dtype)) {
      result = {const_cast<std::byte*>(memory), 1};
      return;
    }
    table.load[dtype](out, memory, stride, tile.count);
    result = {out, 1};
    return;
  }

  const auto piece = [&](std::int64_t position, std::int64_t n, std::int64_t offset) {
    const std::byte* memory = base + (offset + shift) * size;
    std::byte* to = out + position * carrier;
    if (offsets != nullptr) {
      table.gather[dtype](to, memory, stride, offsets + position,
                          mask == nullptr ? nullptr : mask + position, Steps{1, 1, 1}, n);
    } else if (mask != nullptr) {
      load_where(table.load[dtype], to, carrier, memory, size, stride, mask + position, n);
    } else {
      table.load[dtype](to, memory, stride, n);
    }
  };
  if (access.linear) {
    piece(0, tile.count, tile.begin * stride);
  } else {
    for_each_row(tile, access.space_strides, piece);
  }
  result = {out, 1};
}

void TileEvaluator::index(const Instruction& instruction, TileWorkspace& workspace,
                          const Tile& tile) const {
  const int axis = axis_position_[instruction.payload];
  const std::int64_t origin = axis_origin_[instruction.payload];
  auto* out = reinterpret_cast<std::int64_t*>(workspace.home[instruction.result]);
  Register& result = workspace.registers[instruction.result];
  if (axis < tile.outermost) {
    std::fill_n(out, kTileGranule, origin + (axis < 0 ? 0 : tile.first[axis]));
    result = {reinterpret_cast<std::byte*>(out), 0};
    return;
  }
  std::int64_t strides[kMaxAxes] = {};
  strides[axis] = 1;
  const std::int64_t step = axis == rank_ - 1 ? 1 : 0;
  for_each_row(tile, strides, [&](std::int64_t position, std::int64_t n, std::int64_t offset) {
    for (std::int64_t i = 0; i < n; ++i) out[position + i] = origin + offset + i * step;
  });
  result = {reinterpret_cast<std::byte*>(out), 1};
}

void TileEvaluator::check_index(const Instruction& instruction, TileWorkspace& workspace,
                                const Tile& tile) const {
  const Register& position = workspace.registers[instruction.a];
  const auto* in = reinterpret_cast<const std::int64_t*>(position.data);
  const std::int64_t size =
      *reinterpret_cast<const std::int64_t*>(workspace.registers[instruction.b].data);
  const ir::IndexCheck& check = program_->checks[static_cast<std::size_t>(instruction.payload)];
  auto* out = reinterpret_cast<std::int64_t*>(workspace.home[instruction.result]);
  const std::int64_t count = position.step == 0 ? kTileGranule : tile.count;
  const std::int64_t wrap = check.wrap ? size : 0;
  bool bad = false;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t wrapped = in[i] + (in[i] < 0 ? wrap : 0);
    const bool inside = static_cast<std::uint64_t>(wrapped) < static_cast<std::uint64_t>(size);
    out[i] = inside ? wrapped : 0;
    bad |= !inside;
  }
  workspace.registers[instruction.result] = {reinterpret_cast<std::byte*>(out), position.step};
  if (!bad || workspace.checks == nullptr) return;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t wrapped = in[i] + (in[i] < 0 ? wrap : 0);
    if (wrapped >= 0 && wrapped < size) continue;
    workspace.checks->record(check, in[i], size, tile.begin + (position.step == 0 ? 0 : i));
    break;
  }
}

void TileEvaluator::philox(const Instruction& instruction, TileWorkspace& workspace,
                           const Tile& tile) const {
  const Register& seed = workspace.registers[instruction.a];
  const Register& stream = workspace.registers[instruction.b];
  const Register& counter = workspace.registers[instruction.c];
  const auto* a = reinterpret_cast<const std::int64_t*>(seed.data);
  const auto* b = reinterpret_cast<const std::int64_t*>(stream.data);
  const auto* c = reinterpret_cast<const std::int64_t*>(counter.data);
  auto* out = reinterpret_cast<std::int64_t*>(workspace.home[instruction.result]);
  const int step = seed.step | stream.step | counter.step;
  if (step == 0) {
    std::fill_n(out, kTileGranule, ir::philox_bits(*a, *b, *c));
  } else {
    for (std::int64_t i = 0; i < tile.count; ++i) {
      out[i] = ir::philox_bits(a[i * seed.step], b[i * stream.step], c[i * counter.step]);
    }
  }
  workspace.registers[instruction.result] = {reinterpret_cast<std::byte*>(out), step};
}

void CheckState::reset() { check_ = nullptr; }

void CheckState::record(const ir::IndexCheck& check, std::int64_t index, std::int64_t size,
                        std::int64_t point) {
  while (lock_.test_and_set(std::memory_order_acquire)) {
  }
  if (check_ == nullptr || point < point_) {
    check_ = &check;
    index_ = index;
    size_ = size;
    point_ = point;
  }
  lock_.clear(std::memory_order_release);
}

void CheckState::report(ErrorRecord* errors) const {
  if (check_ == nullptr || errors == nullptr) return;
  std::string message = check_->message;
  const auto replace = [&](std::string_view name, std::int64_t value) {
    for (std::size_t at = message.find(name); at != std::string::npos; at = message.find(name)) {
      message.replace(at, name.size(), std::to_string(value));
    }
  };
  replace("{index}", index_);
  replace("{size}", size_);
  errors->report(StatusCode::kOutOfRange, std::move(message));
}

}  // namespace tendon::backends::cpu
