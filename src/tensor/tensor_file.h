// Named tensors in a file, whatever its format.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tendon/tensor.h"

namespace tendon::tensor {

/// What a tensor file holds.
struct TensorFile {
  std::map<std::string, Tensor> tensors;
  /// Free text by key; NPZ files have none.
  std::map<std::string, std::string> metadata;
};

/// A tensor to write; the view must live until it is written.
struct NamedView {
  std::string name;
  TensorView view;
};

/// Reads a safetensors or NPZ file, told apart by its first bytes.
/// Errors: those of read_safetensors and read_npz.
Result<TensorFile> read_tensor_file(const std::string& path);

/// Writes NPZ if the path ends in ".npz" (metadata is then left out), safetensors otherwise.
/// Errors: those of write_safetensors and write_npz.
Status write_tensor_file(const std::string& path, const std::vector<NamedView>& tensors,
                         const std::map<std::string, std::string>& metadata = {});

}  // namespace tendon::tensor
