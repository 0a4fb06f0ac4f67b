// Any bytes, taken as a pickle, are either refused or become plain data that can be walked.
#include <cstdlib>

#include "archive/pickle.h"

namespace {

using namespace tendon;
using archive::PickleValue;

constexpr int kMaxDepth = 100;
constexpr int kMaxVisits = 10000;

/// Containers may be shared, but never hold themselves.
void walk(const PickleValue& value, int depth, int& visits) {
  if (depth > kMaxDepth) std::abort();
  if (++visits > kMaxVisits) return;
  if (const auto* list = std::get_if<PickleValue::Sequence>(&value.content)) {
    for (const PickleValue& item : *list->items) walk(item, depth + 1, visits);
  } else if (const auto* dict = std::get_if<PickleValue::Dict>(&value.content)) {
    for (const auto& [key, item] : *dict->items) {
      walk(key, depth + 1, visits);
      walk(item, depth + 1, visits);
    }
  }
}

Result<Tensor> rebuild(const PickleValue::Storage& storage, std::int64_t, const Sizes& sizes,
                       const Sizes& strides) {
  if (sizes.size() != strides.size()) return Status(StatusCode::kDataLoss, "sizes and strides");
  TensorView view;
  view.dtype = storage.dtype;
  view.sizes = sizes;
  view.strides = strides;
  return Tensor(view, nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto value = archive::read_pickle(bytes, rebuild);
  if (!value.ok()) {
    if (value.status().message().empty()) std::abort();
    return 0;
  }
  int visits = 0;
  walk(*value, 0, visits);
  return 0;
}
