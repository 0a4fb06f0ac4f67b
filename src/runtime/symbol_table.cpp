#include "runtime/symbol_table.h"

#include <utility>

namespace tendon::runtime {

std::optional<std::int64_t> SymbolTable::lookup(const ir::Symbol& symbol) const {
  const auto it = values_.find(&symbol);
  return it == values_.end() ? std::nullopt : std::optional(it->second);
}

Result<std::int64_t> SymbolTable::evaluate(const ir::Size& size) const {
  if (size.is_constant()) return size.constant();
  const auto value = size.evaluate([this](const ir::Symbol& symbol) { return lookup(symbol); });
  if (!value) {
    return Status(StatusCode::kInternal, "size " + size.to_string() + " cannot be evaluated yet");
  }
  return *value;
}

std::optional<std::int64_t> SymbolTable::upper_bound(const ir::Size& size) const {
  if (size.is_constant()) return size.constant();
  const ir::Size known =
      size.substitute([this](const ir::Symbol& symbol) -> std::optional<ir::Size> {
        if (symbol.from_data) return std::nullopt;
        const auto value = lookup(symbol);
        return value ? std::optional(ir::Size(*value)) : std::nullopt;
      });
  const std::int64_t upper = known.bounds().upper;
  return upper == ir::kUnbounded ? std::nullopt : std::optional(upper);
}

void SymbolTable::define(const ir::Symbol& symbol, std::int64_t value) {
  if (value < symbol.lower || value > symbol.upper) {
    if (range_error_.empty()) {
      range_error_ = symbol.name + " is " + std::to_string(value) + ", outside its range [" +
                     std::to_string(symbol.lower) + ", " +
                     (symbol.upper == ir::kUnbounded ? "unbounded" : std::to_string(symbol.upper)) +
                     "]";
    }
    value = value < symbol.lower ? symbol.lower : symbol.upper;
  }
  const auto [it, fresh] = values_.try_emplace(&symbol, value);
  if (fresh) {
    ++version_;
  } else if (it->second != value) {
    it->second = value;
    ++version_;
  }
}

void FirstError::report(StatusCode code, std::string message) {
  const std::lock_guard lock(mutex_);
  if (any_.load(std::memory_order_relaxed)) return;
  error_ = Status(code, std::move(message));
  any_.store(true, std::memory_order_release);
}

Status FirstError::take() {
  const std::lock_guard lock(mutex_);
  any_.store(false, std::memory_order_relaxed);
  return std::exchange(error_, Status());
}

}  // namespace tendon::runtime
