// The end of a run on the device: results leave only if no kernel found an error.
#pragma once

#include "backends/cuda/point_kernel.h"

namespace tendon::backends::cuda {

/// What a run reports to the host: the lowest check that failed, then the values of all symbols.
struct ReportLayout {
  static constexpr std::int64_t kLowest = 0;
  static constexpr std::int64_t kSymbols = 8;
  static std::int64_t bytes(std::size_t symbols) {
    return kSymbols + static_cast<std::int64_t>(symbols * sizeof(std::int64_t));
  }
};

/// Copies outputs of the plan's graph to where a table of addresses says (one for every graph
/// output, null: nowhere), and writes the report.
class CommitStep {
 public:
  static Result<CommitStep> make(const CompileContext& context);
  /// `destinations`: the table, and `report`, both in device memory.
  Status enqueue(const Launch& launch, std::byte* destinations, std::byte* report,
                 std::size_t symbols) const;

 private:
  Kernel kernel_;
};

}  // namespace tendon::backends::cuda
