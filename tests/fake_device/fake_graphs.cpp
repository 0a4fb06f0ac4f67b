#include "fake_graphs.h"

#include <algorithm>
#include <utility>

namespace tendon::test {

namespace {

std::string key_of(std::span<const TensorView> inputs) {
  std::string key;
  for (const TensorView& input : inputs) key += (key.empty() ? "" : ", ") + input.to_string();
  return key;
}

}  // namespace

FakeGraphs::FakeGraphs(CudaGraphs mode, int max_graphs, std::string obstacle)
    : mode_(mode),
      max_graphs_(static_cast<std::size_t>(max_graphs)),
      obstacle_(std::move(obstacle)) {}

Status FakeGraphs::admit() const {
  if (mode_ != CudaGraphs::kStrict || obstacle_.empty()) return {};
  return Status(StatusCode::kInvalidArgument, "the run cannot be captured whole: " + obstacle_);
}

void FakeGraphs::count(std::span<const TensorView> inputs) {
  std::string key = key_of(inputs);
  auto found = std::find_if(kept_.begin(), kept_.end(),
                            [&](const CudaGraphStats& graph) { return graph.key == key; });
  const bool is_new = found == kept_.end();
  if (is_new) {
    if (kept_.size() == max_graphs_) kept_.erase(kept_.begin());
    CudaGraphStats graph;
    graph.key = std::move(key);
    if (mode_ == CudaGraphs::kOff) {
      graph.state = "not captured";
      graph.reason = "graphs are off";
    } else {
      graph.state = obstacle_.empty() ? "captured whole" : "captured in pieces";
      graph.reason = obstacle_;
      graph.pieces = obstacle_.empty() ? 1 : 2;
    }
    kept_.push_back(std::move(graph));
    found = kept_.end() - 1;
  }
  ++found->runs;
  if (!is_new && found->pieces != 0) ++found->replays;
  std::rotate(found, found + 1, kept_.end());
}

}  // namespace tendon::test
