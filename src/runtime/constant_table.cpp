#include "runtime/constant_table.h"

namespace tendon::runtime {

namespace {

void count_plans(const schedule::Plan& plan, std::vector<int>& counts) {
  for (const schedule::Buffer& buffer : plan.buffers) {
    if (buffer.kind == schedule::Buffer::Kind::kConstant)
      ++counts[static_cast<std::size_t>(buffer.index)];
  }
  for (const auto& [graph, subplan] : plan.subplans) count_plans(*subplan, counts);
}

}  // namespace

void ConstantTable::settle(const schedule::Plan& plan) {
  plans_.assign(constants_.size(), 0);
  count_plans(plan, plans_);
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    if (plans_[i] == 0) constants_[i] = Tensor();
  }
  packed_.clear();  // by folding
}

Tensor ConstantTable::constant(int index) const {
  const std::lock_guard lock(mutex_);
  return constants_[static_cast<std::size_t>(index)];
}

void ConstantTable::release(int index) {
  Tensor last;  // ends outside the lock
  const std::lock_guard lock(mutex_);
  const auto i = static_cast<std::size_t>(index);
  if (!plans_.empty() && plans_[i] == 1) last = std::exchange(constants_[i], Tensor());
}

Result<std::shared_ptr<void>> ConstantTable::packed(
    const std::string& key, const std::function<Result<std::shared_ptr<void>>()>& make) {
  const std::lock_guard lock(mutex_);
  const auto known = packed_.find(key);
  if (known != packed_.end()) return known->second;
  auto made = make();
  if (made.ok()) packed_.emplace(key, *made);
  return made;
}

}  // namespace tendon::runtime
