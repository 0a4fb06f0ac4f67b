#include "tendon/method.h"

#include "runtime/runner.h"

namespace tendon {

Method::Method(std::unique_ptr<runtime::Runner> impl) : impl_(std::move(impl)) {}
Method::Method(Method&&) noexcept = default;
Method& Method::operator=(Method&&) noexcept = default;
Method::~Method() = default;

Result<Method> Method::create(const Program& program, const MethodOptions& options) {
  auto runner = runtime::make_runner(program.impl(), options);
  if (!runner.ok()) return runner.status();
  return Method(std::move(*runner));
}

Result<std::span<const TensorView>> Method::run(std::span<const TensorView> inputs) {
  return impl_->run(inputs);
}

Status Method::bind_output(std::size_t index, void* data, std::size_t bytes) {
  return impl_->bind_output(index, data, bytes);
}

Status Method::wait() { return impl_->wait(); }
Status Method::reset() { return impl_->reset(); }

MethodStats Method::stats() const { return impl_->stats(); }

}  // namespace tendon
