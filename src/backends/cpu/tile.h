// Tiles: short runs of elements that stay in the first-level cache while a vector program works on
// them.
//
// A tile holds its elements in one of six carrier types. Narrow integers are carried wider and
// wrapped to their range after every operation that may leave it; half types are carried as float32
// that is exactly representable in the half type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tendon/dtype.h"

namespace tendon::backends::cpu {

enum class TileType : std::uint8_t { kBool, kInt32, kInt64, kUInt64, kFloat32, kFloat64 };
inline constexpr int kTileTypeCount = 6;

constexpr TileType tile_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return TileType::kBool;
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kUInt16:
      return TileType::kInt32;
    case DType::kInt64:
    case DType::kUInt32:
      return TileType::kInt64;
    case DType::kUInt64:
      return TileType::kUInt64;
    case DType::kFloat64:
      return TileType::kFloat64;
    default:
      return TileType::kFloat32;
  }
}

constexpr std::size_t tile_type_size(TileType type) {
  constexpr std::size_t kSizes[kTileTypeCount] = {1, 4, 8, 8, 4, 8};
  return kSizes[static_cast<int>(type)];
}

constexpr std::string_view tile_type_name(TileType type) {
  constexpr std::string_view kNames[kTileTypeCount] = {"b8", "i32", "i64", "u64", "f32", "f64"};
  return kNames[static_cast<int>(type)];
}

/// True if the carrier's bytes are the dtype's own.
constexpr bool is_native(DType dtype) {
  return dtype == DType::kBool || dtype == DType::kInt32 || dtype == DType::kInt64 ||
         dtype == DType::kUInt64 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

/// Kernels work on whole vectors: registers have room for a multiple of this many elements, and
/// what lies behind the last element of a tile is computed but never looked at.
inline constexpr int kTileGranule = 64;
inline constexpr int kMaxTileElements = 2048;
/// Where one vector ends, at most.
inline constexpr int kVectorBytes = 64;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// The elements of a register during one tile. A uniform register (step 0) stands for one value in
/// every element; its first kTileGranule elements all hold it.
struct Register {
  std::byte* data = nullptr;
  int step = 1;
};

/// 1 for operands with an element for every element of the result, 0 for uniform ones.
struct Steps {
  std::uint8_t a = 1, b = 1, c = 1;
};

}  // namespace tendon::backends::cpu
