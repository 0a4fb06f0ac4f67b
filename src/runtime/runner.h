// What Method is made of: one execution context of a program, on whatever device.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tendon/method.h"

namespace tendon::runtime {

class LoadedProgram;

/// The calls of Method, with its promises.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual Result<std::span<const TensorView>> run(std::span<const TensorView> inputs) = 0;
  virtual Status bind_output(std::size_t index, void* data, std::size_t bytes) = 0;
  virtual Status wait() = 0;
  virtual Status reset() = 0;
  virtual MethodStats stats() const = 0;
};

/// A context on the device that the program was loaded for.
Result<std::unique_ptr<Runner>> make_runner(std::shared_ptr<const LoadedProgram> program,
                                            const MethodOptions& options);

}  // namespace tendon::runtime
