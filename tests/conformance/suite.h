// The cases: programs, and for each a sequence of calls with PyTorch's outputs.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "case_file.h"
#include "tendon/status.h"
#include "tendon/tensor.h"

namespace tendon::conformance {

using Bytes = std::shared_ptr<std::vector<std::byte>>;

/// One call: input tensors in order, expected outputs by their place.
struct Call {
  std::vector<Tensor> inputs;
  std::map<std::int64_t, tools::ExpectedOutput> expected;
};

struct Case {
  std::string name;  // "where.bfloat16.0", "buffer_counter"
  Bytes program;
  std::vector<Bytes> calls;  // safetensors, in order

  /// The operator that the case samples, or the program: "where".
  std::string subject() const;
  Result<Call> call(std::size_t i) const;
};

/// The cases of a zip archive: NAME.pt2 with NAME.safetensors (one call), or with
/// NAME.0.safetensors, NAME.1.safetensors, ... Errors: NotFound, DataLoss.
Result<std::vector<Case>> read_cases(const std::string& zip_path);

/// One case from files: a program, and its calls in order. Errors: NotFound.
Result<Case> case_of_files(const std::vector<std::string>& paths);

/// Whether `text` matches a pattern of literal characters, '*' and '?'.
bool matches(const std::string& pattern, const std::string& text);

/// Cases that are known not to pass, with the reason: lines of "PATTERN: reason", where a pattern
/// that starts with "oracle/", "passes/", "cpu/" or "cuda/" is for one engine only; '#' starts a
/// comment. A reason that starts with "random" means that a case is run, and only the types and
/// sizes of its outputs are compared.
class HeldBack {
 public:
  static Result<HeldBack> read(const std::string& path, const std::string& engine);
  /// null: not held back.
  const std::string* reason(const std::string& name) const;

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

}  // namespace tendon::conformance
