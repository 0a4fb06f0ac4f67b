// What kernels may find wrong with the data, by number; and the record they leave.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tendon/status.h"

namespace tendon::backends::cuda {

/// One check of one step. In `message`, {index} stands for the value that failed, {size} for the
/// size it was held against.
struct Check {
  StatusCode code = StatusCode::kOutOfRange;
  std::string message;
  std::string origin;  // of the step: "aten.index.Tensor (index)"
};

/// Grows while steps are compiled, in their order: the lowest number is the first to report.
class CheckTable {
 public:
  int add(Check check) {
    checks_.push_back(std::move(check));
    return static_cast<int>(checks_.size()) - 1;
  }
  /// The error of a record.
  Status status(int number, std::int64_t value, std::int64_t size) const;
  std::size_t size() const { return checks_.size(); }

 private:
  std::vector<Check> checks_;
};

/// As device::ErrorTable (error_table.cuh) lies in memory: the lowest check that failed, then a
/// record for every check.
struct ErrorRecordLayout {
  std::int32_t taken = 0;
  std::int32_t unused = 0;
  std::int64_t value = 0;
  std::int64_t size = 0;
};
inline constexpr std::int32_t kNoError = 0x7fffffff;
inline constexpr std::size_t kErrorHeaderBytes = 8;
inline std::size_t error_table_bytes(std::size_t checks) {
  return kErrorHeaderBytes + checks * sizeof(ErrorRecordLayout);
}

}  // namespace tendon::backends::cuda
