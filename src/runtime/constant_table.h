// The constants of a program: weights of the file, and what was folded from them.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/backend.h"
#include "schedule/plan.h"

namespace tendon::runtime {

/// Shared by the methods of a program. A constant's memory is given back once packed copies stand
/// for it, or once nothing reads it after folding. Thread-safe, but for `add`,
/// `settle`, `all` and `clear`.
class ConstantTable final : public backends::SharedState {
 public:
  void add(Tensor tensor) { constants_.push_back(std::move(tensor)); }
  /// Folding is done, and from now on only the steps of `plan` and its sub-graphs' plans read
  /// constants: drops what none of them reads and what folding packed, and lets them release the
  /// rest.
  void settle(const schedule::Plan& plan);
  /// All of them by index, without data where they were dropped.
  const std::vector<Tensor>& all() const { return constants_; }
  /// Drops them all: they are somewhere else now.
  void clear() { constants_.clear(); }

  Tensor constant(int index) const override;
  void release(int index) override;
  Result<std::shared_ptr<void>> packed(
      const std::string& key, const std::function<Result<std::shared_ptr<void>>()>& make) override;

 private:
  mutable std::mutex mutex_;
  std::vector<Tensor> constants_;
  /// By constant: in how many plans it is a buffer. Only one plan's steps may release it, since no
  /// plan knows what another's read. Empty before `settle`.
  std::vector<int> plans_;
  std::unordered_map<std::string, std::shared_ptr<void>> packed_;
};

}  // namespace tendon::runtime
