#include "arm.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace reacher {

Pose kinematics(Angles angles) {
  const Point elbow{kUpperArm * std::cos(angles.shoulder), kUpperArm * std::sin(angles.shoulder)};
  const float forearm = angles.shoulder + angles.elbow;
  return {elbow, {elbow.x + kForearm * std::cos(forearm), elbow.y + kForearm * std::sin(forearm)}};
}

Angles inverse_kinematics(Point tip) {
  const float cosine =
      (tip.x * tip.x + tip.y * tip.y - kUpperArm * kUpperArm - kForearm * kForearm) /
      (2 * kUpperArm * kForearm);
  const float elbow = std::acos(std::clamp(cosine, -1.0F, 1.0F));
  const float lead = std::atan2(kForearm * std::sin(elbow), kUpperArm + kForearm * std::cos(elbow));
  return {std::atan2(tip.y, tip.x) - lead, elbow};
}

Angles step(Angles angles, Angles command) {
  return {
      angles.shoulder + std::clamp(command.shoulder - angles.shoulder, -kMaximumTurn, kMaximumTurn),
      angles.elbow + std::clamp(command.elbow - angles.elbow, -kMaximumTurn, kMaximumTurn)};
}

Chunk expert(Angles angles, Point red) {
  const Angles goal = inverse_kinematics(red);
  const Angles way{goal.shoulder - angles.shoulder, goal.elbow - angles.elbow};
  Chunk chunk;
  for (int i = 0; i < kChunk; ++i) {
    const float reach = static_cast<float>(i + 1) * kMaximumTurn;
    chunk[i] = {angles.shoulder + std::clamp(way.shoulder, -reach, reach),
                angles.elbow + std::clamp(way.elbow, -reach, reach)};
  }
  return chunk;
}

float distance(Point a, Point b) { return std::hypot(a.x - b.x, a.y - b.y); }

// The standard's distributions differ between libraries; its engines do not.
float SceneSampler::uniform(float low, float high) {
  const auto unit = static_cast<float>(engine_() >> 40) * 0x1p-24F;
  return unit * (high - low) + low;
}

Point SceneSampler::disc() {
  const float radius = uniform(0.35F, 1.0F);
  const float angle = uniform(0.3F, std::numbers::pi_v<float> - 0.3F);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

Scene SceneSampler::next() {
  Scene scene;
  scene.start.shoulder = uniform(0.2F, 2.6F);
  scene.start.elbow = uniform(0.3F, 2.4F);
  scene.red = disc();
  scene.green = disc();
  return scene;
}

}  // namespace reacher
