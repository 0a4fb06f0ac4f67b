// Captured graphs, as a device would keep and count them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tendon/method.h"

namespace tendon::test {

/// The first run of a key captures, later ones replay. At most `max_graphs` keys are kept, the
/// least recently used goes first.
class FakeGraphs {
 public:
  /// `obstacle`: why no run can be captured whole; empty: all can.
  FakeGraphs(CudaGraphs mode, int max_graphs, std::string obstacle);

  /// Whether a run may begin.
  Status admit() const;
  /// A run has succeeded.
  void count(std::span<const TensorView> inputs);
  std::vector<CudaGraphStats> stats() const { return kept_; }

 private:
  const CudaGraphs mode_;
  const std::size_t max_graphs_;
  const std::string obstacle_;
  std::vector<CudaGraphStats> kept_;  // the most recently used last
};

}  // namespace tendon::test
