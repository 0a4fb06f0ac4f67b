// The tendon command: what can be said on its command line. Each subcommand has its own file.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <system_error>

#include "options.h"
#include "session.h"
#include "tendon/version.h"
#include "validators.h"
#include "wait_policy.h"

namespace tendon::tools {

namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 right, 1 wrong result (check), 2 bad usage, 3 the model cannot be loaded or\n"
    "lowered, 4 a run failed.";

// Beyond any use, but finite.
constexpr double kLargestTolerance = 1e300;

void add_program(CLI::App& command, std::string& path, std::string& model) {
  command.add_option("MODEL", path, "Program: .pt2, or a bare graph (.json, .json.gz)")
      ->required()
      ->check(not_empty());
  command.add_option("--model", model, "Which program of the archive, if it holds several")
      ->check(not_empty());
}

void add_session(CLI::App& command, SessionOptions& session) {
  add_program(command, session.path, session.model);
  command.add_option("--device", session.device, "Where to run")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command.add_option("--precision", session.precision, "strict: the program's own")
      ->check(CLI::IsMember({"strict", "tf32", "bf16", "fp16"}))
      ->capture_default_str();
  command
      .add_option("--cuda-graph", session.cuda_graph,
                  "Replay calls as CUDA graphs (only with --device cuda): where that is possible\n"
                  "(auto, the default), never, or refuse calls that cannot be captured whole")
      ->check(CLI::IsMember({"auto", "off", "strict"}));
  command
      .add_option("--cache-folder", session.cache_folder,
                  "Keep compiled kernels there (only with --device cuda)")
      ->check(not_empty());
  command.add_option("--threads", session.threads, "CPU threads; 0: OMP_NUM_THREADS, or all")
      ->check(number_in(0, 1024))
      ->capture_default_str();
  command.add_option("--seed", session.seed, "Of random operators, and of inputs that are drawn")
      ->check(number_in<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max()))
      ->capture_default_str();
}

void add_inputs(CLI::App& command, std::string& inputs) {
  command
      .add_option("--inputs", inputs,
                  "Tensors input.0, input.1, ... (.safetensors or .npz); otherwise the sample\n"
                  "stored in the archive, otherwise drawn from --seed")
      ->check(not_empty());
}

CLI::App* add_run(CLI::App& app, RunOptions& options) {
  CLI::App* command = app.add_subcommand("run", "Run a program once");
  add_session(*command, options.session);
  add_inputs(*command, options.inputs);
  command
      ->add_option("--outputs", options.outputs,
                   "Write output.0, output.1, ... with their strides (.safetensors, or .npz);\n"
                   "without it a summary is printed")
      ->check(not_empty());
  command->callback([&options] {
    refuse_overwriting("--outputs", options.outputs, {options.session.path, options.inputs});
  });
  command->add_flag("--json", options.json,
                    "Print the summary as JSON: {outputs: [{name, program_name, dtype,\n"
                    "shape, strides, min, max, mean, nan_count}]}");
  command->footer(
      "Examples:\n"
      "  tendon run policy.pt2\n"
      "  tendon run policy.pt2 --inputs in.safetensors --outputs out.safetensors --threads 4");
  return command;
}

CLI::App* add_inspect(CLI::App& app, InspectOptions& options) {
  CLI::App* command = app.add_subcommand(
      "inspect", "Show a program's inputs, outputs and cost, or one of its stages");
  add_program(*command, options.path, options.model);
  command->add_option("--stage", options.stage, "Print the program at this stage of its road")
      ->check(CLI::IsMember({"aten", "tensor", "kernels", "plan"}));
  command->add_flag("--json", options.json,
                    "Print JSON: inputs, outputs, node and kernel counts, bytes, load_ms;\n"
                    "with --stage: {stage, text}");
  command->footer(
      "Examples:\n"
      "  tendon inspect policy.pt2\n"
      "  tendon inspect policy.pt2 --stage kernels | less");
  return command;
}

CLI::App* add_check(CLI::App& app, CheckOptions& options) {
  CLI::App* command = app.add_subcommand("check", "Compare outputs with expected ones");
  add_session(*command, options.session);
  command
      ->add_option("CASE", options.cases,
                   "Files with input.N and expected output.N; several are one sequence of calls")
      ->required()
      ->check(not_empty());
  command
      ->add_option("--rtol", options.relative,
                   "Relative tolerance, instead of the dtype's; integers stay exact")
      ->check(number_in(0.0, kLargestTolerance));
  command->add_option("--atol", options.absolute, "Absolute tolerance, likewise")
      ->check(number_in(0.0, kLargestTolerance));
  command->add_flag("--json", options.json,
                    "Print JSON: {ok, cases: [{case, ok, error, outputs: [{name, ok, problems,\n"
                    "max_absolute_error, mismatches, first_mismatch, cosine_similarity, ...}]}]}");
  command->footer(
      "Tolerances (relative, absolute): float64 1e-7, 1e-9; float32 1e-4, 1e-5; float16 5e-3, "
      "1e-3;\nbfloat16 2e-2, 1e-2; integers and bools exact. A value is right if it differs by at "
      "most\natol + rtol * |expected|; NaN equals NaN. Strides are compared where the case has "
      "them.\n\n"
      "Examples:\n"
      "  tendon check policy.pt2 policy.0.safetensors policy.1.safetensors\n"
      "  tendon check policy.pt2 policy.0.safetensors --rtol 1e-3 --json");
  return command;
}

CLI::App* add_bench(CLI::App& app, BenchOptions& options) {
  CLI::App* command = app.add_subcommand("bench", "Measure the latency of whole calls");
  add_session(*command, options.session);
  add_inputs(*command, options.inputs);
  command->add_option("--outputs", options.outputs, "Write the outputs of the last call")
      ->check(not_empty());
  command->callback([&options] {
    refuse_overwriting("--outputs", options.outputs, {options.session.path, options.inputs});
  });
  command->add_option("--iterations", options.iterations, "Calls that are measured")
      ->check(number_in(1, 1'000'000'000))
      ->capture_default_str();
  command->add_option("--warmup", options.warmup, "Calls before, besides the very first")
      ->check(number_in(0, 1'000'000'000))
      ->capture_default_str();
  command
      ->add_option("--period", options.period,
                   "Start a call every so many milliseconds, as a control loop does; 0: at once")
      ->check(number_in(0.0, 60'000.0))
      ->capture_default_str();
  command->add_flag("--json", options.json,
                    "Print JSON: p50, p90, p99, min, max, mean (ms), first_answer_s (from the\n"
                    "start of the process), load_s, peak_rss_bytes, arena_bytes, threads,\n"
                    "cuda_graphs, ...");
  command->footer(
      "Examples:\n"
      "  tendon bench policy.pt2 --iterations 200\n"
      "  tendon bench policy.pt2 --iterations 200 --period 50\n"
      "  tendon bench policy.pt2 --inputs in.safetensors --outputs out.safetensors --json");
  return command;
}

CLI::App* add_profile(CLI::App& app, ProfileOptions& options) {
  CLI::App* command = app.add_subcommand("profile", "Show where the time of a call goes");
  add_session(*command, options.session);
  add_inputs(*command, options.inputs);
  command->add_option("--trace", options.trace, "Trace to write (JSON; opens in Perfetto)")
      ->required()
      ->check(not_empty());
  command->callback([&options] {
    refuse_overwriting("--trace", options.trace, {options.session.path, options.inputs});
  });
  command->add_option("--iterations", options.iterations, "Calls that are traced")
      ->check(number_in(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--warmup", options.warmup, "Calls before")
      ->check(number_in(0, 1'000'000))
      ->capture_default_str();
  command->add_option("--top", options.top, "Rows of the table")
      ->check(number_in(1, 1'000'000))
      ->capture_default_str();
  command->footer("Example:\n  tendon profile policy.pt2 --trace trace.json");
  return command;
}

// Why no command can be run; empty if one was given, and nothing stands before it.
std::string command_problem(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::string expected = fmt::format("expected one of: {}", fmt::join(names, ", "));
  const std::vector<std::string> unknown = app.remaining();
  if (!unknown.empty()) return fmt::format("'{}' is no command, {}", unknown.front(), expected);
  return app.get_subcommands().empty() ? "no command is given, " + expected : "";
}

int parse_and_run(int argc, char** argv, std::chrono::steady_clock::time_point process_start) {
  CLI::App app("Runs PyTorch programs exported with torch.export (.pt2).", "tendon");
  app.set_version_flag("--version", "tendon " TENDON_VERSION);
  app.require_subcommand(0, 1);
  app.footer(std::string("tendon COMMAND --help says more.\n") + kExitCodes);
  RunOptions run_options;
  InspectOptions inspect_options;
  CheckOptions check_options;
  BenchOptions bench_options;
  ProfileOptions profile_options;
  const CLI::App* run_command = add_run(app, run_options);
  const CLI::App* inspect_command = add_inspect(app, inspect_options);
  const CLI::App* check_command = add_check(app, check_options);
  const CLI::App* bench_command = add_bench(app, bench_options);
  add_profile(app, profile_options);
  // What stands before a command is refused below; a command's own options stay strict.
  app.allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Also how --help and --version end: with a code of zero.
    return app.exit(error) == 0 ? kRight : kBadUsage;
  }
  if (const std::string problem = command_problem(app); !problem.empty()) {
    return fail(kBadUsage, problem);
  }
  bench_options.process_start = process_start;
  if (run_command->parsed()) return run(run_options);
  if (inspect_command->parsed()) return inspect(inspect_options);
  if (check_command->parsed()) return check(check_options);
  if (bench_command->parsed()) return bench(bench_options);
  return profile(profile_options);
}

}  // namespace

}  // namespace tendon::tools

int main(int argc, char** argv) {
  tendon::tools::choose_wait_policy(argv);
  const auto process_start = std::chrono::steady_clock::now();
  try {
    const int code = tendon::tools::parse_and_run(argc, argv, process_start);
    // Short results are still buffered: only now does a full disk show.
    if (std::fflush(stdout) == 0) return code;
    return tendon::tools::fail(
        tendon::tools::kRunFailed,
        std::string("cannot write to standard output: ") + std::strerror(errno));
  } catch (const std::system_error& error) {
    // How fmt says that what it printed could not be written.
    return tendon::tools::fail(tendon::tools::kRunFailed,
                               std::string("standard output: ") + error.what());
  }
}
