// The shortest program that runs a policy: load, make a method, run it on image and state. This
// code stands in the README as well.
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "tendon/method.h"
#include "tendon/program.h"
#include "tendon/tensor.h"

using tendon::DType;
using tendon::TensorView;

int main(int argc, char** argv) {
  auto program = tendon::Program::load(argc > 1 ? argv[1] : "policy.pt2");
  if (!program.ok()) return std::puts(program.status().to_string().c_str()), 1;
  auto method = tendon::Method::create(*program);
  if (!method.ok()) return std::puts(method.status().to_string().c_str()), 1;

  std::vector<std::uint8_t> image(3 * 96 * 128, 235);  // from your camera
  std::array<float, 2> state = {1.2F, 1.4F};           // from your joints
  const std::array inputs = {TensorView::contiguous(image.data(), DType::kUInt8, {1, 3, 96, 128}),
                             TensorView::contiguous(state.data(), DType::kFloat32, {1, 2})};
  auto outputs = method->run(inputs);
  if (!outputs.ok()) return std::puts(outputs.status().to_string().c_str()), 1;

  const TensorView& actions = (*outputs)[0];
  std::printf("%s, first action %.3f %.3f\n", actions.to_string().c_str(), actions.as<float>()[0],
              actions.as<float>()[1]);
}
