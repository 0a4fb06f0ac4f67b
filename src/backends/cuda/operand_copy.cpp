#include "backends/cuda/operand_copy.h"

#include <fmt/format.h>

#include "base/status_macros.h"

namespace tendon::backends::cuda {

Result<OperandCopy> OperandCopy::make(const CompileContext& context, ir::ValueId value,
                                      Direction direction) {
  const ir::Value& described = context.plan->graph->value(value);
  OperandCopy copy;
  copy.shape_ = described.shape;
  copy.dtype_ = described.dtype;
  KernelWriter writer(context);
  std::vector<std::string> positions;
  std::string body = writer.split("point", described.shape, "i", positions);
  const std::string element = writer.element(value, positions);
  const std::string dense = fmt::format("reinterpret_cast<{}*>({})[point]",
                                        memory_type(described.dtype), writer.argument("dense"));
  body += direction == Direction::kFromValue ? fmt::format("{} = {};\n", dense, element)
                                             : fmt::format("{} = {};\n", element, dense);
  TENDON_ASSIGN_OR_RETURN(copy.kernel_, PointKernel::make(writer, described.shape, body));
  return copy;
}

Status OperandCopy::bind(const KnownSizes& sizes) {
  bytes_ = static_cast<std::int64_t>(dtype_size(dtype_));
  for (const ir::Size& size : shape_) {
    TENDON_ASSIGN_OR_RETURN(const std::int64_t extent, sizes.exact(size));
    if (__builtin_mul_overflow(bytes_, extent, &bytes_)) {
      return Status(StatusCode::kResourceExhausted,
                    "a value of shape " + ir::to_string(shape_) + " is too large");
    }
  }
  if (!shape_.empty()) {
    TENDON_ASSIGN_OR_RETURN(slices_, sizes.exact(shape_[0]));
  }
  return kernel_.bind(sizes);
}

Status OperandCopy::enqueue(const Launch& launch, std::byte* dense) const {
  if (bytes_ == 0) return {};
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dense));
  return kernel_.enqueue(launch, std::span(&address, 1));
}

}  // namespace tendon::backends::cuda
