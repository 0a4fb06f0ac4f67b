// What runs a program: the oracle or the engine itself, behind one interface.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "suite.h"

namespace tendon::conformance {

struct Output {
  std::int64_t position = 0;  // among all outputs of the program
  Tensor tensor;
};

/// A loaded program with its state. One thread at a time.
class Session {
 public:
  virtual ~Session() = default;
  virtual Result<std::vector<Output>> run(const std::vector<Tensor>& inputs) = 0;
};

using OpenSession = Result<std::unique_ptr<Session>> (*)(const Case&);

/// Lowers the program and evaluates the tensor graph; outputs are row-major.
Result<std::unique_ptr<Session>> open_oracle(const Case& test);
/// The same after the passes, with constants folded.
Result<std::unique_ptr<Session>> open_passes(const Case& test);
/// The public API, on one CPU thread.
Result<std::unique_ptr<Session>> open_cpu(const Case& test);
/// The public API, on a CUDA device.
Result<std::unique_ptr<Session>> open_cuda(const Case& test);

struct Engine {
  std::string_view name;
  OpenSession open = nullptr;
  bool keeps_strides = false;  // outputs are laid out as PyTorch's
};
inline constexpr std::array kEngines = {
    Engine{"oracle", open_oracle}, Engine{"passes", open_passes}, Engine{"cpu", open_cpu, true},
    Engine{"cuda", open_cuda, true}};

}  // namespace tendon::conformance
