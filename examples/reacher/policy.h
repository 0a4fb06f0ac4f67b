// A policy in a `.pt2` file, run by Tendon: the whole of what a robot program has to write.
#pragma once

#include <string>

#include "arm.h"
#include "renderer.h"
#include "tendon/method.h"
#include "tendon/program.h"

namespace reacher {

/// A program of image uint8[B, 3, 96, 128] and state float32[B, 2], in radians, to commands
/// float32[B, 16, 2], called with a batch of one.
class TrainedPolicy {
 public:
  /// Errors: those of tendon::Program::load and tendon::Method::create; InvalidArgument if the
  /// program's inputs or outputs are others than those above.
  static tendon::Result<TrainedPolicy> load(const std::string& path, int threads);

  tendon::Result<Chunk> decide(const Image& image, Angles angles);

 private:
  TrainedPolicy(tendon::Program program, tendon::Method method)
      : program_(std::move(program)), method_(std::move(method)) {}

  tendon::Program program_;
  tendon::Method method_;
};

}  // namespace reacher
