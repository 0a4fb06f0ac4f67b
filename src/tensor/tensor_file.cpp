#include "tensor/tensor_file.h"

#include <cstring>

#include "base/mapped_file.h"
#include "base/status_macros.h"
#include "tensor/npz.h"
#include "tensor/safetensors.h"

namespace tendon::tensor {

Result<TensorFile> read_tensor_file(const std::string& path) {
  // The signature of a zip entry, or of an empty archive. As the length of a safetensors header it
  // would be far beyond what that format allows.
  TENDON_ASSIGN_OR_RETURN(auto file, base::MappedFile::open(path));
  const auto bytes = file->bytes();
  const bool is_zip = bytes.size() >= 4 && (std::memcmp(bytes.data(), "PK\3\4", 4) == 0 ||
                                            std::memcmp(bytes.data(), "PK\5\6", 4) == 0);
  return is_zip ? read_npz(path) : read_safetensors(path);
}

Status write_tensor_file(const std::string& path, const std::vector<NamedView>& tensors,
                         const std::map<std::string, std::string>& metadata) {
  return path.ends_with(".npz") ? write_npz(path, tensors)
                                : write_safetensors(path, tensors, metadata);
}

}  // namespace tendon::tensor
