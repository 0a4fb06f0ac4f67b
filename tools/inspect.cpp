// tendon inspect: what a program is, and what became of it on the road to kernels.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "options.h"
#include "progress.h"
#include "runtime/loaded_program.h"
#include "session.h"

namespace tendon::tools {

namespace {

using Json = nlohmann::ordered_json;
using runtime::LoadedProgram;
using runtime::ProgramSummary;
using runtime::Stage;

std::optional<Stage> stage_from_name(const std::string& name) {
  if (name == "aten") return Stage::kAten;
  if (name == "tensor") return Stage::kTensor;
  if (name == "kernels") return Stage::kKernels;
  if (name == "plan") return Stage::kPlan;
  return std::nullopt;
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const TensorInfo& info) {
  auto axes = Json::array();
  for (const AxisRange& axis : info.axes) {
    axes.push_back(
        {{"lower", axis.lower}, {"upper", or_null(axis.upper)}, {"multiple", axis.multiple}});
  }
  return {{"name", info.name},
          {"position", info.position},
          {"dtype", dtype_name(info.dtype)},
          {"shape", info.shape_text},
          {"axes", std::move(axes)},
          {"upper_bound_bytes", or_null(info.upper_bound_bytes())}};
}

Json to_json(const std::vector<TensorInfo>& infos) {
  auto list = Json::array();
  for (const TensorInfo& info : infos) list.push_back(to_json(info));
  return list;
}

Json to_json(const LoadedProgram& program, const std::string& path) {
  const ProgramSummary& summary = program.summary();
  auto phases = Json::object();
  for (const auto& [name, milliseconds] : summary.phases) phases[name] = milliseconds;
  return {{"program", path},
          {"inputs", to_json(program.inputs())},
          {"outputs", to_json(program.outputs())},
          {"has_sample_inputs", !program.sample_inputs().empty()},
          {"exported_nodes", summary.exported_nodes},
          {"tensor_nodes", summary.tensor_nodes},
          {"optimized_nodes", summary.optimized_nodes},
          {"kernels", summary.kernels},
          {"products", summary.products},
          {"product_operations", or_null(summary.product_operations)},
          {"constant_kernels", summary.constant_kernels},
          {"weight_bytes", summary.weight_bytes},
          {"folded_bytes", summary.folded_bytes},
          {"arena_bytes", or_null(summary.arena_bytes)},
          {"load_ms", std::move(phases)},
          {"peak_rss_bytes", peak_resident_bytes()},
          {"warnings", program.warnings()}};
}

double megabytes(std::int64_t bytes) { return static_cast<double>(bytes) * 1e-6; }

void print_infos(const char* title, const char* prefix, const std::vector<TensorInfo>& infos) {
  fmt::print("{}\n", title);
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const TensorInfo& info = infos[i];
    std::string ranges;
    for (std::size_t axis = 0; axis < info.axes.size(); ++axis) {
      const AxisRange& range = info.axes[axis];
      if (range.upper && *range.upper == range.lower) continue;
      ranges += fmt::format("  axis {} in [{}, {}]", axis, range.lower,
                            range.upper ? std::to_string(*range.upper) : "...");
      if (range.multiple > 1) ranges += fmt::format(", a multiple of {}", range.multiple);
    }
    // Inputs count tensors only; outputs are numbered by their place among all outputs.
    const auto number = *prefix == 'i' ? static_cast<std::int64_t>(i) : info.position;
    fmt::print("  {}.{}  {}  {}{}\n", prefix, number, info.name, info.to_string(), ranges);
  }
}

void print_text(const LoadedProgram& program, const std::string& path) {
  const ProgramSummary& summary = program.summary();
  fmt::print("{}\n", path);
  print_infos("inputs", "input", program.inputs());
  print_infos("outputs", "output", program.outputs());
  fmt::print("nodes    {} exported, {} lowered, {} after the passes\n", summary.exported_nodes,
             summary.tensor_nodes, summary.optimized_nodes);
  fmt::print(
      "kernels  {} a call, {} of them products{}; {} once, for constants\n", summary.kernels,
      summary.products,
      summary.product_operations
          ? fmt::format(" ({:.2f} GFLOP)", static_cast<double>(*summary.product_operations) * 1e-9)
          : "",
      summary.constant_kernels);
  fmt::print("memory   weights {:.1f} MB, folded constants {:.1f} MB, arena {}\n",
             megabytes(summary.weight_bytes), megabytes(summary.folded_bytes),
             summary.arena_bytes ? fmt::format("{:.1f} MB at most", megabytes(*summary.arena_bytes))
                                 : "without a bound");
  fmt::print("loading ");
  for (const auto& [name, milliseconds] : summary.phases) {
    fmt::print(" {} {:.1f} ms", name, milliseconds);
  }
  fmt::print("; {:.1f} MB peak resident\n", megabytes(peak_resident_bytes()));
  for (const std::string& warning : program.warnings()) fmt::print("warning: {}\n", warning);
}

}  // namespace

int inspect(const InspectOptions& options) {
  const std::optional<Stage> stage = stage_from_name(options.stage);
  LoadOptions load_options;
  load_options.model = options.model;
  const auto program = [&] {
    const Progress progress("loading " + options.path);
    return LoadedProgram::load(options.path, load_options, stage.has_value());
  }();
  if (!program.ok()) return fail(kCannotLoad, program.status());
  if (stage) {
    const std::string& text = (*program)->text(*stage);
    if (options.json) {
      fmt::print("{}\n", Json{{"stage", options.stage}, {"text", text}}.dump());
    } else {
      fmt::print("{}", text);
    }
  } else if (options.json) {
    fmt::print("{}\n", to_json(**program, options.path).dump());
  } else {
    print_text(**program, options.path);
  }
  return kRight;
}

}  // namespace tendon::tools
