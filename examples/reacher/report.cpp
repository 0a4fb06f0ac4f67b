#include "report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace reacher {

double quantile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank =
      static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

int count_reached(std::span<const Episode> episodes) {
  return static_cast<int>(std::count_if(episodes.begin(), episodes.end(),
                                        [](const Episode& episode) { return episode.reached(); }));
}

std::string report(std::span<const Episode> episodes) {
  std::vector<double> distances;
  std::vector<double> decisions;
  for (const Episode& episode : episodes) {
    distances.push_back(episode.tip_distance);
    decisions.insert(decisions.end(), episode.decision_ms.begin(), episode.decision_ms.end());
  }
  return fmt::format(
      "success       {} of {} episodes (tip within {:.0f} mm of the red disc's centre)\n"
      "tip distance  median {:.1f} mm, 99th percentile {:.1f} mm\n"
      "decision      median {:.2f} ms, 99th percentile {:.2f} ms, worst {:.2f} ms ({} decisions)\n",
      count_reached(episodes), episodes.size(), kNear * 1e3, quantile(distances, 0.5) * 1e3,
      quantile(distances, 0.99) * 1e3, quantile(decisions, 0.5), quantile(decisions, 0.99),
      quantile(decisions, 1), decisions.size());
}

}  // namespace reacher
