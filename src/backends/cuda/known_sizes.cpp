#include "backends/cuda/known_sizes.h"

#include <algorithm>

#include "base/status_macros.h"

namespace tendon::backends::cuda {

void KnownSizes::forget_data() {
  std::erase_if(values_, [](const auto& entry) { return entry.first->from_data; });
}

void KnownSizes::limit(const ir::Symbol& symbol, std::int64_t upper) {
  ir::Symbol narrower = symbol;
  narrower.upper = std::min(symbol.upper, std::max(symbol.lower, upper));
  limited_[&symbol] = std::make_shared<const ir::Symbol>(std::move(narrower));
}

std::optional<std::int64_t> KnownSizes::value(const ir::Symbol& symbol) const {
  const auto found = values_.find(&symbol);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::int64_t> KnownSizes::exact(const ir::Size& size) const {
  if (size.is_constant()) return size.constant();
  const auto number = size.evaluate([this](const ir::Symbol& symbol) { return value(symbol); });
  if (number) return *number;
  return Status(StatusCode::kResourceExhausted,
                "size " + size.to_string() + " is not known on the host yet");
}

Result<std::int64_t> KnownSizes::upper_bound(const ir::Size& size) const {
  if (size.is_constant()) return size.constant();
  const ir::Size known =
      size.substitute([this](const ir::Symbol& symbol) -> std::optional<ir::Size> {
        if (const auto number = value(symbol)) return ir::Size(*number);
        const auto limited = limited_.find(&symbol);
        if (limited != limited_.end()) return ir::Size::symbol(limited->second);
        return std::nullopt;
      });
  const std::int64_t upper = known.bounds().upper;
  if (upper != ir::kUnbounded) return upper;
  return Status(StatusCode::kResourceExhausted, "size " + size.to_string() + " has no upper bound");
}

Result<std::int64_t> KnownSizes::upper_bound(const ir::Shape& shape) const {
  std::int64_t product = 1;
  for (const ir::Size& size : shape) {
    TENDON_ASSIGN_OR_RETURN(const std::int64_t upper, upper_bound(size));
    if (__builtin_mul_overflow(product, std::max<std::int64_t>(upper, 0), &product)) {
      return Status(StatusCode::kResourceExhausted,
                    "a value of shape " + ir::to_string(shape) + " is too large");
    }
  }
  return product;
}

}  // namespace tendon::backends::cuda
