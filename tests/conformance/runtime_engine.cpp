#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status_macros.h"
#include "engine.h"
#include "tendon/method.h"
#include "tendon/program.h"

namespace tendon::conformance {

namespace {

/// A file that lives as long as the object.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::vector<std::byte>& bytes)
      : path_(std::filesystem::temp_directory_path() /
              ("tendon_conformance_" + std::to_string(::getpid()) + "_" + name)) {
    std::ofstream file(path_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

class RuntimeSession final : public Session {
 public:
  RuntimeSession(Program program, Method method)
      : program_(std::move(program)), method_(std::move(method)) {}

  Result<std::vector<Output>> run(const std::vector<Tensor>& inputs) override {
    // Copies, since a program may write to its inputs.
    std::vector<Tensor> copies;
    std::vector<TensorView> views;
    for (const Tensor& input : inputs) {
      TENDON_ASSIGN_OR_RETURN(Tensor copy, input.contiguous_copy());
      views.push_back(copy.view());
      copies.push_back(std::move(copy));
    }
    TENDON_ASSIGN_OR_RETURN(const std::span<const TensorView> results, method_.run(views));
    std::vector<Output> outputs;
    for (std::size_t i = 0; i < results.size(); ++i) {
      // The views stay valid until the next run, which is after they have been compared.
      outputs.push_back({program_.outputs()[i].position, Tensor(results[i], nullptr)});
    }
    return outputs;
  }

 private:
  Program program_;
  Method method_;
};

Result<std::unique_ptr<Session>> open_on(Device device, const Case& test) {
  const TemporaryFile file(test.name + ".pt2", *test.program);
  LoadOptions load_options;
  load_options.device = device;
  TENDON_ASSIGN_OR_RETURN(Program program, Program::load(file.path(), load_options));
  MethodOptions options;
  options.threads = 1;
  TENDON_ASSIGN_OR_RETURN(Method method, Method::create(program, options));
  return std::unique_ptr<Session>(
      std::make_unique<RuntimeSession>(std::move(program), std::move(method)));
}

}  // namespace

Result<std::unique_ptr<Session>> open_cpu(const Case& test) { return open_on(Device::kCpu, test); }
Result<std::unique_ptr<Session>> open_cuda(const Case& test) {
  return open_on(Device::kCuda, test);
}

}  // namespace tendon::conformance
