// Figures of many episodes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "episode.h"

namespace reacher {

/// The value that `fraction` of the values do not exceed (nearest rank); 0 if there are none.
double quantile(std::vector<double> values, double fraction);

int count_reached(std::span<const Episode> episodes);

/// Success count, tip distances and decision latencies, for people.
std::string report(std::span<const Episode> episodes);

}  // namespace reacher
