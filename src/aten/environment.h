// Names of the exported program during lowering: tensors as views of storages, so that a write
// through one name is seen through every other.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "archive/exported_program.h"
#include "aten/builder.h"
#include "aten/operator.h"

namespace tendon::aten {

class Environment {
 public:
  explicit Environment(Builder& builder) : builder_(builder) {}

  /// A tensor of its own.
  void define(const std::string& name, const Tensor& tensor);
  /// A view of what `base` names.
  void define_view(const std::string& name, const std::string& base, const View& view);
  void define(const std::string& name, Scalar scalar) {
    scalars_.insert_or_assign(name, std::move(scalar));
  }
  /// Another name for the same tensor.
  void define_alias(const std::string& name, const std::string& base);
  /// A name whose node could not be lowered; what reads it is not tried either.
  void poison(const std::string& name) { poisoned_.emplace(name, true); }
  bool poisoned(const std::string& name) const { return poisoned_.count(name) != 0; }

  bool has_tensor(const std::string& name) const { return handles_.count(name) != 0; }
  bool has_scalar(const std::string& name) const { return scalars_.count(name) != 0; }
  /// The tensor as it is now, writes included. Throws InvalidProgram for an unknown name.
  Tensor read(const std::string& name);
  const Scalar& scalar(const std::string& name) const;
  /// Makes what `name` names (an element range of some storage) equal to `updated`.
  void write(const std::string& name, const Tensor& updated);
  /// Whether anything was written to the storage behind the name.
  bool written(const std::string& name) const;

 private:
  struct Storage {
    Tensor value;
    int version = 0;
  };
  struct Handle {
    int storage = 0;
    std::vector<View> chain;  // from the storage outward
    Tensor cached;
    int cached_version = -1;
  };
  Handle& handle(const std::string& name);

  Builder& builder_;
  std::vector<Storage> storages_;
  std::unordered_map<std::string, Handle> handles_;
  std::unordered_map<std::string, Scalar> scalars_;
  std::unordered_map<std::string, bool> poisoned_;
};

}  // namespace tendon::aten
