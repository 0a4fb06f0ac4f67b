#include "tensor/validate.h"

#include "base/checked_math.h"

namespace tendon::tensor {

std::optional<std::int64_t> byte_count(DType dtype, std::span<const std::int64_t> sizes) {
  const std::optional<std::int64_t> count = base::checked_product(sizes);
  if (!count) return std::nullopt;
  return base::checked_multiply(*count, static_cast<std::int64_t>(dtype_size(dtype)));
}

Status check_bools(const TensorView& dense) {
  if (dense.dtype != DType::kBool) return {};
  const auto* bytes = dense.as<const unsigned char>();
  for (std::size_t i = 0; i < dense.bytes(); ++i) {
    if (bytes[i] > 1) {
      return Status(StatusCode::kDataLoss, "element " + std::to_string(i) +
                                               " of a bool tensor is " + std::to_string(bytes[i]) +
                                               ", expected 0 or 1");
    }
  }
  return {};
}

}  // namespace tendon::tensor
