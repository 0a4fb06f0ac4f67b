#include "backends/cuda/kernel_library.h"

#include <fmt/format.h>
#include <nvrtc.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "backends/cuda/cuda_status.h"
#include "backends/cuda/device_headers.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

/// More make fewer, longer compilations; each has to read device_code.cuh first.
constexpr std::size_t kKernelsOfUnit = 32;

std::string kernel_name(std::size_t number) { return fmt::format("kernel{}", number); }

std::vector<std::string> options(int compute_capability) {
  return {fmt::format("--gpu-architecture=sm_{}", compute_capability), "--std=c++20",
          // A fused multiply-add has other bits than the CPU's two operations.
          "--fmad=false", "--device-as-default-execution-space", "--no-source-include"};
}

std::string cache_key(const std::string& source, int compute_capability) {
  int major = 0;
  int minor = 0;
  nvrtcVersion(&major, &minor);
  std::string key = fmt::format("nvrtc {}.{}\n", major, minor);
  for (const std::string& option : options(compute_capability)) key += option + "\n";
  for (const auto& [name, text] : device_headers()) key += fmt::format("{}\n{}\n", name, text);
  return key + source;
}

}  // namespace

Result<std::string> compile_unit(const std::string& source, int compute_capability) {
  std::vector<const char*> names;
  std::vector<const char*> texts;
  for (const auto& [name, text] : device_headers()) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  nvrtcProgram program = nullptr;
  if (nvrtcCreateProgram(&program, source.c_str(), "kernels.cu", static_cast<int>(names.size()),
                         texts.data(), names.data()) != NVRTC_SUCCESS) {
    return Status(StatusCode::kInternal, "NVRTC cannot start a compilation");
  }
  const std::vector<std::string> words = options(compute_capability);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  const nvrtcResult result =
      nvrtcCompileProgram(program, static_cast<int>(arguments.size()), arguments.data());
  std::string text;
  std::size_t bytes = 0;
  if (result != NVRTC_SUCCESS) {
    nvrtcGetProgramLogSize(program, &bytes);
    text.resize(bytes);
    nvrtcGetProgramLog(program, text.data());
    while (!text.empty() && text.back() == '\0') text.pop_back();
  } else {
    nvrtcGetCUBINSize(program, &bytes);
    text.resize(bytes);
    nvrtcGetCUBIN(program, text.data());
  }
  nvrtcDestroyProgram(&program);
  if (result == NVRTC_SUCCESS) return text;
  return Status(StatusCode::kInternal,
                fmt::format("NVRTC refuses a kernel ({}):\n{}", nvrtcGetErrorString(result), text));
}

KernelId KernelLibrary::add(std::string text) {
  const auto [entry, fresh] = ids_.try_emplace(text, static_cast<KernelId>(texts_.size()));
  if (fresh) texts_.push_back(std::move(text));
  return entry->second;
}

std::vector<std::string> KernelLibrary::units() const {
  std::vector<std::string> units;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    if (i % kKernelsOfUnit == 0) units.emplace_back("#include \"device_code.cuh\"\n");
    std::string text = texts_[i];
    const std::string placeholder = "KERNEL";
    for (std::size_t at = 0; (at = text.find(placeholder, at)) != std::string::npos;)
      text.replace(at, placeholder.size(), kernel_name(i));
    units.back() += text;
  }
  return units;
}

Status KernelLibrary::load(int compute_capability, const KernelCache& cache) {
  const std::vector<std::string> sources = units();
  std::vector<Result<std::string>> binaries(sources.size(), Result<std::string>(std::string()));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++) {
      const std::string key = cache_key(sources[i], compute_capability);
      if (auto found = cache.find(key)) {
        binaries[i] = std::move(*found);
        continue;
      }
      binaries[i] = compile_unit(sources[i], compute_capability);
      if (binaries[i].ok()) cache.store(key, *binaries[i]);
    }
  };
  std::vector<std::thread> threads;
  const std::size_t count =
      std::min<std::size_t>(std::max(1u, std::thread::hardware_concurrency()), sources.size());
  for (std::size_t i = 1; i < count; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  TENDON_ASSIGN_OR_RETURN(const Driver* driver, Driver::get());
  functions_.assign(texts_.size(), nullptr);
  for (std::size_t i = 0; i < binaries.size(); ++i) {
    TENDON_RETURN_IF_ERROR(binaries[i].status());
    CUmodule module = nullptr;
    TENDON_CUDA(driver->module_load_data(&module, binaries[i]->data()), "loading kernels");
    modules_.push_back(module);
    for (std::size_t k = i * kKernelsOfUnit; k < std::min(texts_.size(), (i + 1) * kKernelsOfUnit);
         ++k) {
      TENDON_CUDA(driver->module_get_function(&functions_[k], module, kernel_name(k).c_str()),
                  "loading a kernel");
    }
  }
  return {};
}

Status KernelLibrary::launch(KernelId id, cudaStream_t stream, std::int64_t blocks, int threads,
                             int shared_bytes, void** parameters) const {
  if (launcher_) return launcher_(id, stream, blocks, threads, shared_bytes, parameters);
  TENDON_ASSIGN_OR_RETURN(const Driver* driver, Driver::get());
  TENDON_CUDA(
      driver->launch_kernel(functions_[static_cast<std::size_t>(id)], static_cast<unsigned>(blocks),
                            1, 1, static_cast<unsigned>(threads), 1, 1,
                            static_cast<unsigned>(shared_bytes), stream, parameters, nullptr),
      "launching a kernel");
  return {};
}

KernelLibrary::~KernelLibrary() {
  if (modules_.empty()) return;
  const auto driver = Driver::get();
  if (!driver.ok()) return;
  for (CUmodule module : modules_) (*driver)->module_unload(module);
}

}  // namespace tendon::backends::cuda
