#include "episode.h"

#include <chrono>
#include <utility>

namespace reacher {

tendon::Result<Episode> run_episode(const Policy& policy, const Scene& scene) {
  using Clock = std::chrono::steady_clock;
  Episode episode;
  episode.scene = scene;
  episode.path = {scene.start};
  for (int begin = 0; begin < kSteps; begin += kReplan) {
    const Angles angles = episode.path.back();
    const Image image = render(angles, scene.red, scene.green);
    const Clock::time_point before = Clock::now();
    tendon::Result<Chunk> chunk = policy(image, angles);
    const std::chrono::duration<double, std::milli> took = Clock::now() - before;
    if (!chunk.ok()) return chunk.status();
    episode.decision_ms.push_back(took.count());
    for (int i = 0; i < kReplan; ++i) {
      episode.path.push_back(step(episode.path.back(), (*chunk)[i]));
    }
  }
  episode.tip_distance = distance(kinematics(episode.path.back()).tip, scene.red);
  return episode;
}

}  // namespace reacher
