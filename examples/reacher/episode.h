// The closed loop: look, decide, move, look again.
#pragma once

#include <functional>
#include <vector>

#include "arm.h"
#include "renderer.h"
#include "tendon/status.h"

namespace reacher {

/// Decides from what the camera sees and the joints' angles what to do in the next kChunk steps.
using Policy = std::function<tendon::Result<Chunk>(const Image& image, Angles angles)>;

struct Episode {
  Scene scene;
  std::vector<Angles> path;  // the arm before the first step and after each: kSteps + 1 entries
  float tip_distance = 0;    // between tip and the red disc's centre at the end
  std::vector<double> decision_ms;  // time of each decision; drawing is not in it

  bool reached() const { return tip_distance < kNear; }
};

/// Errors: those of the policy.
tendon::Result<Episode> run_episode(const Policy& policy, const Scene& scene);

}  // namespace reacher
