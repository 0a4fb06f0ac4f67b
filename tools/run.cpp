// tendon run: one call, its outputs to a file or summed up on the terminal.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "case_file.h"
#include "inputs.h"
#include "options.h"
#include "progress.h"
#include "session.h"
#include "tensor/statistics.h"

namespace tendon::tools {

namespace {

constexpr std::int64_t kPreviewCount = 6;

Status print_outputs(const std::vector<TensorInfo>& infos, std::span<const TensorView> outputs,
                     bool json) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorView& output = outputs[i];
    const auto numbers = tensor::statistics(output);
    if (!numbers.ok()) return numbers.status();
    if (json) {
      list.push_back({{"name", output_name(infos[i])},
                      {"program_name", infos[i].name},
                      {"dtype", dtype_name(output.dtype)},
                      {"shape", output.sizes},
                      {"strides", output.strides},
                      {"min", numbers->min},
                      {"max", numbers->max},
                      {"mean", numbers->mean},
                      {"nan_count", numbers->nan_count}});
      continue;
    }
    const auto first = tensor::preview(output, kPreviewCount);
    if (!first.ok()) return first.status();
    fmt::print("{}  {}  {}", output_name(infos[i]), infos[i].name, output.to_string());
    if (!output.is_contiguous()) fmt::print("  strides {}", strides_text(output.strides));
    fmt::print("\n  min {:.6g}  max {:.6g}  mean {:.6g}", numbers->min, numbers->max,
               numbers->mean);
    if (numbers->nan_count != 0) fmt::print("  NaN {}", numbers->nan_count);
    fmt::print("\n  {}\n", *first);
  }
  if (json) fmt::print("{}\n", nlohmann::ordered_json{{"outputs", list}}.dump());
  return {};
}

}  // namespace

int run(const RunOptions& options) {
  int exit_code = kRight;
  auto session = open_session(options.session, exit_code);
  if (!session) return exit_code;
  const auto inputs = gather_inputs(options.inputs, session->program, options.session.seed);
  if (!inputs.ok()) return fail(kBadUsage, inputs.status());
  const auto outputs = [&] {
    const Progress progress("running " + options.session.path);
    return session->method.run(inputs->views());
  }();
  if (!outputs.ok()) return fail(kRunFailed, outputs.status());
  const std::vector<TensorInfo>& infos = session->program.outputs();
  if (!options.outputs.empty()) {
    const Status written = write_outputs(options.outputs, infos, *outputs);
    if (!written.ok()) return fail(kRunFailed, written);
  }
  if (options.outputs.empty() || options.json) {
    const Status printed = print_outputs(infos, *outputs, options.json);
    if (!printed.ok()) return fail(kRunFailed, printed);
  }
  return kRight;
}

}  // namespace tendon::tools
