// A map from ExprIds for walks over one expression: small ones without touching the heap. Used by
// expr*.cpp only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/expr.h"

namespace tendon::ir {

class ExprIdMap {
 public:
  ExprIdMap() : slots_(inline_slots_) {}
  ExprIdMap(const ExprIdMap&) = delete;
  ExprIdMap& operator=(const ExprIdMap&) = delete;

  std::optional<std::int32_t> find(ExprId key) const {
    const Slot& slot = slots_[position(key)];
    if (slot.key == kNoExpr) return std::nullopt;
    return slot.value;
  }
  /// Inserts or overwrites.
  void set(ExprId key, std::int32_t value) {
    Slot* slot = &slots_[position(key)];
    if (slot->key == kNoExpr) {
      if (2 * (count_ + 1) > slots_.size()) {
        grow();
        slot = &slots_[position(key)];
      }
      slot->key = key;
      ++count_;
    }
    slot->value = value;
  }

 private:
  struct Slot {
    ExprId key = kNoExpr;
    std::int32_t value = 0;
  };

  std::size_t position(ExprId key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = (static_cast<std::uint32_t>(key) * 0x9e3779b9u >> 7) & mask;
    while (slots_[i].key != key && slots_[i].key != kNoExpr) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    std::vector<Slot> larger(4 * slots_.size());
    const std::span<Slot> old = slots_;
    slots_ = larger;
    for (const Slot& slot : old) {
      if (slot.key != kNoExpr) slots_[position(slot.key)] = slot;
    }
    heap_slots_ = std::move(larger);  // moving a vector keeps its elements where they are
  }

  std::array<Slot, 64> inline_slots_;
  std::vector<Slot> heap_slots_;
  std::span<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace tendon::ir
