// A reader for the pickles that torch.save writes. It knows a fixed list of globals and builds
// plain data; nothing in a pickle is ever executed.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tendon/status.h"
#include "tendon/tensor.h"

namespace tendon::archive {

struct PickleValue;
using PickleList = std::vector<PickleValue>;
using PickleDict = std::vector<std::pair<PickleValue, PickleValue>>;

struct PickleValue {
  struct None {};
  struct Global {
    std::string name;  // "torch._utils._rebuild_tensor_v2"
  };
  struct Storage {
    std::string key;
    DType dtype = DType::kUInt8;
    std::int64_t elements = 0;
  };
  struct Sequence {  // tuple or list
    std::shared_ptr<PickleList> items;
  };
  struct Dict {
    std::shared_ptr<PickleDict> items;
  };
  struct Mark {};
  std::variant<None, bool, std::int64_t, double, std::string, Global, Storage, Sequence, Dict,
               Tensor, Mark>
      content;
};

/// Makes a tensor of a storage and how to view it.
using RebuildTensor =
    std::function<Result<Tensor>(const PickleValue::Storage& storage, std::int64_t offset,
                                 const Sizes& sizes, const Sizes& strides)>;

/// Errors: DataLoss for a broken pickle, InvalidArgument for one that asks for anything but tensors
/// and plain data. Containers of the result never hold themselves and are nested a few deep.
Result<PickleValue> read_pickle(std::span<const std::byte> bytes, const RebuildTensor& rebuild);

}  // namespace tendon::archive
