#include "backends/cpu/dnnl_tools.h"

#include <cstring>

#include "base/status_macros.h"

namespace tendon::backends::cpu {

const dnnl::engine& dnnl_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

std::optional<dnnl::memory::data_type> dnnl_type(DType dtype) {
  if (dtype == DType::kFloat32) return dnnl::memory::data_type::f32;
  if (dtype == DType::kBFloat16) return dnnl::memory::data_type::bf16;
  return std::nullopt;
}

Status guarded(const char* what, const std::function<void()>& body) try {
  body();
  return {};
} catch (const dnnl::error& error) {
  if (error.status == dnnl_out_of_memory) {
    return Status(StatusCode::kResourceExhausted, std::string(what) + ": " + error.what());
  }
  const StatusCode code =
      error.status == dnnl_unimplemented ? StatusCode::kUnimplemented : StatusCode::kInternal;
  return Status(code, std::string(what) + ": " + error.what());
}

namespace {
dnnl::stream& thread_stream() {
  // A CPU stream holds no state that threads could share by mistake.
  thread_local dnnl::stream stream(dnnl_engine());
  return stream;
}
}  // namespace

void DnnlPrimitive::set(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad) {
  primitive_ = std::move(primitive);
  memories_.clear();
  arguments_.clear();
  scratch_bytes_ = scratchpad.get_size();
  scratch_argument_ = scratch_bytes_ > 0 ? add(DNNL_ARG_SCRATCHPAD, scratchpad) : -1;
}

int DnnlPrimitive::add(int argument, const dnnl::memory::desc& description) {
  memories_.emplace_back(description, dnnl_engine(), static_cast<void*>(nullptr));
  arguments_.push_back({argument, memories_.back().get()});
  return static_cast<int>(memories_.size()) - 1;
}

void DnnlPrimitive::point(int index, const void* data) {
  dnnl_memory_set_data_handle(memories_[static_cast<std::size_t>(index)].get(),
                              const_cast<void*>(data));
}

Status DnnlPrimitive::execute(std::byte* scratch) {
  if (scratch_argument_ >= 0) point(scratch_argument_, scratch);
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), thread_stream().get(),
                             static_cast<int>(arguments_.size()), arguments_.data());
  if (status != dnnl_success)
    return Status(StatusCode::kInternal, "oneDNN failed with status " + std::to_string(status));
  return {};
}

Status reorder(const dnnl::memory::desc& from_layout, const void* from,
               const dnnl::memory::desc& to_layout, void* to) {
  return guarded("packing a weight", [&] {
    dnnl::memory source(from_layout, dnnl_engine(), const_cast<void*>(from));
    dnnl::memory target(to_layout, dnnl_engine(), to);
    dnnl::reorder(source, target).execute(thread_stream(), source, target);
    thread_stream().wait();
  });
}

}  // namespace tendon::backends::cpu
