// Reductions of a fused kernel: along tiles, or across them.
#include <algorithm>

#include "backends/cpu/loop_node.h"

namespace tendon::backends::cpu {
namespace {

/// A uniform tile as elements that can be read one by one.
const void* expand(Register& value, std::byte* home, TileType type, std::int64_t count) {
  if (value.step != 0) return value.data;
  const auto fill = [&](auto zero) {
    using T = decltype(zero);
    const T element = *reinterpret_cast<const T*>(value.data);
    std::fill_n(reinterpret_cast<T*>(home), count, element);
  };
  switch (tile_type_size(type)) {
    case 1:
      fill(std::uint8_t{});
      break;
    case 4:
      fill(std::uint32_t{});
      break;
    default:
      fill(std::uint64_t{});
  }
  return home;
}

}  // namespace

void LoopNodeRunner::reduce_part(Workspace& workspace, std::int64_t point, std::int64_t begin,
                                 std::int64_t end, Accumulator& accumulator) const {
  const TileType type = program_.root_types[0];
  const std::int64_t first = point * inner_points_;
  while (begin < end) {
    const std::int64_t count = evaluator_->tile_count(first + begin, first + end);
    evaluator_->evaluate(workspace.body, first + begin, count);
    Register value = evaluator_->root(workspace.body, 0);
    row_.add(accumulator, expand(value, workspace.second, type, count), begin, count);
    begin += count;
  }
}

void LoopNodeRunner::reduce_rows(Workspace& workspace, std::int64_t begin, std::int64_t end) const {
  const TileType type = program_.root_types[0];
  const auto carrier = static_cast<std::int64_t>(tile_type_size(type));
  const std::int64_t row = inner_points_;
  // Several short rows in one tile.
  const std::int64_t together =
      row == 0 ? 1 : std::max<std::int64_t>(1, evaluator_->tile_elements() / row);
  std::int64_t pending = begin;  // the first outer point whose result is not stored
  constexpr std::int64_t kResults = 64;
  Accumulator accumulators[kResults];
  while (pending < end) {
    const std::int64_t points = std::min(kResults, end - pending);
    for (std::int64_t i = 0; i < points; ++i) {
      accumulators[i] = Accumulator();
      row_.init(accumulators[i]);
    }
    if (together <= 1) {
      for (std::int64_t i = 0; i < points; ++i) {
        reduce_part(workspace, pending + i, 0, row, accumulators[i]);
      }
    } else {
      for (std::int64_t i = 0; i < points; i += together) {
        const std::int64_t rows = std::min(together, points - i);
        evaluator_->evaluate(workspace.body, (pending + i) * row, rows * row);
        Register value = evaluator_->root(workspace.body, 0);
        const auto* data =
            static_cast<const std::byte*>(expand(value, workspace.second, type, rows * row));
        for (std::int64_t k = 0; k < rows; ++k) {
          row_.add(accumulators[i + k], data + k * row * carrier, 0, row);
        }
      }
    }
    store_accumulators(workspace, std::span(accumulators, static_cast<std::size_t>(points)),
                       pending);
    pending += points;
  }
}

void LoopNodeRunner::store_accumulators(Workspace& workspace,
                                        std::span<const Accumulator> accumulators,
                                        std::int64_t begin) const {
  const auto size = static_cast<std::int64_t>(tile_type_size(result_type_));
  for (std::size_t at = 0; at < accumulators.size(); at += kMaxTileElements) {
    const std::size_t count = std::min<std::size_t>(kMaxTileElements, accumulators.size() - at);
    for (std::size_t i = 0; i < count; ++i) {
      row_.finish(accumulators[at + i], workspace.first + static_cast<std::int64_t>(i) * size,
                  workspace.second + static_cast<std::int64_t>(i) * size);
    }
    store_results(workspace, workspace.first, workspace.second,
                  begin + static_cast<std::int64_t>(at), static_cast<std::int64_t>(count));
  }
}

void LoopNodeRunner::reduce_lanes(Workspace& workspace, std::int64_t begin,
                                  std::int64_t end) const {
  const auto carrier = static_cast<std::int64_t>(tile_type_size(program_.root_types[0]));
  const std::int64_t tile = evaluator_->tile_elements();
  if (begin == 0 && end == outer_points_ && outer_points_ * 2 <= tile) {
    // Few outer points: several steps of the reduction in one tile.
    const std::int64_t lanes = outer_points_;
    const std::int64_t together = tile / lanes;
    fold_.init(workspace.first, workspace.second, lanes);
    for (std::int64_t step = 0; step < inner_points_; step += together) {
      const std::int64_t steps = std::min(together, inner_points_ - step);
      evaluator_->evaluate(workspace.body, step * lanes, steps * lanes);
      const Register& value = evaluator_->root(workspace.body, 0);
      for (std::int64_t k = 0; k < steps; ++k) {
        fold_.add(workspace.first, workspace.second, value.data + k * lanes * carrier * value.step,
                  value.step, step + k, lanes);
      }
    }
    fold_.finish(workspace.first, workspace.second, inner_points_, lanes);
    store_results(workspace, workspace.first, workspace.second, 0, lanes);
    return;
  }
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t lanes = evaluator_->tile_count(at, end);
    fold_.init(workspace.first, workspace.second, lanes);
    for (std::int64_t step = 0; step < inner_points_; ++step) {
      evaluator_->evaluate(workspace.body, step * outer_points_ + at, lanes);
      const Register& value = evaluator_->root(workspace.body, 0);
      fold_.add(workspace.first, workspace.second, value.data, value.step, step, lanes);
    }
    fold_.finish(workspace.first, workspace.second, inner_points_, lanes);
    store_results(workspace, workspace.first, workspace.second, at, lanes);
    at += lanes;
  }
}

}  // namespace tendon::backends::cpu
