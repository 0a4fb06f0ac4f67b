#include "tensor/validate.h"

namespace tendon::tensor {

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
