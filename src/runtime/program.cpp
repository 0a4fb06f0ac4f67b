#include "tendon/program.h"

#include "runtime/loaded_program.h"

namespace tendon {

std::string TensorInfo::to_string() const { return std::string(dtype_name(dtype)) + shape_text; }

std::optional<std::int64_t> TensorInfo::upper_bound_bytes() const {
  std::int64_t bytes = static_cast<std::int64_t>(dtype_size(dtype));
  for (const AxisRange& axis : axes) {
    if (!axis.upper || __builtin_mul_overflow(bytes, *axis.upper, &bytes)) return std::nullopt;
  }
  return bytes;
}

Result<Program> Program::load(const std::string& path, const LoadOptions& options) {
  auto loaded = runtime::LoadedProgram::load(path, options);
  if (!loaded.ok()) return loaded.status();
  return Program(std::move(*loaded));
}

const std::vector<TensorInfo>& Program::inputs() const { return impl_->inputs(); }
const std::vector<TensorInfo>& Program::outputs() const { return impl_->outputs(); }
const std::vector<Tensor>& Program::sample_inputs() const { return impl_->sample_inputs(); }
const std::vector<std::string>& Program::warnings() const { return impl_->warnings(); }

}  // namespace tendon
