// For tests: runs a graph's kernels on the host, compiled by the host's compiler, one thread block
// after the other (test_device_on_host.h). Slow, and exact about indices, barriers and orders.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/compile_step.h"
#include "backends/cuda/device_headers.h"
#include "base/status_macros.h"
#include "schedule/schedule.h"
#include "tendon/tensor.h"

namespace tendon::backends::cuda {

/// The kernels of a library as functions of the host.
class HostKernels {
 public:
  static Result<std::unique_ptr<HostKernels>> compile(const KernelLibrary& library) {
    namespace fs = std::filesystem;
    const fs::path source = fs::path(TENDON_TEST_DATA) / "../../src";
    const fs::path folder =
        fs::temp_directory_path() /
        fmt::format("tendon_kernels_{}_{}", getpid(), reinterpret_cast<std::uintptr_t>(&library));
    fs::create_directories(folder);
    for (const auto& [name, text] : device_headers())
      if (name.ends_with(".cuh")) std::ofstream(folder / name) << text;
    fs::copy_file(source / "backends/cuda/test_device_on_host.h", folder / "device_std.cuh",
                  fs::copy_options::overwrite_existing);
    auto made = std::make_unique<HostKernels>();
    std::ofstream file(folder / "kernels.cpp");
    for (std::string unit : library.units()) {
      const std::string shared = "extern __shared__ __align__(16) char shared[];";
      for (std::size_t at; (at = unit.find(shared)) != std::string::npos;)
        unit.replace(at, shared.size(), "char* const shared = dynamic_shared;");
      file << unit;
      for (std::size_t at = 0; (at = unit.find("__global__", at)) != std::string::npos; ++at) {
        const auto begin = unit.begin() + static_cast<std::ptrdiff_t>(unit.find("kernel", at));
        made->parameters_.push_back(1 + std::count(begin, std::find(begin, unit.end(), '{'), ','));
      }
    }
    file.close();
    const std::string command = fmt::format(
        "c++ -std=c++20 -O1 -w -fPIC -shared -fno-gnu-unique -ffp-contract=off -I{} -I{} -I{} "
        "{}/kernels.cpp -o "
        "{}/kernels.so 2> {}/errors",
        folder.string(), source.string(), (source / "../include").string(), folder.string(),
        folder.string(), folder.string());
    if (std::system(command.c_str()) == 0) {
      made->library_ = dlopen((folder / "kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    std::string errors;
    std::getline(std::ifstream(folder / "errors"), errors, '\0');
    fs::remove_all(folder);
    if (made->library_ == nullptr)
      return Status(StatusCode::kInternal, "kernels do not compile for the host: " + errors);
    return made;
  }
  HostKernels() = default;
  HostKernels(const HostKernels&) = delete;
  HostKernels& operator=(const HostKernels&) = delete;
  ~HostKernels() {
    if (library_ != nullptr) dlclose(library_);
  }

  /// `backwards`: the last thread of a block is the first to run. A race shows as another result.
  KernelLibrary::Launcher launcher(bool backwards) {
    return [this, backwards](KernelId id, cudaStream_t, std::int64_t blocks, int threads,
                             int shared_bytes, void** parameters) {
      const auto run =
          reinterpret_cast<void (*)(void*, unsigned, unsigned, char*, const long long*, bool)>(
              dlsym(library_, "run_kernel"));
      std::array<long long, 48> words = {};
      const auto count = static_cast<std::size_t>(parameters_[static_cast<std::size_t>(id)]);
      if (count > words.size()) return Status(StatusCode::kInternal, "too many arguments");
      for (std::size_t i = 0; i < count; ++i) std::memcpy(&words[i], parameters[i], 8);
      std::vector<std::max_align_t> shared(
          static_cast<std::size_t>(shared_bytes) / sizeof(std::max_align_t) + 1);
      run(dlsym(library_, fmt::format("kernel{}", id).c_str()), static_cast<unsigned>(blocks),
          static_cast<unsigned>(threads), reinterpret_cast<char*>(shared.data()), words.data(),
          backwards);
      return Status();
    };
  }

 private:
  void* library_ = nullptr;
  std::vector<std::ptrdiff_t> parameters_;  // of each kernel
};

/// A graph without control flow, and what running it takes.
class EmulatedGraph {
 public:
  static Result<std::unique_ptr<EmulatedGraph>> make(ir::Graph graph) {
    auto made = std::make_unique<EmulatedGraph>();
    schedule::separate_outputs(graph);
    TENDON_ASSIGN_OR_RETURN(
        made->plan_, schedule::make_plan(std::make_shared<const ir::Graph>(std::move(graph)), {}));
    CompileContext context;
    context.plan = made->plan_.get();
    context.library = &made->library_;
    context.symbols = &made->symbols_;
    context.checks = &made->checks_;
    for (const schedule::Step& step : made->plan_->steps) {
      TENDON_ASSIGN_OR_RETURN(auto compiled, compile_step(context, step));
      made->steps_.push_back(std::move(compiled));
    }
    TENDON_ASSIGN_OR_RETURN(made->kernels_, HostKernels::compile(made->library_));
    return made;
  }

  const KernelLibrary& library() const { return library_; }

  /// Row-major outputs. Memory is poisoned before.
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs, bool backwards) {
    library_.launch_by(kernels_->launcher(backwards));
    const ir::Graph& graph = *plan_->graph;
    KnownSizes sizes;
    std::vector<long long> values(symbols_.symbols().size() + 1);
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const ir::Shape& shape = graph.value(graph.inputs[i]).shape;
      for (std::size_t k = 0; k < shape.size(); ++k) {
        if (const auto symbol = shape[k].as_symbol()) sizes.define(*symbol, inputs[i].sizes()[k]);
      }
    }
    for (std::size_t i = 0; i < symbols_.symbols().size(); ++i)
      values[i] = sizes.value(*symbols_.symbols()[i]).value_or(0);
    std::vector<std::vector<std::byte>> memory;
    std::vector<std::byte*> buffers;
    for (const schedule::Buffer& buffer : plan_->buffers) {
      TENDON_ASSIGN_OR_RETURN(const std::int64_t elements, sizes.upper_bound(buffer.shape));
      memory.emplace_back(static_cast<std::size_t>(elements) * dtype_size(buffer.dtype) + 64,
                          std::byte{0xff});
      buffers.push_back(aligned(memory.back(), 64));
      if (buffer.kind == schedule::Buffer::Kind::kInput) {
        const TensorView view = inputs[static_cast<std::size_t>(buffer.index)].view();
        std::memcpy(buffers.back(), view.data, view.bytes());
      }
    }
    std::vector<std::byte> errors(error_table_bytes(checks_.size()));
    std::memcpy(errors.data(), &kNoError, sizeof(kNoError));
    for (const auto& step : steps_) {
      TENDON_RETURN_IF_ERROR(step->bind(sizes));
      std::vector<std::byte> scratch(step->scratch_bytes() + 256, std::byte{0xff});
      Launch launch;
      launch.buffers = buffers;
      launch.symbols = reinterpret_cast<std::int64_t*>(values.data());
      launch.errors = errors.data();
      launch.scratch = aligned(scratch, 256);
      TENDON_RETURN_IF_ERROR(step->enqueue(launch));
    }
    for (std::size_t i = 0; i < symbols_.symbols().size(); ++i)
      sizes.define(*symbols_.symbols()[i], values[i]);
    return outputs(sizes, buffers);
  }

 private:
  static std::byte* aligned(std::vector<std::byte>& memory, std::size_t alignment) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.data() + (alignment - address % alignment) % alignment;
  }

  Result<std::vector<Tensor>> outputs(const KnownSizes& sizes,
                                      std::span<std::byte* const> buffers) const {
    std::vector<Tensor> result;
    for (const ir::GraphOutput& output : plan_->graph->outputs) {
      const ir::Value& value = plan_->graph->value(output.value);
      const schedule::Storage& storage = plan_->storage[static_cast<std::size_t>(output.value)];
      TensorView view;
      view.dtype = value.dtype;
      for (std::size_t k = 0; k < value.shape.size(); ++k) {
        TENDON_ASSIGN_OR_RETURN(const std::int64_t size, sizes.exact(value.shape[k]));
        TENDON_ASSIGN_OR_RETURN(const std::int64_t stride, sizes.exact(storage.strides[k]));
        view.sizes.push_back(size);
        view.strides.push_back(stride);
      }
      TENDON_ASSIGN_OR_RETURN(const std::int64_t offset, sizes.exact(storage.offset));
      view.data = buffers[static_cast<std::size_t>(storage.buffer)] +
                  offset * static_cast<std::int64_t>(dtype_size(view.dtype));
      TENDON_ASSIGN_OR_RETURN(Tensor copy, Tensor(view, nullptr).contiguous_copy());
      result.push_back(std::move(copy));
    }
    return result;
  }

  std::shared_ptr<const schedule::Plan> plan_;
  KernelLibrary library_;
  SymbolNumbers symbols_;
  CheckTable checks_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::unique_ptr<HostKernels> kernels_;
};

}  // namespace tendon::backends::cuda
