// The order of equal elements where an operator leaves it open: that in which the standard
// library's algorithms leave them, as in PyTorch on the CPU, which calls the same ones. Whatever is
// moved about, the comparisons alone decide.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tendon::ir {

/// The first `count` (at least one) of a range by `before` come first; the rest is left in any
/// order.
template <typename Iterator, typename Before>
void select_first(Iterator begin, Iterator end, std::int64_t count, bool sorted,
                  const Before& before) {
  constexpr std::int64_t kFew = 64;  // that many times more elements: a heap of the selected ones
  if (count * kFew <= end - begin) {
    std::partial_sort(begin, begin + count, end, before);
    return;
  }
  std::nth_element(begin, begin + count - 1, end, before);
  if (sorted) std::sort(begin, begin + count - 1, before);
}

}  // namespace tendon::ir
