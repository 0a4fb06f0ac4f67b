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
  /// Forgets values that came from data; limits stay.
  void forget_data();
  /// A symbol from data is at most `upper`, which is less than its range may say.
  void limit(const ir::Symbol& symbol, std::int64_t upper);
  std::optional<std::int64_t> value(const ir::Symbol& symbol) const;

  /// The size itself. Errors: ResourceExhausted where a symbol is not known yet.
  Result<std::int64_t> exact(const ir::Size& size) const;
  /// The largest value it can have. Errors: ResourceExhausted where there is no bound.
  Result<std::int64_t> upper_bound(const ir::Size& size) const;
  /// Product of the upper bounds; 1 for an empty shape. Errors: as upper_bound, and overflow.
  Result<std::int64_t> upper_bound(const ir::Shape& shape) const;

 private:
  std::unordered_map<const ir::Symbol*, std::int64_t> values_;
  std::unordered_map<const ir::Symbol*, ir::SymbolRef> limited_;  // with narrower ranges
};

}  // namespace tendon::backends::cuda
