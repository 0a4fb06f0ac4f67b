#include "runtime/runner.h"

#include "runtime/device_execution.h"
#include "runtime/execution.h"

namespace tendon::runtime {

namespace {

template <typename T>
Result<std::unique_ptr<Runner>> as_runner(Result<std::unique_ptr<T>> made) {
  if (!made.ok()) return made.status();
  return std::unique_ptr<Runner>(std::move(*made));
}

}  // namespace

Result<std::unique_ptr<Runner>> make_runner(std::shared_ptr<const LoadedProgram> program,
                                            const MethodOptions& options) {
  if (options.threads < 0) {
    return Status(StatusCode::kInvalidArgument,
                  "threads is " + std::to_string(options.threads) + ", expected 0 or more");
  }
  if (program->device() == Device::kCpu) {
    return as_runner(Execution::create(std::move(program), options));
  }
  return as_runner(DeviceExecution::create(std::move(program), options));
}

}  // namespace tendon::runtime
