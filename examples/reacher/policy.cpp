#include "policy.h"

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tendon/tensor.h"

namespace reacher {
namespace {

using tendon::DType;
using tendon::Result;
using tendon::Status;
using tendon::StatusCode;
using tendon::TensorInfo;
using tendon::TensorView;

bool holds(const tendon::AxisRange& axis, std::int64_t size) {
  return axis.lower <= size && (!axis.upper || size <= *axis.upper) && size % axis.multiple == 0;
}

/// Whether a tensor of this type and these sizes can be what the program takes or gives.
Status expect(const char* role, std::span<const TensorInfo> found, std::size_t index, DType dtype,
              const tendon::Sizes& sizes) {
  const TensorView wanted = TensorView::contiguous(nullptr, dtype, sizes);
  bool fits = index < found.size() && found[index].dtype == dtype &&
              found[index].axes.size() == sizes.size();
  for (std::size_t axis = 0; fits && axis < sizes.size(); ++axis) {
    fits = holds(found[index].axes[axis], sizes[axis]);
  }
  if (fits) return {};
  return {StatusCode::kInvalidArgument,
          std::string("this is no policy of the reacher: ") + role + " " + std::to_string(index) +
              " should accept " + wanted.to_string() + " but " +
              (index < found.size() ? "is " + found[index].to_string() : "does not exist")};
}

Status check_signature(const tendon::Program& program) {
  struct Expected {
    const char* role;
    const std::vector<TensorInfo>& found;
    std::size_t index;
    DType dtype;
    tendon::Sizes sizes;
  };
  const Expected expected[] = {
      {"input", program.inputs(), 0, DType::kUInt8, {1, 3, kImageHeight, kImageWidth}},
      {"input", program.inputs(), 1, DType::kFloat32, {1, 2}},
      {"output", program.outputs(), 0, DType::kFloat32, {1, kChunk, 2}},
  };
  for (const Expected& e : expected) {
    Status status = expect(e.role, e.found, e.index, e.dtype, e.sizes);
    if (!status.ok()) return status;
  }
  if (program.inputs().size() != 2) {
    return {StatusCode::kInvalidArgument, "this is no policy of the reacher: it takes " +
                                              std::to_string(program.inputs().size()) +
                                              " inputs instead of an image and a state"};
  }
  return {};
}

}  // namespace

Result<TrainedPolicy> TrainedPolicy::load(const std::string& path, int threads) {
  Result<tendon::Program> program = tendon::Program::load(path);
  if (!program.ok()) return program.status();
  Status signature = check_signature(*program);
  if (!signature.ok()) return signature.with_context(path);
  tendon::MethodOptions options;
  options.threads = threads;
  Result<tendon::Method> method = tendon::Method::create(*program, options);
  if (!method.ok()) return method.status();
  return TrainedPolicy(std::move(*program), std::move(*method));
}

Result<Chunk> TrainedPolicy::decide(const Image& image, Angles angles) {
  // A run does not write to its inputs unless the program itself does; this one does not.
  auto* pixels = const_cast<std::uint8_t*>(image.bytes.data());
  std::array<float, 2> state = {angles.shoulder, angles.elbow};
  const std::array<TensorView, 2> inputs = {
      TensorView::contiguous(pixels, DType::kUInt8, {1, 3, image.height, image.width}),
      TensorView::contiguous(state.data(), DType::kFloat32, {1, 2})};
  Result<std::span<const TensorView>> outputs = method_.run(inputs);
  if (!outputs.ok()) return outputs.status();

  const TensorView& commands = (*outputs)[0];  // [1, kChunk, 2], in whatever strides it came
  const auto* command = commands.as<const float>();
  Chunk chunk;
  for (int i = 0; i < kChunk; ++i) {
    const float* pair = command + i * commands.strides[1];
    chunk[i] = {pair[0], pair[commands.strides[2]]};
  }
  return chunk;
}

}  // namespace reacher
