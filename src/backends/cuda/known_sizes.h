// What the host knows of sizes while it prepares launches.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "ir/size.h"
#include "tendon/status.h"

namespace tendon::backends::cuda {

/// Values of symbols: those of input shapes, and those from data that were read back. Grids and
/// memory are for upper bounds; kernels read the true sizes on the device.
class KnownSizes {
 public:
  void define(const ir::Symbol& symbol, std::int64_t value) { values_[&symbol] = value; }
  void clear() { values_.clear(); }
  /// Forgets what came from data.
  void forget_data();
  std::optional<std::int64_t> value(const ir::Symbol& symbol) const;

  /// The size itself. Errors: Internal where a symbol is unknown.
  Result<std::int64_t> exact(const ir::Size& size) const;
  /// The largest value it can have. Errors: ResourceExhausted where there is no bound.
  Result<std::int64_t> upper_bound(const ir::Size& size) const;
  /// Product of the upper bounds; 1 for an empty shape. Errors: as upper_bound, and overflow.
  Result<std::int64_t> upper_bound(const ir::Shape& shape) const;
  bool has_bound(const ir::Size& size) const;

 private:
  std::unordered_map<const ir::Symbol*, std::int64_t> values_;
};

}  // namespace tendon::backends::cuda
