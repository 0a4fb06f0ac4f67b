// Sorting keys along lines by generated kernels (sort.cuh): what sorts and ordered scatters share.
#pragma once

#include <functional>
#include <string>

#include "backends/cuda/kernel_writer.h"

namespace tendon::backends::cuda {

struct EntrySortText {
  ir::Shape lines;
  ir::Size length;  // of a line
  ir::Size kept;    // entries of a sorted line that anybody reads
  /// Keys of at most 32 bits, and positions below 2^32 - 1.
  bool narrow = false;
  /// Statements that return the key of element `position` of `line` (unsigned long long).
  std::function<std::string(KernelWriter&)> key;
};

class EntrySort {
 public:
  static Result<EntrySort> make(const CompileContext& context, const EntrySortText& text);
  /// The device type of entries.
  static const char* entry_type(bool narrow) { return narrow ? "NarrowEntry" : "WideEntry"; }

  Status bind(const KnownSizes& sizes);
  std::size_t scratch_bytes() const;
  Status enqueue(const Launch& launch) const;
  /// Where sorted entries lie in scratch when all is done: lines one after the other, each of its
  /// true length. Bytes.
  std::int64_t sorted_offset() const { return passes_ % 2 == 0 ? 0 : bytes_; }

 private:
  ir::Shape lines_;
  ir::Size length_;
  std::int64_t entry_bytes_ = 0;
  Kernel tiles_, merge_;
  std::int64_t lines_bound_ = 0, length_bound_ = 0, bytes_ = 0;
  int passes_ = 0;
};

}  // namespace tendon::backends::cuda
