// The world of the reacher: a two-link arm, the two discs on its table, and an expert that knows
// where the red one is. Metres and radians; base at (0, 0), x right, y up.
#pragma once

#include <array>
#include <cstdint>
#include <random>

namespace reacher {

inline constexpr float kUpperArm = 0.6F;      // length of the link from base to elbow
inline constexpr float kForearm = 0.5F;       // length of the link from elbow to tip
inline constexpr float kMaximumTurn = 0.12F;  // of each joint in one step
inline constexpr float kNear = 0.05F;  // a tip this close to the red disc's centre has reached it
inline constexpr int kChunk = 16;      // steps that one decision of a policy covers
inline constexpr int kReplan = 8;      // steps of a chunk that are carried out before the next
inline constexpr int kSteps = 48;      // steps of an episode

struct Point {
  float x = 0;
  float y = 0;
};

/// Joint angles; the elbow's is relative to the upper arm.
struct Angles {
  float shoulder = 0;
  float elbow = 0;
};

/// Joint angles to go to, one pair for each of the next steps.
using Chunk = std::array<Angles, kChunk>;

/// Where elbow and tip are.
struct Pose {
  Point elbow;
  Point tip;
};
Pose kinematics(Angles angles);

/// Angles (elbow bent to the left) that put the tip at `tip`, or nearest to it if it is out of
/// reach.
Angles inverse_kinematics(Point tip);

/// One step: each joint turns toward its command, by kMaximumTurn at most.
Angles step(Angles angles, Angles command);

/// Commands that move both joints at full speed to the red disc.
Chunk expert(Angles angles, Point red);

float distance(Point a, Point b);

/// What an episode begins with.
struct Scene {
  Angles start;
  Point red;
  Point green;
};

/// Scenes from a seed; the same seed gives the same scenes on every machine.
class SceneSampler {
 public:
  explicit SceneSampler(std::uint64_t seed) : engine_(seed) {}
  Scene next();

 private:
  float uniform(float low, float high);
  Point disc();
  std::mt19937_64 engine_;
};

}  // namespace reacher
