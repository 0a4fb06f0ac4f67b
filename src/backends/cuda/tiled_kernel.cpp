#include "backends/cuda/tiled_kernel.h"

#include <fmt/format.h>

#include "backends/cuda/product_epilogue.h"
#include "base/status_macros.h"

namespace tendon::backends::cuda {

namespace {

constexpr int kThreads = 256;  // kProductThreads of tiled_product.cuh

struct TileShape {
  int rows, columns, thread_rows, thread_columns;
};

/// Large tiles read their operands less often; thin products would leave them empty.
TileShape choose_tile(const ir::Size& rows, const ir::Size& columns) {
  const auto few = [](const ir::Size& size, std::int64_t most) {
    return size.bounds().upper <= most;
  };
  if (few(columns, 1)) return {256, 1, 1, 1};
  if (few(columns, 8)) return {256, 8, 8, 1};
  if (few(rows, 1)) return {1, 256, 1, 1};
  if (few(rows, 8)) return {8, 256, 1, 8};
  return {64, 64, 4, 4};
}

}  // namespace

std::vector<std::string> TiledKernel::batch_names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("batch{}", i));
  return names;
}

Result<TiledKernel> TiledKernel::make(KernelWriter& writer, const TiledText& text) {
  const TileShape tile = choose_tile(text.rows, text.columns);
  TiledKernel result;
  result.tiles_ = text.batch;
  result.tiles_.push_back(ir::ceil_div(text.rows, tile.rows));
  result.tiles_.push_back(ir::ceil_div(text.columns, tile.columns));
  std::vector<std::string> names;
  std::string body = fmt::format(
      "const long long tiles = {};\n"
      "for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {{\n",
      writer.size(ir::element_count(result.tiles_)));
  body += writer.split("tile", result.tiles_, "tile", names);
  for (std::size_t i = 0; i < text.batch.size(); ++i)
    body += fmt::format("const long long {} = {};\n", text.batch_names[i], names[i]);
  body += fmt::format(
      "tiled_product<{}, ProductTile<{}, {}, {}, {}>, {}, {}>(\n"
      "{} * {}ll, {} * {}ll, {}, {}, {},\n",
      text.sum, tile.rows, tile.columns, tile.thread_rows, tile.thread_columns, text.a_along_inner,
      text.b_along_inner, names[text.batch.size()], tile.rows, names[text.batch.size() + 1],
      tile.columns, writer.size(text.rows), writer.size(text.columns), writer.size(text.inner));
  const auto line = [&](const char* position, const std::string& statements) {
    return fmt::format("[&](long long {}) {{\n{}}},\n", position, statements);
  };
  const auto element = [&](const std::string& statements) {
    return fmt::format("[&](const ProductLine& line, long long k) -> {} {{\n{}}},\n", text.sum,
                       statements);
  };
  body += line("row", text.a_line) + element(text.a_element);
  body += line("column", text.b_line) + element(text.b_element);
  body += fmt::format("[&](long long row, long long column, {} sum) {{\n{}}});\n}}\n", text.sum,
                      text.store);
  TENDON_ASSIGN_OR_RETURN(result.kernel_, writer.finish(body, kThreads));
  return result;
}

Status TiledKernel::bind(const KnownSizes& sizes) {
  TENDON_ASSIGN_OR_RETURN(const std::int64_t tiles, sizes.upper_bound(tiles_));
  blocks_ = blocks_of_tasks(tiles);
  return {};
}

Status TiledKernel::enqueue(const Launch& launch) const {
  return kernel_.launch(launch, Grid{blocks_, kThreads, 0});
}

}  // namespace tendon::backends::cuda
