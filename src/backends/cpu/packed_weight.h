// Constant weights in the layouts that the library's primitives want.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/cpu/dnnl_tools.h"
#include "schedule/plan.h"

namespace tendon::backends::cpu {

/// A view of a constant, packed once for all methods and input sizes of the program. Packed copies
/// stand for the constant: its own memory may be gone when another layout is asked for, which is
/// then made from a layout that is there. Thread-safe.
class PackedWeight {
 public:
  /// The one of this constant, `offset` elements into it and as `view` describes it.
  static Result<std::shared_ptr<PackedWeight>> of(SharedState& shared, int constant,
                                                  std::int64_t offset,
                                                  const dnnl::memory::desc& view);

  /// The layout that was made first; primitives that can should take it, so that there is one copy.
  std::optional<dnnl::memory::desc> preferred() const;
  /// The weight in the given layout; the constant's own memory if it is there and laid out so
  /// (`in_place`), else made once. Errors: ResourceExhausted.
  struct Placed {
    std::shared_ptr<const void> data;
    bool in_place = false;
  };
  Result<Placed> in(const dnnl::memory::desc& layout, SharedState& shared);

 private:
  PackedWeight(int constant, std::int64_t offset, const dnnl::memory::desc& view)
      : constant_(constant), offset_(offset), view_(view) {}
  Result<std::shared_ptr<void>> make(const dnnl::memory::desc& layout, const void* original) const;

  struct Form {
    dnnl::memory::desc layout;
    std::shared_ptr<void> data;
  };
  int constant_;
  std::int64_t offset_;
  dnnl::memory::desc view_;
  mutable std::mutex mutex_;
  std::vector<Form> forms_;
};

/// The constant behind operand 1 of a product, if all its sizes are known; -1 otherwise.
int constant_weight(const schedule::Plan& plan, const ir::Node& node);

/// Whether the node reads operand 1 as such only, and not in its epilogue or as operand 0.
bool reads_weight_once(const ir::Graph& graph, const ir::Node& node);

/// Makes a primitive for a weight: with its preferred layout if there is one that the library has a
/// fast implementation for, else with the layout that the library likes best. `make` takes the
/// weight's description and whether a missing implementation is an empty result.
template <typename Make>
auto choose_primitive(const PackedWeight* weight, const dnnl::memory::desc& any, const Make& make) {
  if (weight != nullptr) {
    if (const auto layout = weight->preferred()) {
      auto chosen = make(*layout, true);
      if (chosen && std::string_view(chosen.impl_info_str()).substr(0, 3) != "ref") return chosen;
    }
  }
  return make(any, false);
}

}  // namespace tendon::backends::cpu
