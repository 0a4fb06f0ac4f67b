// Symbols of a program have places in a table in device memory.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/size.h"

namespace tendon::backends::cuda {

class SymbolNumbers {
 public:
  int number_of(const ir::Symbol& symbol) {
    const auto [entry, fresh] = numbers_.try_emplace(&symbol, static_cast<int>(symbols_.size()));
    if (fresh) symbols_.push_back(&symbol);
    return entry->second;
  }
  /// -1: it has none.
  int find(const ir::Symbol& symbol) const {
    const auto entry = numbers_.find(&symbol);
    return entry == numbers_.end() ? -1 : entry->second;
  }
  const std::vector<const ir::Symbol*>& symbols() const { return symbols_; }

 private:
  std::unordered_map<const ir::Symbol*, int> numbers_;
  std::vector<const ir::Symbol*> symbols_;
};

}  // namespace tendon::backends::cuda
