// oneDNN, wrapped: what products and convolutions share. No other code of this folder sees its
// types.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "backends/backend.h"

namespace tendon::backends::cpu {

const dnnl::engine& dnnl_engine();

/// The library's type, where it has one that we use.
std::optional<dnnl::memory::data_type> dnnl_type(DType dtype);

/// Runs `body`, turning the library's exceptions into a Status that begins with `what`.
Status guarded(const char* what, const std::function<void()>& body);

/// A primitive with the memory it runs on; pointers are set before each run. Executing allocates
/// nothing of ours.
class DnnlPrimitive {
 public:
  void set(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad);
  void clear() { *this = DnnlPrimitive(); }
  /// Adds an argument; returns its number for `point`.
  int add(int argument, const dnnl::memory::desc& description);
  void point(int index, const void* data);
  Status execute(std::byte* scratch);
  std::size_t scratch_bytes() const { return scratch_bytes_; }
  bool ready() const { return static_cast<bool>(primitive_); }

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  int scratch_argument_ = -1;
  std::size_t scratch_bytes_ = 0;
};

/// Copies `from` laid out as `from_layout` to `to` laid out as `to_layout`.
Status reorder(const dnnl::memory::desc& from_layout, const void* from,
               const dnnl::memory::desc& to_layout, void* to);

}  // namespace tendon::backends::cpu
