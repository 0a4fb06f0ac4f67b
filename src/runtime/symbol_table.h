// Values of symbols during a run.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "backends/backend.h"

namespace tendon::runtime {

class SymbolTable final : public backends::Bindings {
 public:
  Result<std::int64_t> evaluate(const ir::Size& size) const override;
  void define(const ir::Symbol& symbol, std::int64_t value) override;
  /// The largest value the size can have, given what is known so far; nothing if there is no bound.
  std::optional<std::int64_t> upper_bound(const ir::Size& size) const;
  std::optional<std::int64_t> lookup(const ir::Symbol& symbol) const;

  /// A value from data that lies outside its symbol's range; empty if there was none since the last
  /// clear.
  const std::string& range_error() const { return range_error_; }
  void clear_range_error() { range_error_.clear(); }
  /// Counts changes: equal numbers mean equal values.
  std::int64_t version() const { return version_; }

 private:
  std::unordered_map<const ir::Symbol*, std::int64_t> values_;
  std::string range_error_;
  std::int64_t version_ = 0;
};

/// Keeps the first error that kernels report.
class FirstError final : public backends::ErrorRecord {
 public:
  void report(StatusCode code, std::string message) override;
  /// The error since the last take.
  Status take();
  bool any() const { return any_.load(std::memory_order_acquire); }

 private:
  std::mutex mutex_;
  std::atomic<bool> any_{false};
  Status error_;
};

}  // namespace tendon::runtime
