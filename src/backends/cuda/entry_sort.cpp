#include "backends/cuda/entry_sort.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backends/cuda/point_kernel.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

constexpr std::int64_t kTile = 2048;  // kSortTile of sort.cuh
constexpr std::int64_t kItems = 8;    // kMergeItems
constexpr int kMaxSortThreads = 512;
constexpr int kMergeThreads = 256;

}  // namespace

Result<EntrySort> EntrySort::make(const CompileContext& context, const EntrySortText& text) {
  EntrySort result;
  result.lines_ = text.lines;
  result.length_ = text.length;
  result.entry_bytes_ = text.narrow ? 8 : 16;
  const char* type = entry_type(text.narrow);
  {
    KernelWriter writer(context);
    TENDON_ASSIGN_OR_RETURN(
        result.tiles_,
        writer.finish(
            fmt::format("sort_tiles(reinterpret_cast<{}*>(scratch), {}, {}, {},\n"
                        "[&](long long line, long long position) -> unsigned long long {{\n"
                        "{}}});\n",
                        type, writer.size(ir::element_count(text.lines)), writer.size(text.length),
                        writer.size(text.kept), text.key(writer)),
            kMaxSortThreads));
  }
  KernelWriter writer(context);
  const std::string from = writer.argument("from");
  const std::string to = writer.argument("to");
  const std::string width = writer.argument("width");
  TENDON_ASSIGN_OR_RETURN(
      result.merge_,
      writer.finish(fmt::format("merge_runs(reinterpret_cast<const {0}*>(scratch + {1}),\n"
                                "reinterpret_cast<{0}*>(scratch + {2}), {3}, {4}, {5}, {6});\n",
                                type, from, to, writer.size(ir::element_count(text.lines)),
                                writer.size(text.length), width, writer.size(text.kept)),
                    kMergeThreads));
  return result;
}

Status EntrySort::bind(const KnownSizes& sizes) {
  TENDON_ASSIGN_OR_RETURN(lines_bound_, sizes.upper_bound(lines_));
  TENDON_ASSIGN_OR_RETURN(length_bound_, sizes.upper_bound(length_));
  ir::Shape entries = {lines_bound_, length_bound_, entry_bytes_, 2};
  TENDON_ASSIGN_OR_RETURN(bytes_, sizes.upper_bound(entries));
  bytes_ /= 2;
  passes_ = 0;
  for (std::int64_t width = kTile; width < length_bound_; width *= 2) ++passes_;
  return {};
}

std::size_t EntrySort::scratch_bytes() const {
  return static_cast<std::size_t>(passes_ == 0 ? bytes_ : 2 * bytes_);
}

Status EntrySort::enqueue(const Launch& launch) const {
  int threads = 32;
  while (threads < kMaxSortThreads && 2 * threads < length_bound_) threads *= 2;
  const std::int64_t tiles = length_bound_ / kTile + (length_bound_ % kTile != 0 ? 1 : 0);
  TENDON_RETURN_IF_ERROR(
      tiles_.launch(launch, Grid{blocks_for(lines_bound_ * tiles, 1), threads, 0}));
  const std::int64_t strips = length_bound_ / kItems + 1;
  std::int64_t width = kTile;
  for (int pass = 0; pass < passes_; ++pass, width *= 2) {
    const std::int64_t from = pass % 2 == 0 ? 0 : bytes_;
    TENDON_RETURN_IF_ERROR(merge_.launch(
        launch, Grid{blocks_for(lines_bound_ * strips, kMergeThreads), kMergeThreads, 0},
        std::array{from, bytes_ - from, width}));
  }
  return {};
}

}  // namespace tendon::backends::cuda
